"""Names, attributes and calls of an engine's own code: what a module binds, what a class inherits, what a call gives."""

import ast
from abc import abstractmethod
from collections.abc import Mapping

from dayzero.audit.python_source import Module, import_source, last_name
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.expressions import Expressions, Frame, shown
from dayzero.engines.vllm.capabilities.names import Binding
from dayzero.engines.vllm.capabilities.program import Constant, Program
from dayzero.engines.vllm.capabilities.values import (
    Bound,
    External,
    Function,
    Instance,
    Klass,
    Member,
    ModuleRef,
    RaisedError,
    Super,
    Unknown,
)

_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset({"lower", "upper", "startswith", "endswith", "split", "rsplit", "replace", "strip", "join", "removeprefix",
                    "removesuffix", "partition", "rpartition", "isdigit", "format", "find"}),
    list: frozenset({"append", "extend", "insert", "index", "count", "copy", "remove", "pop", "clear", "reverse"}),
    tuple: frozenset({"index", "count"}),
    dict: frozenset({"get", "items", "keys", "values", "copy", "update", "setdefault", "pop", "clear"}),
    int: frozenset({"bit_length"}),
}  # fmt: skip
ABSENT = object()


class Objects(Expressions):
    """Resolves names, attributes and calls over a program.

    Attributes:
        probes: What ``hasattr`` was asked about a class and is not there, and where the class stands.
        granted: What ``hasattr`` is to find all the same: to learn what its absence costs.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tries: dict[tuple[str, int], bool] = {}
        self._values: dict[tuple[str, str], object] = {}
        self.probes: dict[tuple[str, str], Place] = {}
        self.granted: frozenset[tuple[str, str]] = frozenset()

    @abstractmethod
    def run(self, function: Function, args: tuple[object, ...], kwargs: Mapping[str, object], first: object) -> object:
        """Run a function of the files."""

    @abstractmethod
    def builtin(self, name: str, frame: Frame) -> object:
        """Give what a name of Python's own stands for."""

    @abstractmethod
    def holds(self, binding: Binding, module: Module) -> bool | None:
        """Say whether a statement of a module runs."""

    def name(self, name: str, frame: Frame) -> object:
        """Give what a name stands for: a local, a name of the module, one of Python's own."""
        if name in frame.names:
            return frame.names[name]
        if name == "TYPE_CHECKING":
            return False
        found = self._module_name(frame.module, name)
        if found is not ABSENT:
            return found
        return self.builtin(name, frame)

    def _module_name(self, module: Module, name: str) -> object:
        key = (module.name, name)
        if key not in self._values:
            self._values[key] = Unknown(f"{module.name}.{name} depends on itself")
            self._values[key] = self._bound(module, name)
        return self._values[key]

    def _bound(self, module: Module, name: str) -> object:
        fact = self.program.facts.get(f"{module.name}:{name}")
        if fact is not None:
            return fact.value if isinstance(fact, Constant) else fact
        doubt: object = ABSENT
        for binding in reversed(self.program.names(module).bindings.get(name, ())):
            holds = self.holds(binding, module)
            if holds:
                return self._statement(binding.node, module, name)
            if holds is None and doubt is ABSENT:
                doubt = Unknown(f"which {name} {module.file} binds")
        if doubt is not ABSENT:
            return doubt
        for star in self.program.names(module).stars:
            target = self.program.module(star)
            found = self._module_name(target, name) if target else ABSENT
            if found is not ABSENT:
                return found
        return ABSENT

    def _statement(self, node: ast.stmt, module: Module, name: str) -> object:
        frame = Frame(module)
        match node:
            case ast.FunctionDef():
                return Function(module, node)
            case ast.ClassDef():
                return Klass(module, node)
            case ast.Import(names=names):
                one = next(each for each in names if (each.asname or each.name.split(".")[0]) == name)
                return self.program.imported(one.name if one.asname else name)
            case ast.ImportFrom(names=names):
                real = next(each.name for each in names if (each.asname or each.name) == name)
                return self.from_module(import_source(node, module), real)
            case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self.evaluate(value, frame)
            case _:
                return Unknown(f"{module.file}:{node.lineno} binds {name} in a way that is not followed")

    def from_module(self, source: str, name: str) -> object:
        """Import a name from a module.

        Raises:
            RaisedError: The module is there and lacks the name.
        """
        fact = self.program.facts.get(f"{source}:{name}") or self.program.facts.get(f"{source}.{name}")
        if fact is not None:
            return fact.value if isinstance(fact, Constant) else fact
        target = self.program.imported(source)
        if not isinstance(target, ModuleRef):
            return External(f"{source}.{name}")
        found = self._of_module(target, name)
        if found is ABSENT:
            raise RaisedError(ImportError(f"cannot import name {name!r} from {source!r}"))
        return found

    def _of_module(self, module: ModuleRef, name: str) -> object:
        source = self.program.module(module.name)
        if source is None:
            return External(f"{module.name}.{name}")
        found = self._module_name(source, name)
        if found is not ABSENT:
            return found
        if self.program.exists(f"{module.name}.{name}"):
            return self.program.imported(f"{module.name}.{name}")
        lazy = self._module_name(source, "__getattr__")
        if isinstance(lazy, Function):
            return self.run(lazy, (name,), {}, None)
        return {"__name__": module.name, "__file__": source.file}.get(name, ABSENT)

    def attribute(self, owner: object, name: str) -> object:
        """Give an attribute of a known value.

        Raises:
            RaisedError: It has none of that name.
        """
        fact = self.program.facts.get(f"{owner.name}.{name}") if isinstance(owner, External | ModuleRef) else None
        if fact is not None:
            return fact.value if isinstance(fact, Constant) else fact
        found = self.found(owner, name)
        if found is ABSENT:
            raise RaisedError(AttributeError(f"{shown(owner)} has no attribute {name!r}"))
        return found

    def found(self, owner: object, name: str) -> object:  # noqa: PLR0911  (one return a kind)
        """Give an attribute of a known value, ``ABSENT`` where it has none of that name."""
        match owner:
            case External(name=outer):
                return External(f"{outer}.{name}")
            case ModuleRef():
                return self._of_module(owner, name)
            case Klass():
                return self.of_class(owner, name, owner)
            case Super(owner=klass, receiver=receiver):
                return self.of_class(class_of(receiver), name, receiver, after=klass)
            case Instance(fields=fields) if name in fields:
                return fields[name]
            case Instance(klass=klass, whole=whole):
                found = self._of_instance(owner, klass, name)
                return found if whole or found is not ABSENT else Unknown(f"{name} of the engine's configuration")
            case Member(klass=klass):
                return self._of_member(owner, klass, name)
            case BaseException() | Function() | Bound():
                return Unknown(f"{name} of {shown(owner)}")
            case _:
                return self._of_plain(owner, name)

    def _of_plain(self, owner: object, name: str) -> object:
        for kind, names in _METHODS.items():
            if isinstance(owner, kind) and name in names:
                return getattr(owner, name)
        if isinstance(owner, list):
            owner[:] = [Unknown(f"{name} of a list")]
        return Unknown(f"{name} of {shown(owner)}")

    def _of_instance(self, owner: Instance, klass: Klass | None, name: str) -> object:
        if klass is None:
            return ABSENT
        if owner.ordered and name == "_asdict":
            return lambda: dict(owner.fields)
        if name == "__class__":
            return klass
        return self.of_class(klass, name, owner)

    def _of_member(self, owner: Member, klass: Klass, name: str) -> object:
        if name in {"name", "value", "_value_"}:
            return owner.name if name == "name" else owner.value
        return self.of_class(klass, name, owner)

    def of_class(self, klass: Klass | None, name: str, receiver: object, after: Klass | None = None) -> object:
        """Look a name up in a class's order, after one of its classes for ``super()``."""
        if klass is None:
            return Unknown(f"{name} of a value without a class")
        if name in {"__name__", "__qualname__", "__module__"}:
            return klass.module.name if name == "__module__" else klass.node.name
        order = self.program.order(klass)
        outside = None
        for one in order[order.index(after) + 1 if after in order else 0 :]:
            if not isinstance(one, Klass):
                outside = outside or (None if one.name in _PLAIN_BASES else one)
                continue
            found = self.own(one, name, receiver)
            if found is not ABSENT:
                return found
        return Unknown(f"{name} of {outside.name}") if outside else ABSENT

    def own(self, klass: Klass, name: str, receiver: object) -> object:
        """Look a name up in one class alone."""
        fact = self.program.facts.get(f"{klass.module.name}:{klass.node.name}.{name}")
        if fact is not None:
            return fact.value if isinstance(fact, Constant) else fact
        for node in reversed(klass.node.body):
            match node:
                case ast.FunctionDef(name=own) if own == name:
                    return self._method(klass, node, receiver)
                case ast.Assign(targets=[ast.Name(id=own)], value=value) if own == name:
                    return self._class_value(klass, name, value)
                case ast.AnnAssign(target=ast.Name(id=own), value=ast.expr() as value) if own == name:
                    return self._class_value(klass, name, value)
                case _:
                    continue
        return self._added(klass, name)

    def _added(self, klass: Klass, name: str) -> object:
        """Look for a class attribute that the module sets after the class (``GroupShape.PER_TOKEN = ...``)."""
        for node in klass.module.tree.body:
            match node:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own), attr=attr)], value=value) if (
                    attr == name
                ):
                    if own == klass.node.name:
                        return self.evaluate(value, Frame(klass.module))
                case _:
                    continue
        return ABSENT

    def _class_value(self, klass: Klass, name: str, value: ast.expr) -> object:
        frame = Frame(klass.module, {}, klass)
        kind = self.program.enumeration(klass)
        if not kind:
            return self.evaluate(value, frame)
        if isinstance(value, ast.Name) and self.own(klass, value.id, klass) is not ABSENT:
            return self.own(klass, value.id, klass)
        known = name.lower() if last_name(value) == "auto" else self.evaluate(value, frame)
        return self._first_member(klass, name, known, plain_kind=kind in {"StrEnum", "IntEnum", "IntFlag"})

    def _first_member(self, klass: Klass, name: str, value: object, *, plain_kind: bool) -> Member:
        """Give the member; a second name for a value is the first one's alias."""
        for node in klass.node.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=own)], value=ast.Constant(value=known)) if known == value:
                    return Member(klass, own, value, plain_kind)
                case _:
                    continue
        return Member(klass, name, value, plain_kind)

    def _method(self, klass: Klass, node: ast.FunctionDef, receiver: object) -> object:
        kinds = {last_name(one) for one in node.decorator_list}
        function = Function(klass.module, node, klass)
        if "staticmethod" in kinds:
            return function
        if "classmethod" in kinds:
            return Bound(function, receiver if isinstance(receiver, Klass) else class_of(receiver))
        if isinstance(receiver, Klass):
            return function
        if kinds & {"property", "cached_property"}:
            return self.run(Function(klass.module, _undecorated(node), klass), (receiver,), {}, receiver)
        return Bound(function, receiver)


_PLAIN_BASES = {"ABC", "abc.ABC", "object", "Generic", "Protocol", "Enum", "enum.Enum", "StrEnum", "IntEnum", "str", "int",
                "NamedTuple", "typing.Generic", "typing.Protocol", "typing.NamedTuple", "enum.IntEnum", "enum.StrEnum"}  # fmt: skip


def class_of(value: object) -> Klass | None:
    """Give the class of a value of the files; of a class, itself."""
    match value:
        case Klass():
            return value
        case Instance(klass=klass) | Member(klass=klass):
            return klass
        case _:
            return None


def _undecorated(node: ast.FunctionDef) -> ast.FunctionDef:
    kept = [one for one in node.decorator_list if last_name(one) not in {"property", "cached_property"}]
    made = ast.FunctionDef(name=node.name, args=node.args, body=node.body, decorator_list=kept, returns=node.returns)
    return ast.copy_location(made, node)
