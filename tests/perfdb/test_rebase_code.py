"""What a function reaches: through every way of importing, within the modules that are followed, and never silently less."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.perfdb.rebase.code import Code, CodeReader, differing
from dayzero.perfdb.rebase.compare import Build, compare
from dayzero.perfdb.rebase.model import DeclaredKernel, Holding
from dayzero.perfdb.rebase.normal import normal

ENTRY = ("p/k.py::kernel",)


@dataclass(frozen=True)
class Text:
    """A build in memory. Implements ``perfdb.ports.BuildText``."""

    files: Mapping[str, str]
    artifact: str = "p 1"

    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    def read(self, name: str) -> bytes:
        if self.files[name] == "UNREADABLE":
            raise InputError("not kept", hint="")
        return self.files[name].encode()


def read(files: Mapping[str, str], *within: str) -> Code | Undecided:
    return CodeReader(Text(files), frozenset(within or ("p",))).read(ENTRY)


def names(files: Mapping[str, str], *within: str) -> set[str]:
    code = read(files, *within)
    assert isinstance(code, Code), code
    return {one.name for one in code.definitions}


@pytest.mark.parametrize(
    "kernel",
    [
        "from p.o import f\ndef kernel():\n    return f()\n",
        "from p.o import f as g\ndef kernel():\n    return g()\n",
        "from .o import f\ndef kernel():\n    return f()\n",
        "from . import o\ndef kernel():\n    return o.f()\n",
        "import p.o\ndef kernel():\n    return p.o.f()\n",
        "import p.o as q\ndef kernel():\n    return q.f()\n",
        "def kernel():\n    from p.o import f\n    return f()\n",
        "def kernel():\n    import p.o as q\n    return q.f()\n",
        "from p.o import *\ndef kernel():\n    return f()\n",
        "from p.package import f\ndef kernel():\n    return f()\n",
        "from p.o import f\nasync def kernel():\n    return f()\n",
        "from p.o import f\nclass kernel:\n    def run(self):\n        return f()\n",
        "from p.o import f\nkernel = wrap(f)\n",
        "from p.o import f\nkernel: object = wrap(f)\n",
        "import p.o\nif FLAG:\n    f = p.o.f\nelse:\n    f = None\ndef kernel():\n    return f()\n",
        "try:\n    from p.o import f\nexcept ImportError:\n    f = None\ndef kernel():\n    return f()\n",
        "from p.o import f\n@f\ndef kernel(x=SIZE):\n    pass\n",
    ],
)
def test_a_definition_is_reached_through_every_way_of_importing(kernel):
    rest = {"p/o.py": "VALUE = 4\ndef f():\n    return VALUE\n", "p/package/__init__.py": "from ..o import f\n"}
    assert {"f", "VALUE"} <= names({"p/k.py": kernel, "p/__init__.py": "", **rest})


def test_what_lies_outside_is_named_and_not_followed():
    files = {
        "p/k.py": "import torch\nfrom p.o import f\ndef kernel():\n    return f(torch.ops.x)\n",
        "p/o.py": "def f(): pass\n",
    }
    code = read(files, "p.k")
    assert isinstance(code, Code)
    assert [one.name for one in code.definitions] == ["kernel"]
    assert set(code.outside) >= {"p.o.f", "torch"}


def test_code_that_calls_itself_in_a_circle_ends():
    assert names({"p/k.py": "def kernel():\n    return g()\ndef g():\n    return kernel()\n"}) == {"kernel", "g"}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "p/k.py is not in p 1"),
        ({"p/k.py": "x = 1\n"}, "p/k.py of p 1 has no kernel"),
        ({"p/k.py": "def kernel(:\n"}, "cannot be read: SyntaxError"),
        ({"p/k.py": "UNREADABLE"}, "cannot be read: InputError"),
        (
            {"p/k.py": "from p.o import f\ndef kernel():\n    f()\n", "p/o.py": "UNREADABLE"},
            "p/o.py of p 1 cannot be read",
        ),
        (
            {"p/k.py": "from p.o import *\ndef kernel():\n    f()\n", "p/o.py": "def f(:"},
            "p/o.py of p 1 cannot be read",
        ),
    ],
)
def test_code_that_cannot_be_read_is_never_equal(files, reason):
    found = read(files)
    assert isinstance(found, Undecided)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = a if current_platform.is_rocm() else b", "x = c if current_platform.is_rocm() else b", True),
        ("x = a if current_platform.is_cuda() else b", "x = c if current_platform.is_cuda() else b", False),
        ("if current_platform.is_rocm() and ok:\n    x = 1", "if current_platform.is_rocm() and ok:\n    x = 2", True),
        ("if current_platform.is_rocm() or ok:\n    x = 1", "if current_platform.is_rocm() or ok:\n    x = 2", False),
        ("def f():\n    if current_platform.is_xpu():\n        a()", "def f():\n    pass", True),
        ('class A:\n    """Say."""\n    x = 1', "class A:\n    x = 1", True),
        ('async def f():\n    """Say."""', "async def f():\n    pass", True),
        ('def f():\n    x = """Say."""', 'def f():\n    x = """Else."""', False),
        ("def f(x: int): pass", "def f(x: str): pass", False),
        ("x = 1  # why", "x  =  (1)", True),
    ],
)
def test_the_same_code_is_the_same_text(one, other, same):
    assert (normal(ast.parse(one).body[0]) == normal(ast.parse(other).body[0])) is same


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_two_builds_are_the_same_exactly_when_every_reached_definition_is(left, right):
    text = "VALUE = {}\ndef kernel():\n    return VALUE\nOTHER = {}\n"
    first, second = read({"p/k.py": text.format(left, right)}), read({"p/k.py": text.format(right, left)})
    assert isinstance(first, Code)
    assert isinstance(second, Code)
    assert (differing(first, second) is None) is (left == right)


def test_a_definition_that_only_one_build_has_is_shown_from_that_side():
    first = read({"p/k.py": "def kernel():\n    return f()\ndef f(): pass\n"})
    second = read({"p/k.py": "def kernel():\n    return f()\n"})
    assert isinstance(first, Code)
    assert isinstance(second, Code)
    found = differing(first, second)
    assert found is not None
    assert (found[0] is not None and found[0].name, found[1]) == ("f", None)


def kernel(**more: object) -> DeclaredKernel:
    about = {"engine": "p", "tables": ("t",), "labels": ("k",), "code": ENTRY, "within": ("p",), "source": "here"}
    return DeclaredKernel(**(about | {"direct": "called by its name"} | more))  # type: ignore[arg-type]


def build(version: str, files: Mapping[str, str], **others: Mapping[str, str]) -> Build:
    texts = {"p": Text(files, f"p {version}"), **{name: Text(text, name) for name, text in others.items()}}
    return Build(engine="p", version=version, texts=texts, pins={"torch": "2"})


@pytest.mark.parametrize(
    ("declared", "more", "reason"),
    [
        (kernel(libraries=("p/x.so",)), {}, "lists no library"),
        (kernel(libraries=("p/x.so",)), {"p-1.dist-info/RECORD": "UNREADABLE"}, "lists no library"),
        (kernel(libraries=("p/x.so",)), {"p-1.dist-info/RECORD": "p/x.so,sha256=A,1\n"}, "lists no library"),
        (kernel(sources=("other:*.cu",)), {}, "it was not read"),
        (kernel(sources=("p:*.cu",)), {}, "no file *.cu"),
        (kernel(sources=("p:*.cu",)), {"a.cu": "UNREADABLE"}, "not kept"),
        (kernel(artifacts=("BMM",)), {}, "was read without flashinfer-python"),
        (kernel(compilers=("triton",)), {}, "does not pin triton"),
    ],
)
def test_evidence_that_is_missing_leaves_it_undecided(declared, more, reason):
    files = {"p/k.py": "def kernel(): pass\n", **more}
    found = compare(declared, build("1", files), build("2", files))
    assert (found.holding, reason in found.reason) == (Holding.UNDECIDED, True), found.reason
