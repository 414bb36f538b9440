"""Work out what an expression is."""

import ast
from typing import Protocol

from dayzero.audit.python.scope import Scope
from dayzero.audit.python.values import (
    Absent,
    Choice,
    ClassValue,
    FunctionValue,
    Instance,
    ModuleValue,
    Nothing,
    Opaque,
    Partial,
    Text,
    Value,
    choice,
)
from dayzero.audit.python_source import Definition, last_name
from dayzero.core.verdict import Place

_MOST_DEEP = 40
_IMPORTERS = {"import_module", "__import__"}
_OPTIONAL = {"Optional", "Union", "Annotated", "Final", "ClassVar"}
_NOT_FOUND = {"find_spec", "LazyLoader"}


class Lookups(Protocol):
    """What evaluation asks of the world."""

    def in_scope(self, scope: Scope, name: str) -> Value:
        """Say what a name stands for where it is written."""
        ...

    def attribute(self, value: Value, name: str) -> Value:
        """Say what an attribute of a value is."""
        ...

    def module_value(self, name: str, place: Place, *, lazy: bool = False) -> Value:
        """Say whether a module is there."""
        ...

    def name(self, module: str, name: str, *, lazy: bool = False) -> Value:
        """Say what a module's name stands for."""
        ...

    def scope_of(self, definition: Definition) -> Scope:
        """Give the scope that a definition makes."""
        ...


def value_of(  # noqa: PLR0911  (one answer a kind of expression)
    world: Lookups, scope: Scope, node: ast.expr, depth: int = _MOST_DEEP
) -> Value:
    """Say what an expression is, where it stands; ``Opaque`` where its text does not show it."""
    if not depth:
        return Opaque()
    match node:
        case ast.Name(id=name):
            return world.in_scope(scope, name)
        case ast.Attribute(value=inner, attr=attr):
            return world.attribute(value_of(world, scope, inner, depth - 1), attr)
        case ast.Constant(value=str() as text):
            return Text(text)
        case ast.Constant(value=None):
            return Nothing()
        case ast.IfExp(body=first, orelse=second):
            return choice((value_of(world, scope, first, depth - 1), value_of(world, scope, second, depth - 1)))
        case ast.BoolOp(values=values):
            return choice(tuple(value_of(world, scope, one, depth - 1) for one in values))
        case ast.NamedExpr(value=inner) | ast.Await(value=inner):
            return value_of(world, scope, inner, depth - 1) if isinstance(node, ast.NamedExpr) else Opaque()
        case ast.Call():
            return called(world, scope, node, depth - 1)
        case _:
            return Opaque()


def called(world: Lookups, scope: Scope, node: ast.Call, depth: int) -> Value:
    """Say what a call gives back."""
    word = last_name(node.func)
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    place = scope.module.place(node.lineno)
    if word == "getattr" and len(node.args) > 1 and len(texts) >= 1:
        found = world.attribute(value_of(world, scope, node.args[0], depth), texts[0])
        return Opaque() if isinstance(found, Absent) else found
    if word == "partial" and node.args:
        keywords = tuple(one.arg for one in node.keywords if one.arg)
        return Partial(value_of(world, scope, node.args[0], depth), len(node.args) - 1, keywords)
    if word in _IMPORTERS and texts and len(texts) == len(node.args):
        return world.module_value(texts[0], place, lazy=True)
    return _result(world, value_of(world, scope, node.func, depth), node, place)


def _result(world: Lookups, callee: Value, node: ast.Call, place: Place) -> Value:
    match callee:
        case ClassValue(definition=definition) if last_name(node.func) not in _NOT_FOUND:
            return Instance(definition, exact=True)
        case FunctionValue(definition=definition):
            asked = _asked_by_name(world, node, place)
            if asked is not None:
                return asked
            return annotated(world, definition, world.scope_of(definition))
        case Choice(among=among):
            return choice(tuple(_result(world, one, node, place) for one in among))
        case _:
            return Opaque()


def _asked_by_name(world: Lookups, node: ast.Call, place: Place) -> Value | None:
    """See through a wrapper that imports by name: ``lazy("package.module", "name")`` or ``lazy("package.module")``."""
    words = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if not words or len(words) != len(node.args) or not all(part.isidentifier() for part in words[0].split(".")):
        return None
    module = world.module_value(words[0], place, lazy=True)
    match words:
        case [_, attr] if isinstance(module, ModuleValue) and attr.isidentifier():
            return world.name(words[0], attr, lazy=True)
        case [name] if isinstance(module, ModuleValue) or (isinstance(module, Absent) and "." in name):
            return module
        case [name, _] if isinstance(module, Absent) and "." in name:
            return module
        case _:
            return None


def annotated(  # noqa: PLR0911  (one answer a kind of annotation)
    world: Lookups, of: Definition | ast.expr, scope: Scope
) -> Value:
    """Say what an annotation, or a function's return annotation, promises."""
    if isinstance(of, Definition):
        returns = of.node.returns if isinstance(of.node, ast.FunctionDef) else None
        generator = any(last_name(one).endswith("contextmanager") for one in of.node.decorator_list)
        around = scope.around or scope  # Python evaluates it where the function is defined
        return annotated(world, returns, around) if returns is not None and not generator else Opaque()
    match of:
        case ast.Constant(value=str() as text):
            return _quoted(world, text, scope)
        case ast.Constant(value=None):
            return Nothing()
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _either(world, (left, right), scope)
        case ast.Subscript(value=value, slice=inner) if last_name(value) in _OPTIONAL:
            return _either(world, tuple(inner.elts) if isinstance(inner, ast.Tuple) else (inner,), scope)
        case ast.Name() | ast.Attribute():
            return _class_of(world, of, scope)
        case _:
            return Opaque()


def _quoted(world: Lookups, text: str, scope: Scope) -> Value:
    try:
        return annotated(world, ast.parse(text.strip(), mode="eval").body, scope)
    except SyntaxError:
        return Opaque()


def _either(world: Lookups, parts: tuple[ast.expr, ...], scope: Scope) -> Value:
    return choice(tuple(annotated(world, one, scope) for one in parts))


def _class_of(world: Lookups, node: ast.expr, scope: Scope) -> Value:
    match value_of(world, scope, node):
        case ClassValue(definition=definition):
            return Instance(definition)
        case Choice(among=among) if classes := [one for one in among if isinstance(one, ClassValue)]:
            return choice(tuple(Instance(one.definition) for one in classes))
        case Opaque(outside=outside) if outside:
            return Opaque(outside)
        case Choice(among=among) if known := [one for one in among if isinstance(one, Opaque) and one.outside]:
            return known[0]
        case _:
            return _alias(world, node, scope)


def _alias(world: Lookups, node: ast.expr, scope: Scope) -> Value:
    """Follow a name that is a union of types: ``Tokenizer = Union[A, B]``."""
    if not isinstance(node, ast.Name):
        return Opaque()
    at = scope.binder(node.id)
    for value in (one.value for one in at.names.found.get(node.id, ())) if at else ():
        if isinstance(value, ast.Subscript | ast.BinOp) and at:
            return annotated(world, value, at)
    return Opaque()
