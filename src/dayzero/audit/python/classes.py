"""Which attributes does the text of a class show, and why may there be more?"""

import ast
from collections.abc import Iterator

from dayzero.audit.python.bindings import bindings
from dayzero.audit.python_source import last_name, nodes_of

EMPTY_BASES = frozenset({"ABC", "Protocol", "Generic", "object"})
_SIMPLE_METACLASSES = {"ABCMeta", "EnumMeta", "EnumType"}
_SIMPLE_DECORATORS = {"dataclass", "final", "unique", "runtime_checkable", "total_ordering"}


def members(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Give (line, name) of what the class's body binds and of what its methods assign to ``self`` or ``cls``."""
    for one in bindings(node.body):
        yield one.statement.lineno, one.name
    for inner in nodes_of(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield inner.lineno, name
            case _:
                continue


def doubt(node: ast.ClassDef, names: set[str]) -> str:
    """Say why the class may have an attribute that its text does not show; ``""`` where it may not."""
    if names & {"__getattr__", "__getattribute__", "__dict__"}:
        return "answers for attributes by itself (__getattr__)"
    if any(isinstance(one, ast.Call) and last_name(one) in {"setattr", "__setattr__"} for one in nodes_of(node)):
        return "sets attributes whose names are computed"
    if strange := {last_name(one) for one in node.decorator_list} - _SIMPLE_DECORATORS:
        return f"is decorated with {', '.join(sorted(strange))}, which may add attributes"
    if any(one.arg != "metaclass" or last_name(one.value) not in _SIMPLE_METACLASSES for one in node.keywords):
        return "is made by a metaclass that may add attributes"
    return ""


def constructor_fields(node: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    """Give (name, whether it must be given) of each argument that a dataclass's own fields make."""
    for child in node.body:
        match child:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                if last_name(annotation) not in {"ClassVar", "KW_ONLY"} and not _left_out(value):
                    yield name, value is None or (last_name(value) == "field" and not _defaulted(value))
            case _:
                continue


def _left_out(value: ast.expr | None) -> bool:
    given = value.keywords if isinstance(value, ast.Call) else []
    return any(one.arg == "init" and isinstance(one.value, ast.Constant) and not one.value.value for one in given)


def _defaulted(value: ast.expr) -> bool:
    given = value.keywords if isinstance(value, ast.Call) else []
    return any(one.arg in {"default", "default_factory"} for one in given)
