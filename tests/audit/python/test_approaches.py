"""One row a shape: what stands before a line on every way to it, and for which models it is there at all."""

import pytest
from tests.audit.python.packages import findings, pair, seen

from dayzero.audit.finding import Applies, Severity

F = "def f(a, *, b=1): ..."

ALL_OF = "import lib\ndef has_all():\n    return all(hasattr(lib, name) for name in ({}))\ndef g():\n    if has_all():\n        lib.gone()\n"
ANY_OF = ALL_OF.replace("return all", "return any")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALL_OF.format("'f', 'gone'"), ["guarded"]),
        (ALL_OF.format("'f',"), ["path"]),
        (ANY_OF.format("'f', 'gone'"), ["path"]),
        (ANY_OF.format("'gone', 'lost'"), ["guarded"]),
        (ALL_OF.format("*names(),"), ["path"]),
        (ANY_OF.format("'gone',").replace("hasattr(lib, name)", "ready(name)"), ["path"]),
    ],
    ids=[
        "all of two, one gone",
        "all of what is there",
        "any of two",
        "any of what is gone",
        "rounds that are not shown",
        "a round that is not known",
    ],
)
def test_a_probe_of_several_names_at_once_is_answered_name_by_name(text, said):
    text = text.replace("lib.gone()", "lib.f(1, c=2)")
    assert [one.split()[1] for one in seen(pair(text, F)) if one.startswith("python-signature")] == said


@pytest.mark.parametrize(
    ("first", "severity"),
    [
        ("assert has_new(), 'needs a newer lib'", "opt-in"),
        ("if not has_new():\n            raise RuntimeError('needs a newer lib')", "opt-in"),
        ("assert ready(), 'not ready'", "path"),
        ("if has_new():\n            raise RuntimeError('too new')", "path"),
        ("self.new = has_new()", "path"),
    ],
)
def test_what_a_constructor_refuses_to_be_made_without_fails_only_where_somebody_makes_it(first, severity):
    text = (
        "import lib\nfrom eng.probe import has_new, ready  # lib\nclass E:\n    def __init__(self):\n"
        f"        {first}\n    def g(self):\n        lib.f(1, c=2)\n"
    )
    probe = "import lib\ndef has_new():\n    return hasattr(lib, 'new')\ndef ready():\n    return lib.f(1)\n"
    found = [one for one in seen(pair({"eng/probe.py": probe, "eng/run.py": text}, F)) if "run.py" in one]
    assert [one.split()[1] for one in found] == [severity]


@pytest.mark.parametrize(
    ("name", "capability", "applies"),
    [
        ("FlashInferSM120Attention", (12, 0), Applies.YES),
        ("FlashInferSM120Attention", (10, 3), Applies.NO),
        ("sm120_attention", (10, 3), Applies.NO),
        ("Prism120", (10, 3), Applies.UNKNOWN),
        ("TransISM120", (10, 3), Applies.UNKNOWN),
    ],
)
def test_the_gpu_in_a_classs_name_is_the_gpu_that_it_is_for(name, capability, applies):
    text = f"import lib\nclass {name}:\n    def g(self):\n        lib.f(1, c=2)\n"
    installed = pair({"eng/models/deep_v4/sparse.py": text}, F)
    (one,) = findings(installed, capability=capability, model={"model_type": "deep_v4"})
    assert (one.severity, one.applies) == (Severity.PATH, applies)


OF_A_MODEL = {
    "eng/models/qwen.py": "class QwenForCausalLM:\n    def make(self):\n        from eng.layers.fusion import go\n",
    "eng/models/k3.py": "class K3ForCausalLM: ...\n",
    "eng/models/utils.py": "x = 1\n",
    "eng/layers/fusion.py": "from eng.layers import kernel\ndef go():\n    kernel.h()\n",
    "eng/layers/kernel.py": "import lib\ndef h():\n    lib.f(1, c=2)\n",
}


@pytest.mark.parametrize(
    ("more", "applies"),
    [
        ({}, Applies.NO),
        ({"eng/serve.py": "def s():\n    from eng.layers.kernel import h\n"}, Applies.UNKNOWN),
        ({"eng/table.py": "KERNELS = ['eng.layers.kernel']\n"}, Applies.UNKNOWN),
        ({"eng/layers/__init__.py": "iter_modules(p)\n", "eng/serve.py": "import eng.layers"}, Applies.UNKNOWN),
        ({"eng/layers/__init__.py": "iter_modules(p)\n"}, Applies.NO),
        ({"eng/models/utils.py": "def u():\n    import eng.layers.fusion\n"}, Applies.UNKNOWN),
        (
            {"eng/models/k3.py": "class K3ForCausalLM: ...\ndef k():\n    from ..layers import fusion\n"},
            Applies.UNKNOWN,
        ),
        ({"eng/models/k3.py": "from eng.models.qwen import Q\nclass K3ForCausalLM: ...\n"}, Applies.UNKNOWN),
    ],
    ids=[
        "one other model's file",
        "a server's function",
        "a path in a string",
        "a package that loads all that is in it",
        "a package that only the other model loads",
        "what lies beside models and is none",
        "the model's own file",
        "the model's own file, through the other's",
    ],
)
def test_what_only_another_models_files_lead_to_does_not_concern_this_one(more, applies):
    (one,) = findings(pair({**OF_A_MODEL, **more}, F), model={"model_type": "k3"})
    assert (one.severity, one.applies) == (Severity.PATH, applies)
    assert ("model qwen, whose files alone lead here" in one.when) is (applies is Applies.NO)


def test_without_a_model_another_models_files_may_concern_it():
    (one,) = findings(pair(OF_A_MODEL, F))
    assert one.applies is Applies.UNKNOWN


DENSE = {"model_type": "qwen", "num_hidden_layers": 4, "num_attention_heads": 8, "text_config": {"head_dim": 128}}


@pytest.mark.parametrize(
    ("file", "config", "applies"),
    [
        ("eng/backends/mla/prefill.py", DENSE, Applies.NO),
        ("eng/backends/flashinfer_mla.py", DENSE, Applies.NO),
        ("eng/backends/mla/prefill.py", {**DENSE, "text_config": {"kv_lora_rank": 512}}, Applies.UNKNOWN),
        ("eng/backends/mla/prefill.py", {"model_type": "qwen"}, Applies.UNKNOWN),
        ("eng/backends/formla.py", DENSE, Applies.UNKNOWN),
        ("eng/layers/fused_moe/fast.py", DENSE, Applies.NO),
        ("eng/layers/moe/fast.py", {**DENSE, "n_routed_experts": 8}, Applies.UNKNOWN),
        ("eng/layers/mamba/gdn/fast.py", DENSE, Applies.NO),
        ("eng/layers/mamba/gdn/fast.py", {**DENSE, "layer_types": ["linear_attention"]}, Applies.UNKNOWN),
        ("eng/layers/attention.py", DENSE, Applies.UNKNOWN),
    ],
)
def test_what_is_for_layers_that_the_model_has_none_of_does_not_concern_it(file, config, applies):
    (one,) = findings(pair({file: "import lib\ndef g():\n    lib.f(1, c=2)\n"}, F), model=config)
    assert (one.severity, one.applies) == (Severity.PATH, applies)
    assert one.when.startswith("model with ") is (applies is Applies.NO)


@pytest.mark.parametrize(
    ("flags", "applies"),
    [
        (("--runner", "fast_dsl"), Applies.YES),
        (("--runner=fast-dsl",), Applies.YES),
        (("--runner", "slow"), Applies.UNKNOWN),
        (("fast_dsl",), Applies.UNKNOWN),
        ((), Applies.UNKNOWN),
    ],
)
def test_a_file_that_a_flag_names_is_the_one_that_runs(flags, applies):
    (one,) = findings(pair({"eng/runners/fast_dsl.py": "import lib\ndef g():\n    lib.f(1, c=2)\n"}, F), flags=flags)
    assert (one.severity, one.applies) == (Severity.PATH, applies)
