"""Which attributes of its configuration does the making of a model read? Classes are followed from one ``__init__`` to the next."""

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.context import caught_by
from dayzero.audit.python_source import Module, class_at_top, import_source, last_name
from dayzero.core.verdict import Place

WHOLE, TEXT = "", "text"
_PLAIN = {"PretrainedConfig", "PreTrainedConfig"}
_HELD = {"hf_config": WHOLE, "hf_text_config": TEXT}
_CATCHES = {"AttributeError", "Exception", "BaseException"}
_MOST_CLASSES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read.

    Attributes:
        attribute: What is read.
        of: Class by which the configuration is annotated; :data:`WHOLE` or :data:`TEXT` for the model's own.
        place: Where.
        inside: The class that is made there.
        way: What may keep the making of the model from it.
    """

    attribute: str
    of: str
    place: Place
    inside: str
    way: "Way"


class Way(Enum):
    """What may keep the making of a model from a line."""

    ALWAYS = 0
    """Nothing."""
    IF = 1
    """A condition, without which nothing stands in its place."""
    ELSE = 2
    """A condition, and something else stands in its place; or it is not known that the line is reached at all."""

    def and_then(self, other: "Way") -> "Way":
        """Go on from one line to another."""
        return max(self, other, key=lambda one: one.value)


@dataclass(slots=True)
class ConfigurationReads:
    """Follows the making of a model.

    Args:
        python: The modules.
        below: The package that holds the engine's models: classes of other packages are not followed.
        classes: Names of configuration classes; a parameter that is annotated by one is such a configuration.
        registered: By an architecture's name: the module and the class that the engine has for it.
        found: What is read.
    """

    python: PythonFiles
    below: str
    classes: Collection[str]
    registered: Mapping[str, tuple[str, str]]
    found: list[Read] = field(default_factory=list)
    _seen: set[tuple[str, str, Way]] = field(default_factory=set)

    def of(self, module: str, name: str) -> tuple[Read, ...]:
        """Give what the making of a class of a module reads."""
        self._made(module, name, Way.ALWAYS)
        return tuple(self.found)

    def _made(self, module: str, name: str, way: Way) -> None:
        key = (module, name, way)
        if key in self._seen or len(self._seen) > _MOST_CLASSES or (module, name, Way.ALWAYS) in self._seen:
            return
        self._seen.add(key)
        parsed = self.python.parsed(module)
        node = class_at_top(parsed, name) if isinstance(parsed, Module) else None
        if node is None or not isinstance(parsed, Module):
            return
        start = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if start is None:
            for base in node.bases:
                self._referred(parsed, last_name(base), way)
            return
        _Walk(self, parsed, name, _parameters(start, self.classes)).block(start.body, way)

    def _referred(self, module: Module, name: str, way: Way) -> None:
        """Follow a class that is named, where it stands below the engine's models."""
        if class_at_top(module, name) is not None:
            self._made(module.name, name, way)
            return
        for node in module.tree.body:
            if isinstance(node, ast.ImportFrom):
                real = next((one.name for one in node.names if (one.asname or one.name) == name), "")
                source = import_source(node, module) if real else ""
                if source.startswith(f"{self.below}."):
                    self._made(source, real, way)
                    return

    def refer(self, module: Module, name: str, way: Way) -> None:
        """Follow a name that a walk comes by, where it is one of a class."""
        if name[:1].isupper() or name[:1] == "_":
            self._referred(module, name, way)

    def spell(self, name: str, way: Way) -> None:
        """Follow a text that a walk comes by, where it names an architecture."""
        if name in self.registered:
            self._made(*self.registered[name], way)


@dataclass(slots=True)
class _Walk:
    """Walks one ``__init__``."""

    reads: ConfigurationReads
    module: Module
    made: str
    names: dict[str, str]

    def block(self, body: list[ast.stmt], way: Way) -> None:
        for node in body:
            self._statement(node, way)
            if isinstance(node, ast.If) and (_returns(node.body) or _returns(node.orelse)):
                way = way.and_then(Way.ELSE)

    def _statement(self, node: ast.stmt, way: Way) -> None:
        match node:
            case ast.If(test=test, body=then, orelse=otherwise):
                self._expression(test, way)
                self._either(then, otherwise, way)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                if not caught_by(node)[0] & _CATCHES:
                    self.block(body, way)
                for handler in handlers:
                    self.block(handler.body, way.and_then(Way.ELSE))
                self.block([*orelse, *final], way.and_then(Way.ELSE))
            case ast.For(iter=listed, body=body) | ast.While(test=listed, body=body):
                self._expression(listed, way)
                self.block(body, way if isinstance(node, ast.For) else way.and_then(Way.IF))
            case ast.With(body=body):
                self.block(body, way)
            case ast.Assign(targets=targets, value=value):
                self._expression(value, way)
                self._assigned(targets, value)
            case ast.FunctionDef(body=body):
                self.block(body, way.and_then(Way.ELSE))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._expression(value, way)
                self._assigned([target], value)
            case _:
                self._parts(node, way)

    def _either(self, then: list[ast.stmt], otherwise: list[ast.stmt], way: Way) -> None:
        """Walk what a condition decides between: what is read in both is read in any case."""
        kept, found = way.and_then(Way.ELSE if otherwise else Way.IF), self.reads.found
        before = len(found)
        self.block(then, kept)
        between = len(found)
        self.block(otherwise, kept)
        first = {(one.of, one.attribute) for one in found[before:between]}
        found += [replace(one, way=way) for one in found[between:] if (one.of, one.attribute) in first]

    def _assigned(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Note which configuration a name stands for from here on; any other value takes that away."""
        held = _HELD.get(value.attr) if isinstance(value, ast.Attribute) else self.names.get(ast.unparse(value))
        for target in targets:
            if not isinstance(target, ast.Name | ast.Attribute):
                continue
            name = ast.unparse(target)
            if held is None:
                self.names.pop(name, None)
            else:
                self.names[name] = held

    def _parts(self, node: ast.AST, way: Way) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, way)
            elif isinstance(child, ast.stmt):
                self._statement(child, way)
            else:
                self._parts(child, way)

    def _expression(self, node: ast.expr, way: Way) -> None:
        match node:
            case ast.IfExp() | ast.BoolOp() | ast.ListComp() | ast.GeneratorExp():
                self._chosen(node, way)
            case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=name, ctx=ast.Load()):
                held = self.names.get(ast.unparse(owner))
                if held is not None:
                    place, inside = self.module.place(node.lineno), f"{self.module.name}.{self.made}"
                    self.reads.found.append(Read(attribute=name, of=held, place=place, inside=inside, way=way))
                else:
                    self._expression(owner, way)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                self.reads.refer(self.module, name, way)
                for one in (*args, *(each.value for each in keywords)):
                    self._expression(one, way)
            case ast.Name(id=name):
                self.reads.refer(self.module, name, way.and_then(Way.ELSE))
            case ast.Constant(value=str(text)):
                self.reads.spell(text, way)
            case _:
                self._parts(node, way)

    def _chosen(self, node: ast.IfExp | ast.BoolOp | ast.ListComp | ast.GeneratorExp, way: Way) -> None:
        """Walk what decides by itself what of it is evaluated."""
        match node:
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                self._expression(test, way)
                self._expression(then, way.and_then(Way.ELSE))
                self._expression(otherwise, way.and_then(Way.ELSE))
            case ast.BoolOp(values=[first, *others]):
                self._expression(first, way)
                # Of two that are joined by "or" the second stands in the first one's place.
                kept = way.and_then(Way.IF if isinstance(node.op, ast.And) else Way.ELSE)
                for one in others:
                    self._expression(one, kept)
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                plain = not any(one.ifs for one in generators)
                for generator in generators:
                    self._expression(generator.iter, way)
                self._expression(element, way if plain else way.and_then(Way.IF))
            case _:
                return


def looked_for(text: bytes, attribute: str) -> bool:
    """Say whether a file looks whether a configuration has an attribute, or has a value ready where it has not."""
    asks = rb"(?:hasattr|getattr)\(\s*[\w.\s]+,\s*[\"']" + re.escape(attribute.encode()) + rb"[\"']"
    return re.search(asks, text) is not None


def _parameters(start: ast.FunctionDef, classes: Collection[str]) -> dict[str, str]:
    """Name the parameters that are configurations, and which."""
    found: dict[str, str] = {}
    for one in (*start.args.args, *start.args.kwonlyargs):
        kind = last_name(one.annotation) if one.annotation is not None else ""
        if isinstance(one.annotation, ast.Constant):
            kind = str(one.annotation.value)
        if kind in classes:
            found[one.arg] = kind
        elif one.arg == "config" and (not kind or kind in _PLAIN):
            found[one.arg] = WHOLE
    return found


def _returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(one, ast.Return) for one in body)
