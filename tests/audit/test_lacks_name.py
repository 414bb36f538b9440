import pytest
from tests.simulators.build_files import BuildInMemory

from dayzero.audit.lacks_name import lacks_attribute, lacks_name
from dayzero.core.verdict import Proven, Refuted, Undecided

ENUM = "class Kind(str, Enum):\n  TENSOR = 'tensor'\n"


def files_of(texts: dict[str, str]) -> tuple[BuildInMemory]:
    return (BuildInMemory({name: text.encode() for name, text in texts.items()}),)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("x = 1", Proven, "p.m defines no N"),
        ("def N(): ...", Refuted, "p.m defines N"),
        ("class N: ...", Refuted, "p.m defines N"),
        ("N = 1", Refuted, "p.m defines N"),
        ("N: int = 1", Refuted, "p.m defines N"),
        ("N: int", Undecided, "p.m may define N"),
        ("N: int\nN = 1", Refuted, "p.m defines N"),
        ("N = 1\ndel N", Undecided, "del"),
        ("def f():\n  N = 1\n  del N", Proven, "p.m defines no N"),
        ("def f():\n  global N\n  N = 1\nf()", Undecided, "global"),
        ("global N\nN = 1", Refuted, "p.m defines N"),
        ("for N in x: ...", Undecided, "p.m may define N"),
        ("match x:\n  case [N]: ...", Undecided, "p.m may define N"),
        ("print(N := 1)", Refuted, "p.m defines N"),
        ("with suppress(ImportError):\n  from q import N", Undecided, "a condition"),
        ("with lock:\n  from q import N", Refuted, "p.m defines N"),
        ("a, (b, N) = f()", Refuted, "p.m defines N"),
        ("from q import N", Refuted, "p.m defines N"),
        ("from q import a as N", Refuted, "p.m defines N"),
        ("from q import N as a", Proven, "p.m defines no N"),
        ("import N.q", Refuted, "p.m defines N"),
        ("with x as N: ...", Refuted, "p.m defines N"),
        ("def f():\n  N = 1", Proven, "p.m defines no N"),
        ("try:\n  from q import N\nexcept ImportError:\n  pass", Undecided, "p.m may define N"),
        ("if TYPE_CHECKING:\n  from q import N", Undecided, "a condition"),
        ("from q import *", Undecided, "star import"),
        ("def __getattr__(name): ...", Undecided, "__getattr__"),
        ("import sys\nsys.modules[__name__] = Lazy()", Undecided, "fills itself"),
        ("globals().update(x)", Undecided, "fills itself"),
        ("x = = 1", Undecided, "was not read"),
    ],
)
def test_a_modules_text_shows_whether_it_defines_a_name(text, kind, words):
    verdict = lacks_name(files_of({"p/m.py": text}), "p.m", "N").verdict
    assert isinstance(verdict, kind), verdict
    assert words in verdict.reason


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"p/m/__init__.py": "", "p/m/N.py": ""}, Refuted),
        ({"p/m/__init__.py": "", "p/m/N.cpython-311-x86_64-linux-gnu.so": ""}, Refuted),
        ({"p-1.0.data/purelib/p/m.py": ""}, Proven),
        ({"p/other.py": "N = 1"}, Undecided),
        ({"p/m.abi3.so": ""}, Undecided),
        ({}, Undecided),
    ],
)
def test_the_module_is_found_as_it_is_imported(files, kind):
    assert isinstance(lacks_name(files_of(files), "p.m", "N").verdict, kind)


@pytest.mark.parametrize(
    ("text", "owner", "attribute", "kind", "words"),
    [
        (ENUM, "Kind", "HEAD", Proven, "Kind has no HEAD"),
        (ENUM, "Kind", "TENSOR", Refuted, "Kind has TENSOR"),
        (ENUM, "Kind", "value", Refuted, "Kind has value"),
        (ENUM, "p.m.Kind", "HEAD", Proven, "Kind has no HEAD"),
        ("class C:\n  def f(self):\n    self.a = 1", "C", "a", Refuted, "C has a"),
        ("class C:\n  def f(self): ...", "C", "f", Refuted, "C has f"),
        ("class C:\n  if X:\n    a = 1", "C", "a", Refuted, "C has a"),
        ("class C:\n  def __getattr__(self, n): ...", "C", "a", Undecided, "by itself"),
        ("@plugin\nclass C: ...", "C", "a", Undecided, "decorated with plugin"),
        ("class C(metaclass=Odd): ...", "C", "a", Undecided, "metaclass"),
        ("class C(metaclass=ABCMeta): ...", "C", "a", Proven, "C has no a"),
        ("class C(Far): ...", "C", "a", Undecided, "inherits from Far"),
        ("class B:\n  a = 1\nclass C(B): ...", "C", "a", Refuted, "C has a"),
        ("class B: ...\nclass C(B): ...", "C", "a", Proven, "C has no a"),
        ("class C(C): ...", "C", "a", Undecided, "inherits from C"),
        ("if X:\n  class C:\n    a = 1\nelse:\n  class C: ...", "C", "a", Undecided, "C has a"),
        ("class C:\n  def f(self, n):\n    setattr(self, n, 1)", "C", "a", Undecided, "names are computed"),
        ("class C: ...\nC.a = 1", "C", "a", Undecided, "C is given a"),
        ("x = 1", "C", "a", Undecided, "none of the builds given defines the class C"),
    ],
)
def test_a_class_and_its_bases_show_whether_it_has_an_attribute(text, owner, attribute, kind, words):
    verdict = lacks_attribute(files_of({"p/m.py": text}), owner, attribute).verdict
    assert isinstance(verdict, kind), verdict
    assert words in verdict.reason
