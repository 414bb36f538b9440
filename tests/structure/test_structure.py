"""The house keeps its own rules: sizes, one home per name, what core and the verifier may import."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "src" / "dayzero", ROOT / "verifier" / "src" / "dayzero_verify")
MODULES = sorted(file for source in SOURCES for file in source.rglob("*.py"))
MODULE_LINES, FUNCTION_LINES = 400, 40


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_there_is_something_to_check():
    assert len(MODULES) > 40


def test_no_module_is_longer_than_a_reader_can_hold():
    assert [name_of(f) for f in MODULES if f.read_text(encoding="utf-8").count("\n") > MODULE_LINES] == []


def test_no_function_is_longer_than_a_screen():
    long = [
        f"{name_of(file)}:{node.lineno} {node.name}"
        for file in MODULES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > FUNCTION_LINES
    ]
    assert long == []


def test_core_and_the_verifier_import_the_standard_library_and_themselves_only():
    allowed = {"src/dayzero/core": "dayzero.core", "verifier/src/dayzero_verify": "dayzero_verify"}
    foreign = [
        f"{name_of(file)} imports {name}"
        for folder, own in allowed.items()
        for file in sorted((ROOT / folder).rglob("*.py"))
        for name in imported(file)
        if name.split(".")[0] not in sys.stdlib_module_names and name != own and not name.startswith(f"{own}.")
    ]
    assert foreign == []


def test_a_public_class_has_one_home_in_the_nouns_that_all_share():
    homes = defaultdict(set)
    shared = [f for f in MODULES if "/core/" in str(f) or f.name in {"model.py", "errors.py"}]
    for file in shared:
        for node in tree(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name_of(file))
    core = {name for name, places in homes.items() if any("/core/" in place for place in places)}
    assert {name: sorted(places) for name, places in homes.items() if name in core and len(places) > 1} == {}


@pytest.mark.parametrize("word", ["utils", "common", "helpers", "constants", "misc"])
def test_there_is_no_lobby(word):
    assert [name_of(f) for f in MODULES if f.stem == word or word in f.parent.parts] == []


def test_every_module_says_what_it_is_for():
    assert [name_of(f) for f in MODULES if not ast.get_docstring(tree(f))] == []


def decided(module: ast.Module) -> list[int]:
    """List the lines of conditions decided before anything is known: ``if False``, ``x and True``; ``while True`` is a loop."""
    found = []
    for node in ast.walk(module):
        match node:
            case (
                ast.If(test=ast.Constant()) | ast.IfExp(test=ast.Constant()) | ast.While(test=ast.Constant(value=False))
            ):
                found.append(node.lineno)
            case ast.BoolOp(values=values) if any(is_flag(one) for one in values):
                found.append(node.lineno)
            case _:
                continue
    return found


def is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("if False:\n    x()", [1]),
        ("y = 1\nx = 2 if True else 3", [2]),
        ("x = y and False", [1]),
        ("while False:\n    x()", [1]),
        ("while True:\n    x()", []),
        ("x = y or ''", []),
        ("if y:\n    x(True)", []),
    ],
)
def test_a_condition_that_is_decided_is_found(code, lines):
    assert decided(ast.parse(code)) == lines


def test_no_condition_was_left_switched_off():
    assert [f"{name_of(file)}:{line}" for file in MODULES for line in decided(tree(file))] == []


def guards(module: ast.Module) -> bool:
    """Whether code reads the name, under whatever alias it came; the audit of other people's code only has it as a string."""
    return any(
        "TYPE_CHECKING" in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", ""))
        for node in ast.walk(module)
        if isinstance(node, ast.Name | ast.Attribute | ast.alias)
    )


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from typing import TYPE_CHECKING", True),
        ("from typing import TYPE_CHECKING as T\nif T:\n    import a", True),
        ("import typing\nif typing.TYPE_CHECKING:\n    import a", True),
        ("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import a", True),
        ("if name == 'TYPE_CHECKING':\n    pass", False),
    ],
)
def test_a_guard_is_told_from_a_word(code, found):
    assert guards(ast.parse(code)) is found


def test_nothing_hides_a_tangle_behind_type_checking():
    assert [name_of(f) for f in MODULES if guards(tree(f))] == []


def test_a_suites_mark_stands_in_a_file_of_tests():
    """The Makefile looks for the tests of a suite there: elsewhere a mark would take its tests out of every run."""
    suites = re.compile(r"mark\.(?:vllm|skypilot|gates|lm_eval|aic|browser|walk|wheels)\b")
    files = [file for tests in ("tests", "verifier/tests") for file in (ROOT / tests).rglob("*.py")]
    assert [name_of(f) for f in files if suites.search(f.read_text("utf-8")) and not f.name.startswith("test_")] == []
