"""What extensions leave undefined, against what the installed torch exports."""

import pytest
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_symbols import shared_object

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject
from dayzero.audit.rules.native_symbols import RULE

OWN, OTHER = "_ZN3c105ErrorC2E", "_ZN5cutlass4gemmE"


def distribution(name: str, files: dict[str, bytes]) -> Distribution:
    return Distribution(name=name, version="1", requires=(), files=BuildInMemory(files))


def asked(*, undefined=(OWN,), needed=("libc10.so",), exports=(), source=b"", library=None) -> Subject:
    extension = library if library is not None else shared_object(undefined=list(undefined), needed=list(needed))
    files = {"engine/__init__.py": b"", "engine/fast/_C.abi3.so": extension, "engine/fast/use.py": source}
    torch = {"torch/lib/libc10.so": shared_object(exports=list(exports))}
    return Subject(
        installed=Installed(engine=distribution("engine", files), others=(distribution("torch", torch),)),
        engine="engine",
    )


@pytest.mark.parametrize(
    ("parts", "severities"),
    [
        ({}, [Severity.PATH]),
        ({"exports": (OWN, "x")}, []),
        ({"undefined": (OTHER,), "exports": ("x",)}, []),
        ({"needed": ("libc.so.6",), "exports": ("x",)}, []),
        ({"source": b"from . import _C\n"}, [Severity.PATH]),
        ({"source": b"try:\n    from . import _C\nexcept ImportError:\n    _C = None\n"}, [Severity.GUARDED]),
        ({"source": b"import contextlib\nwith contextlib.suppress(ImportError):\n    import engine.fast._C\n"}, [Severity.GUARDED]),
        ({"source": b"try:\n    from . import _C\nexcept KeyError:\n    pass\n"}, [Severity.PATH]),
        ({"source": b"try:\n    import other._C\nexcept ImportError:\n    pass\n"}, [Severity.PATH]),
    ],
)  # fmt: skip
def test_a_symbol_that_torch_does_not_export_stops_what_imports_the_extension(parts, severities):
    said = list(RULE.check(asked(**({"exports": ("x",)} | parts))))
    assert [one.severity for one in said if isinstance(one, Finding)] == severities
    assert all(isinstance(one, Finding) and OWN in one.message and one.applies is Applies.UNKNOWN for one in said)


def test_without_torch_nothing_is_said():
    alone = asked().installed.engine
    assert not list(RULE.check(Subject(installed=Installed(engine=alone, others=()), engine="engine")))


def test_a_library_that_cannot_be_read_is_a_question_left_open():
    (said,) = RULE.check(asked(library=b"no library", exports=("x",)))
    assert isinstance(said, NotChecked)
    assert "_C.abi3.so" in said.what
