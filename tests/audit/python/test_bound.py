"""One row a kind of statement: what it binds, and to what; Python itself, running the row, says which names there are."""

import ast
import contextlib

import pytest

from dayzero.audit.python.bindings import bindings, bound_once_run, by_name, deleted
from dayzero.audit.python.bound import assigned, bound_by, declared, handed_on_by, unbound_by

NOTHING: dict[str, str | None] = {}
ROWS: dict[str, dict[str, str | None]] = {
    "x = one": {"x": "one"},
    "x = y = one": {"x": "one", "y": "one"},
    "x, y = one, two": {"x": "one", "y": "two"},
    "[x, (y, z)] = [one, (two, three)]": {"x": "one", "y": "two", "z": "three"},
    "x, y = pair": {"x": None, "y": None},
    "x, y = *single, one": {"x": None, "y": None},
    "x, *y = one, two": {"x": None, "y": None},
    "x, *y = one, two, three": {"x": None, "y": None},
    "thing.a, x = one, two": {"x": "two"},
    "thing.a = one": NOTHING,
    "table[0] = one": NOTHING,
    "x: int = one": {"x": "one"},
    "x: int": NOTHING,
    "one += two": {"one": None},
    "for x in pair: ...": {"x": None},
    "for x, (y, thing.a) in [(one, (two, three))]: ...": {"x": None, "y": None},
    "with held as x: ...": {"x": None},
    "with held, held as (x, y): ...": {"x": None, "y": None},
    "import os": {"os": None},
    "import os.path": {"os": None},
    "import os.path as x, sys": {"x": None, "sys": None},
    "from os import path": {"path": None},
    "from os import path as x": {"x": None},
    "def x(): y = one": {"x": None},
    "async def x(): y = one": {"x": None},
    "class x: y = one": {"x": None},
    "@(y := same)\ndef x(z=(w := one)): ...": {"x": None, "y": "same", "w": "one"},
    "class x((y := object)): ...": {"x": None, "y": "object"},
    "(x := one)": {"x": "one"},
    "if (x := one) is two: ...": {"x": "one"},
    "while (x := None): ...": {"x": "None"},
    "same(x := (y := one))": {"x": "y := one", "y": "one"},
    "z = [(x := one) for y in pair]": {"z": "[(x := one) for y in pair]", "x": None},
    "same(lambda y=(x := one): (z := y))": {"x": "one"},
    "assert (x := one)": {"x": "one"},
    "match pair:\n  case [x, y]: ...": {"x": None, "y": None},
    "match pair:\n  case [x, *y]: ...": {"x": None, "y": None},
    "match {0: one}:\n  case {0: x, **y}: ...": {"x": None, "y": None},
    "match one:\n  case int() as x if (y := x): ...": {"x": None, "y": "x"},
    "match one:\n  case int(real=x) | int(imag=x): ...": {"x": None},
    "try: one / 0\nexcept ZeroDivisionError as x: ...": {"x": None},
    "pass": NOTHING,
}


def values(statement: ast.stmt) -> dict[str, str | None]:
    return {name: value and ast.unparse(value).strip("()") for name, value in bound_by(statement)}


def statement(text: str) -> ast.stmt:
    (only,) = ast.parse(text).body
    return only


@pytest.mark.parametrize("text", ROWS, ids=[one.partition("\n")[0] for one in ROWS])
def test_each_kind_of_statement_binds_what_python_binds(text):
    assert values(statement(text)) == ROWS[text]
    given = {
        "one": 1, "two": 2, "three": 3, "pair": (1, 2), "single": (1,), "table": [0], "thing": type("Thing", (), {}),
        "held": contextlib.nullcontext((1, 2)), "same": lambda it: it,
    }  # fmt: skip
    names = dict(given)
    exec(text, names)  # noqa: S102  (the rows above: Python is the judge of what they bind)
    made = {name for name in names if name not in given or names[name] is not given[name]}
    gone = {"x"} if text.startswith("try") else set()  # a handler's name ends with it
    assert made - {"__builtins__", "__annotations__"} == set(ROWS[text]) - gone


@pytest.mark.parametrize("text", ROWS, ids=[one.partition("\n")[0] for one in ROWS])
def test_a_value_that_is_shown_is_the_one_that_the_name_gets(text):
    for name, value in bound_by(statement(text)):
        if value is not None and not text.startswith(("while", "@", "class", "same(lambda", "match")):
            names = {
                "one": 1,
                "two": 2,
                "three": 3,
                "pair": (1, 2),
                "thing": type("Thing", (), {}),
                "same": lambda it: it,
            }
            exec(text, names)  # noqa: S102  (the rows above)
            assert names[name] == eval(ast.unparse(value), names)  # noqa: S307  (a part of them)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("self.a = one", {"self.a": "one"}),
        ("self.a, t['k'] = one, two", {"self.a": "one", "t['k']": "two"}),
        ("t['k']: int = one", {"t['k']": "one"}),
        ("t['k'] += one", {"t['k']": None}),
        ("for self.a in one: ...", {"self.a": None}),
        ("with one as self.a: ...", {"self.a": None}),
        ("self.a: int", {}),
        ("del self.a", {}),
    ],
)
def test_attributes_and_items_are_assigned_to_as_names_are(text, targets):
    found = {ast.unparse(target): value and ast.unparse(value) for target, value in assigned(statement(text))}
    assert found == targets


@pytest.mark.parametrize(
    ("text", "only", "gone", "elsewhere"),
    [
        ("x: int", "x", [], []),
        ("self.x: int", "self.x", [], []),
        ("x: int = 1", None, [], []),
        ("del x, (y, t[0], o.a)", None, ["x", "y"], []),
        ("global x, y", None, [], ["x", "y"]),
        ("nonlocal x", None, [], ["x"]),
        ("x = 1", None, [], []),
    ],
)
def test_a_bare_annotation_del_and_global_bind_nothing_and_say_so(text, only, gone, elsewhere):
    one = statement(text)
    said = declared(one)
    assert (said and ast.unparse(said), list(unbound_by(one)), list(handed_on_by(one))) == (only, gone, elsewhere)
    assert bool(values(one)) == (text in {"x: int = 1", "x = 1"})


BODY = """
import a
with open(f) as b:
    c = 1
with suppress(ImportError), other():
    import d
async with lock as e:
    f = 1
try:
    import g
except* ImportError as h:
    i = 1
else:
    j = 1
finally:
    k = 1
match m:
    case [n]:
        o = 1
while p:
    q = 1
r: int
def s():
    t = 1
"""


def test_what_stands_under_no_condition_is_always_bound_and_what_suppress_covers_is_not():
    found = {one.name: (one.always, one.tried) for one in bindings(ast.parse(BODY).body)}
    always = {name for name, (sure, _) in found.items() if sure}
    assert always == {"a", "b", "c", "e", "f", "k", "r", "s"}
    assert {name for name, (_, tried) in found.items() if tried} == {"d", "g"}
    assert set(found) == always | {"d", "g", "h", "i", "j", "n", "o", "q"}


def test_what_stands_in_the_blocks_of_a_statement_is_not_bound_by_it():
    assert list(bound_by(statement("if a:\n    (x := 1)\n    y = 2"))) == []


def test_a_name_that_a_statement_binds_twice_has_no_value_that_is_shown():
    assert [one.value for one in bindings(ast.parse("x, x = 1, 2").body)] == [None, None]


def test_what_blocks_bind_has_no_value_that_is_sure_once_they_have_run():
    text = "if a:\n    x = 1\n    y: int\nelse:\n    for z in b: x = 2"
    assert list(bound_once_run(statement(text))) == [("x", None), ("z", None), ("x", None)]
    assert [name for name, value in bound_once_run(statement("x = 1")) if value] == ["x"]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("def f():\n    global x\n    x = 1\n    y = 1", {"y"}),
        ("def f():\n    if a:\n        global x\n    x = 1", set()),
        ("def f():\n    def g():\n        global x\n    x = 1", {"g", "x"}),
        ("class f:\n    global x\n    x = 1", set()),
        ("if a:\n    global x\n    x = 1", {"x"}),
    ],
)
def test_a_function_hands_on_what_it_calls_global_and_a_module_keeps_it(text, own):
    body = ast.parse(text).body
    definer = body[0] if isinstance(body[0], ast.FunctionDef | ast.ClassDef) else None
    assert set(by_name(definer.body if definer else body, definer)) == own


def test_what_is_deleted_is_named_also_in_blocks_and_not_in_functions():
    assert deleted(ast.parse("del a\nif b:\n    del c\ndef f():\n    del d").body) == {"a", "c"}
