"""A folded function is what parsing gives, to the line and column, whenever somebody looks into it."""

import ast
import sysconfig
from pathlib import Path

import pytest

from dayzero.audit.folded import Text, fold, syntax

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
# Decorators, nested functions, asynchronous ones, classes in functions, one-liners, strings over lines, conditions, match.
FILES = (
    "ast.py",
    "dataclasses.py",
    "asyncio/tasks.py",
    "typing.py",
    "contextlib.py",
    "enum.py",
    "re/_parser.py",
    "statistics.py",
)
SHAPES = """
if True:
    async def a(x, *, y=1):
        await x
        return y
else:
    def a(): pass
class B:
    @property
    def c(self):
        text = '''
not indented
'''
        def inner():
            return text
        return inner
    class D:
        def e(self): return 1; return 2
"""


def dumped(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=True)


def functions(tree: ast.AST) -> list[ast.AST]:
    return [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize(
    "content", [*((LIBRARY / one).read_bytes() for one in FILES), SHAPES.encode()], ids=[*FILES, "shapes"]
)
def test_a_folded_tree_reads_as_the_whole_one(content: bytes) -> None:
    whole, folded = syntax(content), syntax(content)
    fold(folded, Text(content))
    assert any(
        "body" not in vars(one) for one in ast.iter_child_nodes(folded) for one in (one, *ast.iter_child_nodes(one))
    )
    assert dumped(folded) == dumped(whole)
    fold(folded, Text(content))
    assert ast.unparse(folded) == ast.unparse(whole)


def test_a_body_is_dropped_and_whoever_holds_a_part_of_it_keeps_that() -> None:
    content = b"def f():\n    first = 1\n    return first\n"
    tree = syntax(content)
    (function,) = functions(tree)
    assert isinstance(function, ast.FunctionDef)
    held = function.body[0]
    fold(tree, Text(content))
    assert "body" not in vars(function)
    assert ast.unparse(held) == "first = 1"
    assert function.body[0] is not held
    assert function.body[0] is function.body[0]


@pytest.mark.parametrize(
    "content",
    [b"def f():\r\n    a = 1\r\n    return a\r\n", b"# coding: latin-1\ndef f():\n    a = '\xe9'\n    return a\n"],
)
def test_a_file_whose_parts_may_parse_otherwise_than_the_whole_is_not_folded(content: bytes) -> None:
    tree = syntax(content)
    fold(tree, Text(content))
    assert "body" in vars(tree.body[0])  # to walk there would unfold it


def test_a_text_gives_its_lines() -> None:
    text = Text(b"one\ntwo\n\nfour")
    assert [text.line(number) for number in range(6)] == ["", "one", "two", "", "four", ""]
    assert text.lines(2, 4) == b"two\n\nfour"
    assert (text.place_of(b"four"), text.place_of(b"five")) == (4, 0)
