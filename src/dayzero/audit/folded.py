"""Syntax trees whose functions are folded: a body is dropped, and parsed again from its text where somebody looks at it.

The syntax of a large engine takes forty times its text. Most functions are walked once or never, so only what stands outside of
them is held; whoever walks into a folded function meets the very nodes that parsing gives, lines and columns included.
"""

import ast
import re
import warnings
from array import array
from collections.abc import Iterator
from typing import Final

_OWN_LINES: Final = 2  # a function on fewer lines takes no more as syntax than what is needed to fold it
_SOURCE: Final = "_folded_from"
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=]", re.MULTILINE)


class Text:
    """The text of a file, by its lines.

    Args:
        content: The file.
    """

    __slots__ = ("_starts", "content")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._starts: array[int] | None = None

    def line(self, number: int) -> str:
        """Give a line, 1-based; nothing where there is none of that number."""
        return self.lines(number, number).decode("utf-8", "replace").removesuffix("\n")

    def lines(self, first: int, last: int) -> bytes:
        """Give the lines from the first to the last, 1-based, both included; nothing where they are not there."""
        if self._starts is None:
            self._starts = array("Q", [0, *(one.end() for one in re.finditer(rb"\n", self.content))])
        if not 0 < first <= len(self._starts):
            return b""
        end = self._starts[last] if last < len(self._starts) else len(self.content)
        return self.content[self._starts[first - 1] : end]

    def place_of(self, word: bytes) -> int:
        """Give the first line that a word stands in, 1-based; 0 where it stands in none."""
        before, found, _ = self.content.partition(word)
        return before.count(b"\n") + 1 if found else 0

    @property
    def foldable(self) -> bool:
        """Say whether a part of it parses as it does in the whole: its lines end in one way, and no cookie names an encoding."""
        first_two = b"\n".join(self.content.split(b"\n", 2)[:2])
        return b"\r" not in self.content and not _COOKIE.search(first_two)


def syntax(content: bytes) -> ast.Module:
    """Parse a file; what Python warns of in other people's code is not passed on.

    Raises:
        SyntaxError: It is not Python that this interpreter parses; ``ValueError``, ``RecursionError`` and ``MemoryError`` too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(content)


def fold(tree: ast.Module, text: Text) -> None:
    """Drop the bodies of a tree's functions, those of methods too. Whoever holds a node of a body keeps it as it is.

    Args:
        tree: The tree.
        text: What it was parsed from.
    """
    for node in _outer_functions(tree) if text.foldable else ():
        if (node.end_lineno or node.lineno) - node.lineno >= _OWN_LINES:
            node.__class__ = FunctionDef if isinstance(node, ast.FunctionDef) else AsyncFunctionDef
            node.__dict__[_SOURCE] = text
            node.__dict__.pop("body", None)


def _outer_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give the functions that stand in no other one."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        else:
            for field in ("cases", "body", "handlers", "orelse", "finalbody"):
                inner = getattr(node, field, ())
                waiting += inner if isinstance(inner, list) else ()


def _unfolded(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    held = node.__dict__
    if "body" not in held:
        held["body"] = _parsed_again(node, held[_SOURCE])
    body: list[ast.stmt] = held["body"]
    return body


def _parsed_again(node: ast.FunctionDef | ast.AsyncFunctionDef, text: Text) -> list[ast.stmt]:
    """Parse a function where it stands: empty lines before it, and something around it where it is indented."""
    own = text.lines(node.lineno, node.end_lineno or node.lineno)
    inside = node.col_offset > 0
    before = b"\n" * (node.lineno - 2) + b"if 1:\n" if inside else b"\n" * (node.lineno - 1)
    tree = syntax(before + own)
    found = tree.body[0].body[0] if inside and isinstance(tree.body[0], ast.If) else tree.body[0]
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101  (it was parsed once before)
    return found.body


def _set(node: ast.AST, body: list[ast.stmt]) -> None:
    node.__dict__["body"] = body


class FunctionDef(ast.FunctionDef):
    """A function whose body is parsed where it is asked for. Its class has the name by which ``ast`` finds what handles it."""

    __slots__ = ()
    body = property(_unfolded, _set)


class AsyncFunctionDef(ast.AsyncFunctionDef):
    """The same of an asynchronous one."""

    __slots__ = ()
    body = property(_unfolded, _set)
