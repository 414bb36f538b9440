"""Names that an engine registers and the library has."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Applies, Severity
from dayzero.audit.rules.registry_collision import RULE

AUTO = "transformers/models/auto"
LIBRARY = {
    f"{AUTO}/configuration_auto.py": 'CONFIG_MAPPING_NAMES = OrderedDict(\n    [\n        ("aimv2", "Aimv2Config"),\n'
    '        ("qwen2_5_vl", "Qwen2_5_VLConfig"),\n    ]\n)\n',
    f"{AUTO}/image_processing_auto.py": "if TYPE_CHECKING:\n    pass\nelse:\n    IMAGE_PROCESSOR_MAPPING_NAMES = OrderedDict(\n"
    '        [\n            ("qwen2_5_vl", ("Qwen2VLImageProcessor", "Fast")),\n        ]\n    )\n',
}
EAGER = {"vllm/configs/__init__.py": "from vllm.configs.ovis import C\n"}
RELATIVE = {"vllm/configs/__init__.py": "from .ovis import C\n"}
LAZY = {"vllm/configs/__init__.py": "def __getattr__(name):\n    from vllm.configs.ovis import C\n"}


@pytest.mark.parametrize(
    ("line", "severities"),
    [
        ('AutoConfig.register("aimv2", C)', [Severity.START]),
        ('AutoConfig.register("aimv2", C, exist_ok=False)', [Severity.START]),
        ('AutoConfig.register("aimv2", C, exist_ok=True)', []),
        ('AutoConfig.register("ovis", C)', []),
        ("AutoImageProcessor.register(Qwen2_5_VLConfig, None, P, None)", [Severity.START]),
        ("AutoImageProcessor.register(OvisConfig, None, P, None)", []),
        ("AutoProcessor.register(Qwen2_5_VLConfig, P)", []),
        ('try:\n    AutoConfig.register("aimv2", C)\nexcept ValueError:\n    pass', []),
        ('def late():\n    AutoConfig.register("aimv2", C)', []),
        ('registry.register("aimv2", AutoConfig)', []),
    ],
)
def test_a_name_that_the_library_has_stops_the_import_unless_it_is_let_be(line, severities):
    engine = distribution("vllm", "0.9.2", {**EAGER, "vllm/configs/ovis.py": f"{line}\n"})
    found = found_by(RULE, engine, distribution("transformers", "4.54.1", LIBRARY))
    assert [one.severity for one in found] == severities


@pytest.mark.parametrize(
    ("imported", "model", "severity", "applies"),
    [
        (RELATIVE, None, Severity.START, Applies.YES),
        (LAZY, None, Severity.PATH, Applies.UNKNOWN),
        (LAZY, {"model_type": "llama"}, Severity.PATH, Applies.NO),
        (LAZY, {"model_type": "aimv2"}, Severity.PATH, Applies.YES),
    ],
)
def test_it_matters_at_the_start_only_where_the_module_is_imported_then(imported, model, severity, applies):
    engine = distribution("vllm", "0.9.2", {**imported, "vllm/configs/ovis.py": 'AutoConfig.register("aimv2", C)\n'})
    (one,) = found_by(RULE, engine, distribution("transformers", "4.54.1", LIBRARY), model=model)
    assert (one.severity, one.holds) == (severity, applies)
    assert (one.engine.position, one.library.position) == ("line 1", "line 3")
