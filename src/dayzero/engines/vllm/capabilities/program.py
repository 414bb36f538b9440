"""The files of an engine and its libraries as one program: modules, their names, classes and attributes, none imported.

What the machine it would run on decides (the GPU, the environment, the configuration) comes in as ``facts``.
"""

import ast
import enum
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.installed import PythonFiles, PythonModule
from dayzero.audit.python_source import Module, import_source, last_name
from dayzero.engines.vllm.capabilities.names import Names, names_of
from dayzero.engines.vllm.capabilities.values import External, Klass, ModuleRef, RaisedError

# What is called in place of a name's own code: the positional and the keyword arguments come in.
Fact: TypeAlias = Callable[[tuple[object, ...], Mapping[str, object]], object]
_ENUMS = {"Enum", "IntEnum", "StrEnum", "IntFlag", "Flag"}
_PLAIN_ENUMS = {"IntEnum", "StrEnum", "IntFlag"}
# Packages whose names are made by C code: what they hold is a fact of no file, so their files are not read here at all.
_COMPILED = frozenset({"torch"})


@dataclass(frozen=True, slots=True)
class Constant:
    """A fact that is a value and not a call."""

    value: object


class Program:
    """The modules, read on demand.

    Args:
        files: The Python files that are installed together.
        facts: By ``module:Class.name`` or dotted external name: what stands in place of the program's own code.
        unloadable: Modules whose import fails, each with what is said.
    """

    def __init__(
        self, files: PythonFiles, facts: dict[str, Fact | Constant], unloadable: Mapping[str, str] | None = None
    ) -> None:
        self._files = files
        self.unloadable = unloadable or {}
        self.facts = facts
        self._names: dict[str, Names] = {}
        self._orders: dict[Klass, tuple[Klass | External, ...]] = {}

    def listen(self, name: str, fact: Fact | None) -> None:
        """Put a fact in place of a function, or take it away."""
        self.facts.pop(name, None)
        if fact is not None:
            self.facts[name] = fact

    def module(self, name: str) -> Module | None:
        """Give a module of the files, ``None`` where they have none of that name or it cannot be parsed."""
        known = name in self._files.modules and name.split(".", maxsplit=1)[0] not in _COMPILED
        found = self._files.parsed(name) if known else None
        return found if isinstance(found, Module) else None

    @property
    def modules(self) -> Mapping[str, PythonModule]:
        """All modules of the files by name."""
        return self._files.modules

    def names(self, module: Module) -> Names:
        """Give what a module binds."""
        if module.name not in self._names:
            self._names[module.name] = names_of(module)
        return self._names[module.name]

    def exists(self, module: str) -> bool | None:
        """Say whether a module can be found: ``None`` where its distribution is not among the files."""
        top = module.split(".", maxsplit=1)[0]
        if top in _COMPILED:
            return None
        if module in self._files.modules or top in sys.stdlib_module_names:
            return True
        distribution = self._files.packages.get(top)
        if distribution is None:
            return None
        folder = module.replace(".", "/")
        return any(
            path.startswith((f"{folder}.", f"{folder}/")) and path.endswith((".so", ".py"))
            for path in distribution.files.names()
        )

    def imported(self, name: str) -> object:
        """Import a module by name.

        Raises:
            RaisedError: The distribution is there and has no such module, or the module cannot be loaded.
        """
        if name in self.unloadable:
            raise RaisedError(ImportError(self.unloadable[name]))
        if self.module(name) is not None:
            return ModuleRef(name)
        if self.exists(name) is False:
            raise RaisedError(ModuleNotFoundError(f"No module named {name!r}"))
        return External(name)

    def top_class(self, path: str) -> Klass | str:
        """Find a class by its dotted path, through no re-export; else say what is missing: ``module`` or ``class``."""
        name, _, last = path.rpartition(".")
        module = self.module(name)
        if module is None:
            return "module"
        nodes = [one.node for one in self.names(module).bindings.get(last, ())]
        found = next((node for node in nodes if isinstance(node, ast.ClassDef)), None)
        return Klass(module, found) if found is not None else "class"

    def origin(self, module: Module, name: str, depth: int = 12) -> Klass | External | None:
        """Find the class that a name of a module stands for, through imports and aliases; the conditions are not looked at."""
        nodes = [one.node for one in self.names(module).bindings.get(name, ())]
        for node in nodes:
            match node:
                case ast.ClassDef():
                    return Klass(module, node)
                case ast.ImportFrom(names=names) if depth:
                    source = import_source(node, module)
                    real = next(one.name for one in names if (one.asname or one.name) == name)
                    target = self.module(source)
                    return self.origin(target, real, depth - 1) if target else External(f"{source}.{real}")
                case ast.Assign(value=ast.Name(id=other)) if depth and other != name:
                    return self.origin(module, other, depth - 1)
                case _:
                    continue
        for star in self.names(module).stars:
            target = self.module(star)
            found = self.origin(target, name, depth - 1) if target and depth else None
            if found:
                return found
        return None

    def base(self, module: Module, node: ast.expr) -> Klass | External:
        """Find what a base class expression stands for."""
        match node:
            case ast.Name(id=name):
                return self.origin(module, name) or External(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                target = self._alias(module, owner)
                return (self.origin(target, name) if target else None) or External(f"{owner}.{name}")
            case ast.Subscript(value=inner):
                return self.base(module, inner)
            case _:
                return External(ast.unparse(node))

    def _alias(self, module: Module, name: str) -> Module | None:
        for binding in self.names(module).bindings.get(name, ()):
            match binding.node:
                case ast.Import(names=names):
                    return next((self.module(one.name) for one in names if (one.asname or one.name) == name), None)
                case ast.ImportFrom():
                    return self.module(f"{import_source(binding.node, module)}.{name}")
                case _:
                    continue
        return None

    def order(self, klass: Klass) -> tuple[Klass | External, ...]:
        """Give the method resolution order of a class: C3, or depth first where C3 has no answer."""
        if klass not in self._orders:
            self._orders[klass] = (klass,)  # of a class that inherits from itself
            bases = [self.base(klass.module, one) for one in klass.node.bases]
            lines: list[list[Klass | External]] = [
                list(self.order(one)) if isinstance(one, Klass) else [one] for one in bases
            ]
            self._orders[klass] = (klass, *_merged([*lines, list(bases)]))
        return self._orders[klass]

    def enumeration(self, klass: Klass) -> str:
        """Say which kind of enumeration a class is (``Enum``, ``StrEnum``), ``""`` for none."""
        kinds = {one.name.rpartition(".")[2] for one in self.order(klass) if isinstance(one, External)}
        if "str" in kinds and "Enum" in kinds:
            return "StrEnum"
        return next((kind for kind in (*_PLAIN_ENUMS, *_ENUMS) if kind in kinds and hasattr(enum, kind)), "")

    def fields(self, klass: Klass) -> tuple[ast.AnnAssign, ...] | None:
        """Give the fields of a named tuple or dataclass in order; ``None`` where the class is neither."""
        own = [one for one in self.order(klass) if isinstance(one, Klass)]
        kinds = {last_name(one) for each in own for one in (*each.node.bases, *each.node.decorator_list)}
        if not kinds & {"NamedTuple", "dataclass", "config"}:
            return None
        found: dict[str, ast.AnnAssign] = {}
        for one in reversed(own):
            for node in one.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not _of_class(node):
                    found[node.target.id] = node
        return tuple(found.values())

    def is_named_tuple(self, klass: Klass) -> bool:
        """Say whether a class is a named tuple."""
        return any(last_name(one) == "NamedTuple" for one in klass.node.bases)


def _of_class(node: ast.AnnAssign) -> bool:
    return last_name(node.annotation) == "ClassVar"


def _merged(lines: list[list[Klass | External]]) -> list[Klass | External]:
    order: list[Klass | External] = []
    waiting = [line for line in lines if line]
    while waiting:
        heads = [line[0] for line in waiting]
        good = next((one for one in heads if not any(one in line[1:] for line in waiting)), heads[0])
        order.append(good)
        waiting = [kept for line in waiting if (kept := [one for one in line if one != good])]
    return order
