"""Where a name is looked up: the functions around it from the inside out, then its module."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dayzero.audit.folded import Text
from dayzero.audit.python.bindings import FUNCTIONS, Binding, Definer, Function, by_name
from dayzero.audit.python.bound import assigned, declared
from dayzero.audit.python.rests import Kept
from dayzero.audit.python.values import Value
from dayzero.audit.python_source import Definition, Module, statements_of


class Names:
    """What one body binds; worked out when it is first asked for, with what was answered about it since.

    Args:
        body: The statements.
        definer: The function or class whose body it is; ``None`` for a module.
        text: The file's text, where that is at hand: what holds no ``:=`` need not be searched for one.
    """

    def __init__(self, body: list[ast.stmt], definer: Definer | None = None, text: Text | None = None) -> None:
        self._body = body
        self._definer = definer
        self._text = text
        self.answers: Kept[str, Value | None] = {}
        self.inside: dict[int, Scope] = {}

    @cached_property
    def found(self) -> dict[str, tuple[Binding, ...]]:
        """Each name and the statements that bind it."""
        return dict(by_name(self._body, self._definer, walrus=self._may_hold_walrus()))

    def _may_hold_walrus(self) -> bool:
        own, text = self._definer, self._text
        if text is None:
            return True
        return b":=" in (text.content if own is None else text.lines(own.lineno, own.end_lineno or own.lineno))

    def parameter(self, name: str) -> ast.arg | None:
        """Give the parameter of that name."""
        if not isinstance(self._definer, FUNCTIONS):
            return None
        args = self._definer.args
        every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        return next((one for one in every if one is not None and one.arg == name), None)

    def given(self, name: str) -> tuple[Binding, ...]:
        """Give the statements one of which gave a name its value, if anybody reads it; none where the caller may have given it."""
        found = tuple(one for one in self.found.get(name, ()) if not one.declares)
        passed = self.parameter(name) is not None and not any(one.always for one in found)
        return () if passed else found

    def single(self, name: str) -> Binding | None:
        """Give the one statement that gives a name its value; ``None`` where several do, or the caller may."""
        found = self.given(name)
        return found[0] if len(found) == 1 and self.parameter(name) is None else None


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A module, or a function or class in it, with what is around it.

    Attributes:
        module: The file.
        node: The function or class; ``None`` for the module itself.
        around: What is around it.
        names: What its own body binds.
    """

    module: Module
    node: Definer | None
    around: "Scope | None"
    names: Names = field(repr=False)

    def inner(self, node: Definer) -> "Scope":
        """Step into a function or class that stands in this scope."""
        inside = self.names.inside
        if id(node) not in inside:
            inside[id(node)] = Scope(self.module, node, self, Names(node.body, node, self.module.text))
        return inside[id(node)]

    def forget(self) -> None:
        """Let go of the functions in it, those of its classes too; they are stepped into anew where they are asked for."""
        inside = self.names.inside
        for key, inner in tuple(inside.items()):
            if inner.function is None:
                inner.forget()
            else:
                del inside[key]

    @property
    def function(self) -> Function | None:
        """The function that this is."""
        return self.node if isinstance(self.node, FUNCTIONS) else None

    @property
    def owner(self) -> "Scope | None":
        """The nearest class around or at it."""
        scope: Scope | None = self
        while scope and not isinstance(scope.node, ast.ClassDef):
            scope = scope.around
        return scope

    @property
    def qualname(self) -> str:
        """Its dotted name inside the module; ``""`` for the module."""
        if self.node is None or self.around is None:
            return ""
        outer = self.around.qualname
        return f"{outer}.{self.node.name}" if outer else self.node.name

    def binder(self, name: str) -> "Scope | None":
        """Find the scope that binds a name that is read here, if one does; what a class binds, its methods do not see."""
        at: Scope | None = self
        while at is not None:
            seen = at is self or not isinstance(at.node, ast.ClassDef)
            if seen and (name in at.names.found or at.names.parameter(name) is not None):
                return at
            at = at.around
        return None

    def definition(self) -> Definition | None:
        """Give it as a definition; ``None`` for the module."""
        return Definition(module=self.module, qualname=self.qualname, node=self.node) if self.node else None


def module_scope(module: Module) -> Scope:
    """Give the scope that a module makes."""
    return Scope(module, None, None, Names(module.tree.body, text=module.text))


def assigned_to_self(scope: Scope) -> Mapping[str, tuple[tuple[ast.expr | None, Scope], ...]]:
    """Give what the methods of a class assign to ``self``: each expression, ``None`` where its text shows none, and its scope."""
    found: dict[str, list[tuple[ast.expr | None, Scope]]] = {}
    body = scope.node.body if scope.node else []
    for method in (child for child in body if isinstance(child, FUNCTIONS)):
        inner = scope.inner(method)
        for node in statements_of(method):
            only = declared(node)
            for target, value in assigned(node) if only is None else ((only, None),):
                match target:
                    case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                        found.setdefault(name, []).append((value, inner))
                    case _:
                        continue
    return {name: tuple(group) for name, group in found.items()}
