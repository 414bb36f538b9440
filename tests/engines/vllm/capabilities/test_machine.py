"""The evaluator: what Python would say where all is known, unknown where the files do not tell, and never a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.vllm.capabilities.builds import installed

from dayzero.audit.folded import fold
from dayzero.audit.installed import PythonFiles
from dayzero.audit.python_source import Module
from dayzero.engines.vllm.capabilities.machine import Machine
from dayzero.engines.vllm.capabilities.program import Program
from dayzero.engines.vllm.capabilities.values import RaisedError, Unknown

ARITHMETIC = """
class Pair:
    def __init__(self, left, right):
        self.left = left
        self.right = right
def larger(pair):
    return pair.left if pair.left >= pair.right else pair.right
def work(a, b):
    found = [x for x in range(5) if x % 2 == a % 2]
    total = 0
    for one in found:
        if one == b:
            continue
        if one > 3:
            break
        total += one * a
    try:
        ratio = 10 // b
    except ArithmeticError:
        ratio = -1
    best = larger(Pair(a, b))
    text = f"{total}:{best}"
    return (total, ratio if b else None, best, text, a in (1, 2) or b in [3], not (a < b <= 3), {**{"k": a}, "j": b})
"""


def machine(source: str) -> Machine:
    files = installed(engine={"vllm/__init__.py": "", "vllm/m.py": source}, libraries={})
    return Machine(Program(PythonFiles(files.distributions), {}))


def call(source: str, *args: object):
    one = machine(source)
    return one.call(one.from_module("vllm.m", "work"), args, {})


@given(st.integers(-4, 4), st.integers(1, 4))
def test_a_function_of_known_values_gives_what_python_gives(a, b):
    names: dict = {}
    exec(ARITHMETIC, names)  # noqa: S102  (the law: both agree)
    assert call(ARITHMETIC, a, b) == names["work"](a, b)


def test_a_property_whose_function_was_folded_gives_the_same():
    source = """
class Kind:
    @property
    def size(self):
        first = 4
        return first * 2
def work():
    return Kind().size
"""
    files = PythonFiles(installed(engine={"vllm/__init__.py": "", "vllm/m.py": source}, libraries={}).distributions)
    parsed = files.parsed("vllm.m")
    assert isinstance(parsed, Module)
    fold(parsed.tree, parsed.text)
    one = Machine(Program(files, {}))
    assert one.call(one.from_module("vllm.m", "work"), (), {}) == 8


HIDDEN = Unknown("the weather")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x and False", False),
        ("return True or x", True),
        ("return 1 if x else 1", 1),
        ("if x:\n  return 'a'\n return 'a'", "a"),
        ("y = 3\n if x:\n  y = 3\n return y", 3),
        ("y = [1]\n if x:\n  y.append(2)\n else:\n  y.append(2)\n return y", [1, 2]),
        ("return any(one == 2 for one in [1, 2])", True),
        ("try:\n  raise ValueError('no')\n except ValueError:\n  return 5", 5),
        ("def put(l):\n  l.append(l.pop(0))\n y = [1, 2]\n put(y)\n return y", [2, 1]),
    ],
)
def test_what_both_ways_lead_to_is_known(body, expected):
    assert call(f"def work(x):\n {body}\n", HIDDEN) == expected


@pytest.mark.parametrize(
    "body",
    [
        "return x == 1",
        "return 1 in [x]",
        "if x:\n  return 1\n return 2",
        "y = [1]\n if x:\n  y.append(2)\n return len(y) == 2",
        "def put(l):\n  if x:\n   l.append(2)\n y = []\n put(y)\n return 2 in y",
        "import torch\n return torch.cuda.is_available()",
        "import torch\n y = [1]\n torch.shuffle(y)\n return y[0]",
        "assert x\n return 1",
        "try:\n  if x:\n   return None\n except ValueError:\n  pass\n return 2",
        "while x:\n  pass\n return 1",
        "y = 0\n for one in x:\n  y = 1\n return y",
        "y = [3, 1]\n y.sort()\n return y[0]",
        "import torch\n return torch.version.hip is None",
    ],
)
def test_what_the_files_do_not_tell_stays_unknown(body):
    assert isinstance(call(f"def work(x):\n {body}\n", HIDDEN), Unknown)


def test_a_module_binds_what_its_conditions_and_its_failed_imports_lead_to():
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    KIND = "checker"
else:
    KIND = "run"
try:
    from vllm import missing
    FOUND = True
except ImportError:
    FOUND = False
def work():
    return KIND, FOUND
"""
    assert call(source) == ("run", False)


def test_a_decorator_of_the_files_is_applied_and_one_from_outside_leaves_it_unknown():
    source = """
import functools
def never(function):
    @functools.wraps(function)
    def wrapper(*args):
        return None
    return wrapper
class Ops:
    @classmethod
    @never
    def on(cls):
        return True
import torch
@torch.compile
def strange():
    return True
def work():
    return Ops.on(), strange()
"""
    first, second = call(source)
    assert first is None
    assert isinstance(second, Unknown)


def test_endless_recursion_ends_unknown():
    assert isinstance(call("def work(x):\n return work(x)\n", 1), Unknown)


def test_what_the_code_raises_is_raised_and_said_to_be_stated():
    with pytest.raises(RaisedError) as raised:
        call("def work(x):\n raise ValueError(f'no {x}')\n", 4)
    assert str(raised.value) == "no 4"
    assert raised.value.is_stated


def test_an_attribute_is_the_first_in_the_order_that_python_has():
    source = """
class A:
    kind = "a"
class B(A):
    pass
class C(A):
    kind = "c"
class D(B, C):
    pass
def work():
    return D.kind, D().kind
"""
    assert call(source) == ("c", "c")


@pytest.mark.parametrize(
    ("decorator", "answer"), [("@dataclass(frozen=True)\n", (True, False, True)), ("", (None, None, None))]
)
def test_two_objects_are_equal_by_the_fields_of_a_dataclass_and_else_not_known_to_be(decorator, answer):
    source = (
        f"from dataclasses import dataclass\n{decorator}class Inner:\n    bits: int\n"
        f"    def __init__(self, bits):\n        self.bits = bits\n"
        f"{decorator}class Kind:\n    inner: Inner\n    def __init__(self, inner):\n        self.inner = inner\n"
        "class Kinds:\n    four = Kind(Inner(4))\n    eight = Kind(Inner(8))\n"
        "def work():\n    return (Kinds.four == Kind(Inner(4)), Kinds.four == Kinds.eight, Kinds.four in [Kind(Inner(4))])\n"
    )
    found = call(source)
    assert tuple(None if isinstance(one, Unknown) else one for one in found) == answer
