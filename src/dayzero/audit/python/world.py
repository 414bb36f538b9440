"""Look names up in modules and classes as Python would: re-exports, star imports, submodules, base classes."""

import ast
import builtins
import enum
import re
from collections.abc import Iterator, Mapping

from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.assigned import Assigned
from dayzero.audit.python.bindings import DEFINERS, Binding
from dayzero.audit.python.classes import EMPTY_BASES, doubt, members
from dayzero.audit.python.evaluate import annotated, value_of
from dayzero.audit.python.heirs import Heirs
from dayzero.audit.python.rests import Kept, Rests
from dayzero.audit.python.scope import Names, Scope, assigned_to_self, module_scope
from dayzero.audit.python.values import (
    Absent,
    Choice,
    ClassValue,
    FunctionValue,
    Instance,
    ModuleValue,
    Opaque,
    Value,
    choice,
)
from dayzero.audit.python_source import Definition, Module, import_source, last_name, statements_of
from dayzero.core.verdict import Place

_MOST_BASES = 16
_MOST_BINDINGS = 8
_FILLS_ITSELF = re.compile(rb"sys\.modules\[|globals\(\)|\bvars\(\)")
_LOADS_ITSELF = re.compile(rb"sys\.modules\[|sys\.meta_path|__path__\s*=|__path__\.")
_HANDS_ON = re.compile(rb"\bglobal ([\w, ]+)")
_UNBOUND = {"staticmethod"}
_READ = {"property", "cached_property"}


class World:
    """The modules of a set of distributions, and what their names stand for. Every answer is kept.

    Args:
        python: The modules.
        askers: Top-level packages whose modules are looked into only where they speak of the others; what the rest of
            their modules holds stays unknown, so that most of a large engine need not be parsed.
        speaking: Those modules.
    """

    def __init__(self, python: PythonFiles, askers: frozenset[str], speaking: frozenset[str]) -> None:
        self.python = python
        self._askers = askers
        self._speaking = speaking
        self._doubts: dict[tuple[str, str], str] = {}
        self._scopes: dict[str, Scope | None] = {}
        self.rests = Rests(python.packages.keys() - askers)
        self._answers: Kept[tuple[str, str], Value] = {}
        self._members: Kept[tuple[str, str, str], Value] = {}
        self._selves: dict[tuple[str, str], Mapping[str, tuple[tuple[ast.expr | None, Scope], ...]]] = {}
        self._heirs = Heirs(python)
        self._assigned = Assigned(python, askers)
        self._native = python.native

    def own(self, value: Value) -> bool:
        """Say whether a value is the asker's own, from a module that does not speak of the others."""
        return isinstance(value, Opaque) and value.outside.split(".", 1)[0] in self._askers

    def scope(self, module: str) -> Scope | None:
        """Give a module's scope; ``None`` where it is not there or cannot be parsed."""
        self.rests.asks(module)
        if module not in self._scopes:
            silent = module.split(".", 1)[0] in self._askers and module not in self._speaking
            parsed = None if silent or module not in self.python.modules else self.python.parsed(module)
            self._scopes[module] = module_scope(parsed) if isinstance(parsed, Module) else None
        return self._scopes[module]

    def settle(self) -> None:
        """Let go of the syntax of functions that were walked: at a time when nobody walks one."""
        for name in self.python.fold():
            scope = self._scopes.get(name)
            if scope is not None:
                scope.forget()

    def module_value(self, name: str, place: Place, *, lazy: bool = False) -> Value:
        """Say whether a module is there."""
        self.rests.asks(name)
        if name in self.python.modules or name in self._native:
            return ModuleValue(name)
        top = name.split(".", 1)[0]
        if top not in self.python.packages:
            return Opaque(outside=name)
        parent = name.rpartition(".")[0]
        if any(self._finds_its_own(one) for one in _above(name)):
            return Opaque()
        if parent in self._native and parent not in self.python.modules:
            return ModuleValue(name) if self._is_folder(parent) else Opaque()
        return Absent(kind="module", owner=parent or top, name=name, place=self._file(parent, place), lazy=lazy)

    def name(self, module: str, name: str, *, lazy: bool = False) -> Value:
        """Say what a module's name stands for."""
        # What is asked again while it is answered is circular.
        found = self.rests.keep(self._answers, (module, name), Opaque(), lambda: self._look_up(module, name))
        if lazy and isinstance(found, Absent):
            return Absent(kind=found.kind, owner=found.owner, name=found.name, place=found.place, lazy=True)
        return found

    def in_scope(self, scope: Scope, name: str) -> Value:
        """Say what a name stands for where it is written."""
        at: Scope | None = scope
        while at is not None and at.node is not None:
            if not isinstance(at.node, ast.ClassDef) or at is scope:
                found = self._local(at, name)
                if found is not None:
                    return found
            at = at.around
        if name in vars(builtins) and name not in self._module_names(scope.module.name):
            return Opaque(outside="builtins")
        return self.name(scope.module.name, name)

    def _local(self, scope: Scope, name: str) -> Value | None:
        return self.rests.keep(scope.names.answers, name, Opaque(), lambda: self._bound(scope, name))

    def _bound(self, scope: Scope, name: str) -> Value | None:
        bound = scope.names.found.get(name, ())
        parameter = scope.names.parameter(name)
        if not bound and parameter is None:
            return None
        given = (self._parameter_value(parameter, scope, name),) if parameter else ()
        return choice((*given, *(self._one(one, scope) for one in bound[-_MOST_BINDINGS:])))

    def attribute(self, value: Value, name: str) -> Value:
        """Say what an attribute of a value is."""
        match value:
            case ModuleValue(name=module):
                return Opaque() if _implicit(name) else self.name(module, name)
            case ClassValue(definition=definition) if not _implicit(name):
                return self.member(definition, name, instance=False)
            case Instance(definition=definition, exact=exact) if not _implicit(name):
                found = self.member(definition, name, instance=True)
                derived = isinstance(found, Absent) and not exact and self._may_derive(definition, name)
                return Opaque() if derived else found
            case Choice(among=among):
                return choice(tuple(self.attribute(one, name) for one in among))
            case _:
                return Opaque()

    def member(self, definition: Definition, name: str, *, instance: bool) -> Value:
        """Say what a class or its objects have under a name."""
        key = (definition.module.name, definition.qualname, name)
        found = self.rests.keep(self._members, key, Opaque(), lambda: self._find_member(definition, name))
        if isinstance(found, FunctionValue):
            names = {last_name(one) for one in found.definition.node.decorator_list}
            if names & _READ:
                return annotated(self, found.definition, self.scope_of(found.definition))
            bound = ("classmethod" in names or instance) and not names & _UNBOUND
            return FunctionValue(found.definition, bound)
        return found

    def scope_of(self, definition: Definition) -> Scope:
        """Give the scope that a definition makes."""
        scope = self.scope(definition.module.name) or Scope(definition.module, None, None, Names([]))
        for name in definition.qualname.split(".")[:-1]:
            around = next((one for one in scope.names.found.get(name, ()) if isinstance(one.statement, DEFINERS)), None)
            if around is None or not isinstance(around.statement, DEFINERS):
                break
            scope = scope.inner(around.statement)
        return scope.inner(definition.node)

    def bases(self, definition: Definition) -> Iterator[tuple[ast.expr, Value]]:
        """Give each base class of a class."""
        scope = self.scope(definition.module.name)
        if scope and isinstance(definition.node, ast.ClassDef):
            for base in definition.node.bases:
                inner: ast.expr = base.value if isinstance(base, ast.Subscript) else base
                yield inner, value_of(self, scope, inner)

    def self_values(self, definition: Definition) -> Mapping[str, tuple[tuple[ast.expr | None, Scope], ...]]:
        """Give what the methods of a class assign to ``self``: each expression, and the scope it stands in."""
        key = (definition.module.name, definition.qualname)
        if key not in self._selves:
            self._selves[key] = assigned_to_self(self.scope_of(definition))
        return self._selves[key]

    def spelled(self, module: str, word: str) -> bool:
        """Say whether any file of the module's distribution holds the word."""
        self.rests.asks(module)
        top = module.split(".", 1)[0]
        return any(True for _ in self.python.holding(word.encode(), below=top))

    def sets_later(self, module: str, name: str) -> bool:
        """Say whether a function of a module sets one of its names while it runs."""
        handed_on = _HANDS_ON.findall(self.python.read(module))
        return any(name.encode() in re.split(rb"[, ]+", one) for one in handed_on)

    def _may_derive(self, definition: Definition, name: str) -> bool:
        """Say whether an object of a class may be of a derived one that has more: one of its library's, or of an asker's."""
        module, last = definition.module.name, definition.qualname.rpartition(".")[2]
        return self.spelled(module, name) or self._heirs.may_be(last, module.split(".", 1)[0], self._askers)

    def _file(self, module: str, place: Place) -> Place:
        while module and module not in self.python.modules:
            module = module.rpartition(".")[0]
        return self.python.modules[module].place if module else place

    def _finds_its_own(self, module: str) -> bool:
        return module in self.python.modules and bool(_LOADS_ITSELF.search(self.python.read(module)))

    def _is_folder(self, module: str) -> bool:
        return any(name.startswith(f"{module}.") for name in self.python.modules)

    def _module_names(self, module: str) -> Mapping[str, tuple[Binding, ...]]:
        scope = self.scope(module)
        return scope.names.found if scope else {}

    def _look_up(self, module: str, name: str) -> Value:
        submodule = f"{module}.{name}"
        scope = self.scope(module)
        if scope is None:
            known = submodule in self.python.modules or submodule in self._native
            return ModuleValue(submodule) if known else Opaque(outside=module)
        if name in scope.names.found:
            found = self._all(scope.names.found[name], scope)
            if not (isinstance(found, Absent) and (submodule in self.python.modules or submodule in self._native)):
                return found
        if submodule in self.python.modules or submodule in self._native:
            return ModuleValue(submodule)
        for star in scope.names.found.get("*", ()):
            source = _source(star.statement, scope.module)
            self.rests.asks(source)
            found = self.name(source, name) if source in self.python.modules else Opaque()
            if not isinstance(found, Absent):
                return found
        return self._absent(scope, name)

    def _absent(self, scope: Scope, name: str) -> Value:
        if _implicit(name):
            return Opaque()
        module = scope.module
        if _FILLS_ITSELF.search(self.python.read(module.name)) or self.sets_later(module.name, name):
            return Opaque()
        for lazy in scope.names.found.get("__getattr__", ()):
            if not _refuses(lazy.statement) or self.spelled(module.name, name):
                return Opaque()
        return Absent(kind="name", owner=module.name, name=name, place=module.whole())

    def _all(self, found: tuple[Binding, ...], scope: Scope) -> Value:
        return choice(tuple(self._one(binding, scope) for binding in found[-_MOST_BINDINGS:]))

    def _one(self, binding: Binding, scope: Scope) -> Value:
        match binding.statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                return FunctionValue(_definition(scope, node))
            case ast.ClassDef() as node:
                return ClassValue(_definition(scope, node))
            case ast.Import() as node:
                return self._imported(binding.name, node, scope.module)
            case ast.ImportFrom(names=names) as node:
                original = next((one.name for one in names if (one.asname or one.name) == binding.name), binding.name)
                return self.imported_from(_source(node, scope.module), original, scope.module.place(node.lineno))
            case ast.AnnAssign(annotation=annotation, value=value):
                return choice((annotated(self, annotation, scope), *((value_of(self, scope, value),) if value else ())))
            case _:
                value = binding.value
                return value_of(self, scope, value) if value is not None else Opaque()

    def imported_from(self, source: str, name: str, place: Place) -> Value:
        """Say what ``from source import name`` gives."""
        whole = self.module_value(source, place)
        return self.name(source, name) if isinstance(whole, ModuleValue) else whole

    def _imported(self, bound: str, node: ast.Import, module: Module) -> Value:
        for alias in node.names:
            if alias.asname == bound:
                return self.module_value(alias.name, module.place(node.lineno))
        return self.module_value(bound, module.place(node.lineno))

    def _parameter_value(self, parameter: ast.arg, scope: Scope, name: str) -> Value:
        function = scope.function
        outer = scope.around
        if function and outer and isinstance(outer.node, ast.ClassDef):
            first = (*function.args.posonlyargs, *function.args.args)[:1]
            static = any(last_name(one) in _UNBOUND for one in function.decorator_list)
            if first and first[0].arg == name and not static and (owner := outer.definition()):
                return ClassValue(owner) if name in {"cls", "mcs"} else Instance(owner)
        if parameter.annotation is None:
            return Opaque()
        return annotated(self, parameter.annotation, outer or scope)

    def _find_member(self, definition: Definition, name: str) -> Value:
        own = definition.module.name.split(".", 1)[0] in self._askers
        unclear, waiting, seen = own, [definition], list[Definition]()
        while waiting and len(seen) < _MOST_BASES:
            one = waiting.pop(0)
            seen.append(one)
            found = self._own_member(one, name)
            if found is not None:
                return found
            for expression, base in self.bases(one):
                if isinstance(base, ClassValue):
                    waiting.append(base.definition)
                else:
                    unclear = unclear or bool(_outside(last_name(expression), name))
        if unclear or waiting or self._doubtful(seen, name) or self._given(seen, name):
            return Opaque()
        kind = "member" if _is_enum(self, definition) else "attribute"
        owner = f"{definition.module.name}.{definition.qualname}"
        return Absent(kind=kind, owner=owner, name=name, place=definition.place())

    def _given(self, classes: list[Definition], name: str) -> bool:
        return self._assigned.holds(name, [one.qualname.rpartition(".")[2] for one in classes])

    def _doubtful(self, classes: list[Definition], name: str) -> bool:
        """Say whether a class may have more than its text shows.

        Where a ``__getattr__`` can give up and no file of the distribution spells the name, nothing there brings it.
        """
        if not any(self._doubt(one) for one in classes):
            return False
        refusing = any(
            _refuses(child) for one in classes if isinstance(one.node, ast.ClassDef) for child in one.node.body
        )
        return not refusing or self.spelled(classes[0].module.name, name)

    def _doubt(self, one: Definition) -> str:
        key = (one.module.name, one.qualname)
        if key not in self._doubts:
            node = one.node
            names = {bound for _, bound in members(node)} if isinstance(node, ast.ClassDef) else set()
            self._doubts[key] = doubt(node, names) if isinstance(node, ast.ClassDef) else "is no class"
        return self._doubts[key]

    def _own_member(self, one: Definition, name: str) -> Value | None:
        scope = self.scope_of(one)
        if name in scope.names.found:
            return self._all(scope.names.found[name], scope) if name != "_" else Opaque()
        assigned = self.self_values(one).get(name)
        if assigned:
            values = (
                value_of(self, at, value) if value is not None else Opaque() for value, at in assigned[:_MOST_BINDINGS]
            )
            return choice(tuple(values))
        return None


def _is_enum(world: World, definition: Definition) -> bool:
    return any(last_name(one) in vars(enum) for one, _ in world.bases(definition))


def _outside(base: str, name: str) -> str:
    if base in EMPTY_BASES:
        return ""
    own = getattr(builtins, base, None) or getattr(enum, base, None)
    if isinstance(own, type):
        return "has it" if any(name in vars(one) for one in own.__mro__) else ""
    return f"inherits from {base or 'an expression'}"


def _definition(scope: Scope, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Definition:
    qualname = f"{scope.qualname}.{node.name}" if scope.node else node.name
    return Definition(module=scope.module, qualname=qualname, node=node)


def _source(node: ast.stmt, module: Module) -> str:
    return import_source(node, module) if isinstance(node, ast.ImportFrom) else ""


def _above(name: str) -> Iterator[str]:
    parent = name.rpartition(".")[0]
    while parent:
        yield parent
        parent = parent.rpartition(".")[0]


def _implicit(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _refuses(node: ast.stmt) -> bool:
    """Say whether this is a ``__getattr__`` that can give up: then it answers only for names that something spells."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return last_name(node.value).strip("_") == "attach"  # as lazy_loader has it: from a table that is written out
    if not isinstance(node, ast.FunctionDef) or node.name != "__getattr__":
        return False
    raised = (one.exc for one in statements_of(node) if isinstance(one, ast.Raise) and one.exc is not None)
    return any(last_name(one) == "AttributeError" for one in raised)
