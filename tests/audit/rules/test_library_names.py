"""What one library imports from another one in vain."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Severity
from dayzero.audit.rules.library_names import RULE

ENGINE = {"vllm/__init__.py": "import transformers\n"}
HUB = {
    "huggingface_hub/__init__.py": "from .utils import here\n",
    "huggingface_hub/utils.py": "def here(): ...\n",
}
LAZY = {
    "huggingface_hub/__init__.py": '_ATTRS = {"utils": ["here"]}\n__getattr__, __dir__, __all__ = _attach(__name__, _ATTRS)\n',
    "huggingface_hub/utils.py": "def here(): ...\n",
}


def asked(hub, engine=None, *, requires=("transformers",), package=None, library=None):
    transformers = {
        "transformers/__init__.py": package or "from .utils import hub\n",
        "transformers/utils/__init__.py": "from .hub import cached\n",
        "transformers/utils/hub.py": hub + "\ndef cached(): ...\n",
        "transformers/later.py": "from huggingface_hub import gone\n",
    }
    return found_by(
        RULE,
        distribution("vllm", "1.0", engine or ENGINE, requires=requires),
        distribution("transformers", "5.0.0", transformers),
        distribution("huggingface-hub", "0.30.0", library or HUB),
    )


@pytest.mark.parametrize(
    ("hub", "message"),
    [
        ("from huggingface_hub import here", ""),
        ("from huggingface_hub.utils import here as there", ""),
        ("from elsewhere import gone", ""),
        ("try:\n    from huggingface_hub import gone\nexcept ImportError:\n    gone = None", ""),
        ("if fast():\n    from huggingface_hub import gone", ""),
        ("def f():\n    from huggingface_hub import gone", ""),
        ("from huggingface_hub import gone", "huggingface-hub==0.30.0 has no name gone in huggingface_hub"),
        ("import huggingface_hub.gone", "has no module huggingface_hub.gone"),
        ("from huggingface_hub.gone import x", "has no module huggingface_hub.gone"),
    ],
)
@pytest.mark.parametrize("library", [HUB, LAZY])
def test_what_keeps_a_library_from_being_imported_stops_the_start(hub, message, library):
    found = asked(hub, library=library)
    assert [one.severity for one in found] == ([Severity.START] if message else []), found
    assert all(message in one.message for one in found)


@pytest.mark.parametrize(
    ("engine", "requires", "severity"),
    [
        ({"vllm/__init__.py": "def f():\n    import transformers\n"}, ("transformers",), Severity.OPT_IN),
        (ENGINE, (), None),
    ],
)
def test_a_library_that_not_every_start_imports_stops_none(engine, requires, severity):
    found = asked("from huggingface_hub import gone", engine, requires=requires)
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_what_the_package_does_not_import_itself_is_not_looked_at():
    assert not asked("from huggingface_hub import gone", package="if lazy():\n    from .utils import hub\n")


def test_a_getattr_that_may_give_anything_is_believed():
    anything = HUB | {"huggingface_hub/__init__.py": "def __getattr__(name):\n    return 1\n"}
    assert not asked("from huggingface_hub import gone", library=anything)
