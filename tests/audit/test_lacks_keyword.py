import pytest
from tests.simulators.build_files import BuildInMemory

from dayzero.audit.lacks_keyword import lacks_keyword
from dayzero.core.verdict import Proven, Refuted, Undecided

FUNCTION = "def run(a, *, b=1): ..."
SCATTERED = {"p/one.py": "def run(a): ...", "p/two.py": "if True:\n    def run(a, k): ..."}
DATACLASS = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Base:
    first: int
@dataclass
class Plan(Base):
    second: int = 0
    kind: ClassVar[int] = 3
    made: int = field(init=False)
"""


@pytest.mark.parametrize(
    ("files", "callee", "keyword", "kind", "words"),
    [
        ({"p/m.py": FUNCTION}, "run", "k", Proven, "run takes no k, only (a, b)"),
        ({"p/m.py": FUNCTION}, "run", "b", Refuted, "run takes b"),
        ({"p/m.py": "async def run(k): ..."}, "run", "k", Refuted, "run takes k"),
        ({"p/m.py": "def run(k, /): ..."}, "run", "k", Proven, "takes no k"),
        ({"p/m.py": "def run(a, **options): ..."}, "run", "k", Undecided, "takes **options"),
        ({"p/m.py": "def run(k, **options): ..."}, "run", "k", Refuted, "run takes k"),
        ({"p/m.py": "@api\ndef run(a): ..."}, "run", "k", Proven, "takes no k"),
        ({"p/m.py": "@overload\ndef run(k): ...\ndef run(a): ..."}, "run", "k", Proven, "takes no k"),
        ({"p/m.py": "class C:\n  def run(self, a): ..."}, "C.run", "k", Proven, "C.run takes no k"),
        (
            {"p/m.py": "class C:\n  def run(self, k): ..."},
            "run",
            "k",
            Undecided,
            "none of the builds given defines run",
        ),
        ({"p/m.py": "class C:\n  def __init__(self, a): ..."}, "C.__init__", "k", Proven, "C.__init__ takes no k"),
        ({"p/m.py": "class C:\n  def __init__(self, a): ..."}, "C", "k", Proven, "C takes no k, only (self, a)"),
        ({"p/m.py": "def f():\n  def g(k): ..."}, "f.<locals>.g", "k", Refuted, "takes k"),
        ({"p/m.py": DATACLASS}, "Plan.__init__", "third", Proven, "only (first, second)"),
        ({"p/m.py": DATACLASS}, "Plan.__init__", "first", Refuted, "Plan takes first"),
        ({"p/m.py": DATACLASS}, "Plan.__init__", "kind", Proven, "takes no kind"),
        ({"p/m.py": DATACLASS}, "Plan.__init__", "made", Proven, "takes no made"),
        ({"p/m.py": "class C(Far): ..."}, "C.__init__", "k", Undecided, "inherits from Far"),
        ({"p/m.py": "class C(Far): ...", "q.py": "class Far:\n def __init__(self): ..."}, "C", "k", Proven, "no k"),
        ({"p/m.py": "@define\nclass C:\n  a: int"}, "C.__init__", "k", Undecided, "its text does not show"),
        ({"p/m.py": "class C(C): ..."}, "C.__init__", "k", Undecided, "inherits from C"),
        (SCATTERED, "run", "k", Undecided, "p/two.py:2: run takes k"),
        (SCATTERED, "p.one.run", "k", Proven, "takes no k"),
        (SCATTERED, "p.run", "k", Undecided, "p/one.py:1: run takes no k"),
        ({"p/m.py": "def run(a) ..."}, "run", "k", Undecided, "p/m.py may define it too and was not read (not parsed"),
        ({"p/m.py": "def run(a): ...", "p/n.py": "run = 1 +"}, "run", "k", Undecided, "p/n.py may define it too"),
        ({"p/m.py": "\0run"}, "run", "k", Undecided, "was not read"),
        ({"p/m.so": "run"}, "run", "k", Undecided, "none of the builds given defines run in Python"),
        ({}, "run", "k", Undecided, "none of the builds given defines run in Python"),
        ({"p/m.py": "class C:\n  def __init__(self): ..."}, "__init__", "k", Undecided, "does not say whose __init__"),
    ],
)
def test_a_definition_shows_whether_a_keyword_is_taken(files, callee, keyword, kind, words):
    verdict = lacks_keyword(
        (BuildInMemory({name: text.encode() for name, text in files.items()}),), callee, keyword
    ).verdict
    assert isinstance(verdict, kind), verdict
    assert words in verdict.reason


def test_each_definition_is_named_with_its_file_line_and_text():
    check = lacks_keyword((BuildInMemory({"p/m.py": b"import x\n\ndef run(a, b): ...\n"}),), "run", "k")
    (place,) = check.verdict.places
    assert (place.file, place.position, place.quote) == ("p/m.py", "line 3", "def run(a, b): ...")
    assert check.question == "Does run lack the keyword k?"


def test_builds_are_asked_together():
    one, two = BuildInMemory({"caller.py": b"run(k=1)"}), BuildInMemory({"callee.py": b"def run(a): ..."})
    assert isinstance(lacks_keyword((one, two), "run", "k").verdict, Proven)


def test_warnings_of_other_peoples_code_are_not_ours():
    files = BuildInMemory({"p/m.py": b"def run(a):\n    return '\\d' is a\n"})
    assert isinstance(lacks_keyword((files,), "run", "k").verdict, Proven)
