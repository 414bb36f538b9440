"""What extensions leave undefined, against what the installed torch exports, and who is harmed by it."""

import pytest
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_symbols import shared_object

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject
from dayzero.audit.rules.native_symbols import RULE

OWN, OTHER = "_ZN3c105ErrorC2E", "_ZN5cutlass4gemmE"
# A member function that is called on an lvalue: the qualifier stands before the namespace.
QUALIFIED = "_ZNR5torch7Library4_defEON3c1014FunctionSchemaE"
BROKEN = shared_object(undefined=[OWN], needed=["libc10.so"])
SOUND = shared_object(undefined=["x"], needed=["libc10.so"])
TRY = "try:\n    from . import {0}\n    {1} = True\nexcept ImportError:\n    {1} = False\n"
FLAGS = TRY.format("_two_C", "TWO") + TRY.format("_three_C", "THREE")
REFUSES = "from engine.fast.use import THREE, TWO\nif not (TWO or THREE):\n    raise ImportError('none')\n"


def distribution(name: str, files: dict[str, bytes]) -> Distribution:
    return Distribution(name=name, version="1", requires=(), files=BuildInMemory(files))


def subject(files, *, exports=("x",), runs="", flags=()) -> Subject:
    texts = {name: one if isinstance(one, bytes) else one.encode() for name, one in files.items()}
    engine = distribution("engine", {"engine/__init__.py": b"", "engine/fast/__init__.py": b""} | texts)
    torch = distribution("torch", {"torch/lib/libc10.so": shared_object(exports=list(exports))})
    return Subject(installed=Installed(engine=engine, others=(torch,), runs=runs), engine="engine", flags=flags)


def asked(*, undefined=(OWN,), needed=("libc10.so",), exports=("x",), source="", library=None) -> Subject:
    extension = library if library is not None else shared_object(undefined=list(undefined), needed=list(needed))
    return subject({"engine/fast/_C.abi3.so": extension, "engine/fast/use.py": source}, exports=exports)


def severities(said):
    return [one.severity for one in said if isinstance(one, Finding)]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, [Severity.PATH]),
        ({"undefined": (QUALIFIED,)}, [Severity.PATH]),
        ({"exports": (OWN, "x")}, []),
        ({"undefined": (OTHER,)}, []),
        ({"needed": ("libc.so.6",)}, []),
        ({"source": "from . import _C\n"}, [Severity.PATH]),
        ({"source": "try:\n    from . import _C\nexcept ImportError:\n    _C = None\n"}, [Severity.GUARDED]),
        ({"source": "import contextlib\nwith contextlib.suppress(ImportError):\n    import engine.fast._C\n"}, [Severity.GUARDED]),
        ({"source": "try:\n    from . import _C\nexcept KeyError:\n    pass\n"}, [Severity.PATH]),
        ({"source": "try:\n    import other._C\nexcept ImportError:\n    pass\n"}, [Severity.PATH]),
        ({"source": "def g():\n    import engine.fast._C\n"}, [Severity.PATH]),
    ],
)  # fmt: skip
def test_a_symbol_that_torch_does_not_export_stops_what_imports_the_extension(parts, expected):
    said = list(RULE.check(asked(**parts)))
    assert severities(said) == expected
    assert all(isinstance(one, Finding) and one.applies is Applies.UNKNOWN for one in said)


def test_an_extension_that_every_start_imports_stops_the_start():
    (said,) = RULE.check(subject({"engine/__init__.py": "from engine.fast import use\n",
                                  "engine/fast/use.py": "import engine.fast._C\n", "engine/fast/_C.so": BROKEN}))  # fmt: skip
    assert said.severity is Severity.START
    assert "every start imports engine.fast.use" in said.message


@pytest.mark.parametrize(
    ("two", "three", "expected"),
    [
        (BROKEN, BROKEN, [Severity.START, Severity.START]),
        (None, BROKEN, [Severity.START]),
        (SOUND, BROKEN, [Severity.GUARDED]),
        (SOUND, SOUND, []),
    ],
)
def test_of_two_that_are_tried_one_is_enough_and_without_either_the_package_refuses(two, three, expected):
    files = {"engine/__init__.py": "if current_platform.is_cuda():\n    from engine.fast.ready import TWO\n",
             "engine/fast/use.py": FLAGS, "engine/fast/ready.py": REFUSES}  # fmt: skip
    files |= {f"engine/fast/{name}.abi3.so": one for name, one in (("_two_C", two), ("_three_C", three)) if one}
    said = list(RULE.check(subject(files)))
    assert severities(said) == expected
    raised = [one for one in said if one.severity is Severity.START]
    assert all("engine/fast/ready.py:3 raises ImportError" in one.message for one in raised)


ONES = {f"engine/fast/_C.cpython-3{minor}-x86_64-linux-gnu.so": BROKEN for minor in (11, 12)}


@pytest.mark.parametrize(
    ("runs", "files", "expected", "file"),
    [
        ("cp312", ONES, [Severity.PATH], "_C.cpython-312-x86_64"),
        ("cp313", ONES, [], ""),
        ("", ONES, [Severity.PATH], "(and 1 more, one for each Python)"),
        ("cp312", ONES | {"engine/fast/_C.abi3.so": SOUND}, [Severity.PATH], "_C.cpython-312-x86_64"),
        ("cp313", ONES | {"engine/fast/_C.abi3.so": BROKEN}, [Severity.PATH], "_C.abi3.so"),
    ],
)
def test_only_the_file_that_the_running_python_takes_is_looked_at(runs, files, expected, file):
    said = list(RULE.check(subject(files, runs=runs)))
    assert severities(said) == expected
    assert all(file in one.message for one in said)


def test_what_depends_on_the_python_that_runs_is_left_open_where_that_is_not_known():
    (said,) = RULE.check(subject(ONES | {"engine/fast/_C.abi3.so": SOUND}))
    assert isinstance(said, NotChecked)
    assert "not known which Python runs" in said.why


HAS = """
from importlib import import_module
def has(name):
    try:
        import_module(name)
    except Exception:
        return False
    return True
def ok():
    return has('engine.fast')
"""


@pytest.mark.parametrize(
    ("importer", "expected"),
    [(HAS, Severity.GUARDED), (HAS.replace("except Exception", "except KeyError"), Severity.PATH),
     (HAS + "def g():\n    import engine.fast\n", Severity.PATH)],
)  # fmt: skip
def test_a_package_that_cannot_be_imported_without_it_is_judged_by_who_imports_the_package(importer, expected):
    files = {"engine/fast/__init__.py": "from . import _C\n", "engine/fast/_C.so": BROKEN, "engine/has.py": importer}
    (said,) = RULE.check(subject(files))
    assert said.severity is expected
    assert said.engine.file == "engine/has.py"


FOR_FAST = """
def run():
    import engine.fast._C
class L:
    def go(self):
        if self.prefill_backend == 'fast':
            run()
"""


@pytest.mark.parametrize(
    ("flags", "applies"),
    [
        ((), Applies.UNKNOWN),
        (("--prefill-backend", "fast"), Applies.UNKNOWN),
        (("--prefill-backend", "auto"), Applies.UNKNOWN),
        (("--prefill-backend=slow",), Applies.NO),
        (("--other-backend", "slow"), Applies.UNKNOWN),
    ],
)
def test_a_flag_that_chooses_another_way_keeps_the_start_away_from_it(flags, applies):
    (said,) = RULE.check(subject({"engine/layer.py": FOR_FAST, "engine/fast/_C.so": BROKEN}, flags=flags))
    assert said.applies is applies


def test_without_torch_nothing_is_said():
    alone = asked().installed.engine
    assert not list(RULE.check(Subject(installed=Installed(engine=alone, others=()), engine="engine")))


def test_a_library_that_cannot_be_read_is_a_question_left_open():
    (said,) = RULE.check(asked(library=b"no library"))
    assert isinstance(said, NotChecked)
    assert "_C.abi3.so" in said.what
