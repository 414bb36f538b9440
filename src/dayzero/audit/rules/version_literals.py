"""Does code compare a library's version with a literal that the installed version is not?"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed, once
from dayzero.audit.python.bound import bound_by
from dayzero.audit.python.library_version import library_of
from dayzero.audit.python_source import Module, statements_of
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place

_ID = "version-literal"
# The second sign of == or !=, with a version behind it: a pattern that begins with one sign is sought eight times faster.
_COMPARED = re.compile(rb"""=\s*["']v?\d+\.\d+""")
_VERSION = re.compile(r"v?\d+(\.\d+)+[\w.+]*")


class VersionLiterals:
    """Implements ``audit.rules.Rule``."""

    id: str = _ID
    question: str = "Is a path closed to the installed version of a library because it demands exactly another?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Find ``if version != "1.2.3"`` with the version of an installed library."""
        yield from _found(subject.installed)


@once
def _found(installed: Installed) -> tuple[Finding | NotChecked, ...]:
    """Look through all files, once for whatever is to be served with them."""
    python = installed.python
    found: list[Finding | NotChecked] = []
    for module in python.holding(b"ersion"):
        if module not in python.modules or not _compares(python.read(module)):
            continue
        parsed = python.parsed(module)
        if isinstance(parsed, Module):
            found += (one for scope in _scopes(parsed.tree) for one in _in_scope(_ID, installed, parsed, scope))
        else:
            found.append(NotChecked(f"whether {parsed} demands a version", parsed.quote, needed=False))
    return tuple(found)


def _compares(text: bytes) -> bool:
    return any(text[one.start() - 1 : one.start()] in {b"!", b"="} for one in _COMPARED.finditer(text, 1))


def _in_scope(rule: str, installed: Installed, module: Module, scope: ast.AST) -> Iterator[Finding]:
    known: dict[str, Distribution] = {}
    for node in _own(scope):
        match node:
            case ast.Assign() | ast.AnnAssign():
                for name, value in bound_by(node):
                    library = library_of(installed, known, value) if value is not None else None
                    if library is not None:
                        known[name] = library
            case ast.If(test=test):
                for library, literal in _demanded(installed, known, test):
                    if library.version.split("+")[0] != literal.removeprefix("v"):
                        yield _finding(rule, module, node, (library, literal), top=isinstance(scope, ast.Module))


def _finding(rule: str, module: Module, branch: ast.If, demanded: tuple[Distribution, str], *, top: bool) -> Finding:
    library, literal = demanded
    raises = any(isinstance(one, ast.Raise) for one in branch.body)
    at_import = raises and top
    return Finding(
        rule,
        Severity.START if at_import else Severity.PATH if raises else Severity.DOWNGRADE,
        f"this path demands {library.name} {literal} exactly, and {library.version} is installed",
        module.place(branch.test.lineno),
        Place(artifact=library.files.artifact, file="METADATA", quote=f"Version: {library.version}"),
        f"Install {library.name}=={literal}, or do without this path.",
        f"{module.name} is used",
        Applies.YES if at_import else Applies.UNKNOWN,
    )


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (one for one in statements_of(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Give the nodes of a scope in source order, without those of functions in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own(child)


def _demanded(
    installed: Installed, known: Mapping[str, Distribution], test: ast.expr
) -> Iterator[tuple[Distribution, str]]:
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            for value in values:
                yield from _demanded(installed, known, value)
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value=str(literal))]):
            library = library_of(installed, known, left)
            if library is not None and _VERSION.fullmatch(literal):
                yield library, literal


RULE: Final = VersionLiterals()
