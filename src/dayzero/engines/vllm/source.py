"""Python files of a wheel, read as syntax: nothing of vLLM is imported, so a build for another machine can be read too."""

import ast
from dataclasses import dataclass

from dayzero.audit.ports import BuildFiles
from dayzero.core.verdict import Place


class UnreadableError(Exception):
    """A file is not written in a way that these readers know for certain; the message says what and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One Python file of a build, parsed."""

    artifact: str
    path: str
    lines: tuple[str, ...]
    tree: ast.Module

    def place(self, line: int) -> Place:
        """Give the place of a 1-based line, with the line as its quote."""
        return Place(
            artifact=self.artifact, file=self.path, position=f"line {line}", quote=self.lines[line - 1].strip()
        )

    def top_class(self, name: str) -> ast.ClassDef:
        """Find a class of the module.

        Raises:
            UnreadableError: There is none of this name.
        """
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return node
        raise UnreadableError(f"{self.path} has no class {name}")


def parse(files: BuildFiles, path: str) -> Source:
    """Parse one file.

    Raises:
        UnreadableError: The build lacks it, or it is not Python that this interpreter parses.
    """
    if path not in files.names():
        raise UnreadableError(f"{files.artifact} has no file {path}")
    try:
        text = files.read(path).decode()
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnreadableError(f"{path} cannot be parsed: {error}") from error
    return Source(artifact=files.artifact, path=path, lines=tuple(text.split("\n")), tree=tree)


def method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Find a method that the class itself defines."""
    return next((node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def text_of(node: ast.expr) -> str | None:
    """Give the value of a string literal, ``None`` for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def simple_name(node: ast.expr | None) -> str:
    """Give the last part of a plain or dotted name, ``""`` for any other expression."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
