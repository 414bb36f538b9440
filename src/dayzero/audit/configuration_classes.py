"""Which attributes a configuration of the Transformers library has: what its class and those above it declare and set."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.installed import Installed, PythonFiles
from dayzero.audit.python_source import Module, class_at_top, import_source, last_name, nodes_of
from dayzero.audit.transformers_library import CONFIGURATIONS, GENERATED, MODELS, mapping
from dayzero.core.verdict import Place

# transformers 5.15.0, integrations/heterogeneity/configuration_utils.py: what differs by layer is asked of a layer.
_LAYERS, _GUARDED, OPENS_LAYERS = "per_layer_config", "per_layer_attributes", "allow_global_per_layer_attribute_access"
_PLAIN = frozenset({"object", "ABC", "Generic", "Protocol", "PushToHubMixin"})
_MOST_BASES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What objects of one configuration class have.

    Attributes:
        name: The class.
        place: Where it stands.
        attributes: What it and the classes above it declare or set.
        consumed: Keys of the file that they take out, and that are attributes only where they set them.
        defaults: What is written out as the value of what a stored configuration leaves out.
        by_layer: What may only be read from the configuration of one layer: of the whole model's it raises.
    """

    name: str
    place: Place
    attributes: frozenset[str]
    consumed: frozenset[str]
    defaults: Mapping[str, object]
    by_layer: frozenset[str]

    def has(self, attribute: str, stored: Mapping[str, object]) -> bool:
        """Say whether an object made of a stored configuration has an attribute: every key that is not taken out is one."""
        return attribute not in self.by_layer and self.holds(attribute, stored)

    def holds(self, attribute: str, stored: Mapping[str, object]) -> bool:
        """Say the same, whether it may be read from the whole model's configuration or only from that of a layer."""
        return attribute in self.attributes or (attribute in stored and attribute not in self.consumed)


def configuration_of(installed: Installed, model_type: str) -> Configuration | None:
    """Read the class for a model's type; ``None`` where there is none, or where what it has cannot be told."""
    python = installed.python
    tables = (mapping(python, module, "CONFIG_MAPPING_NAMES") for module in (CONFIGURATIONS, GENERATED))
    named = [name for table in tables for _, key, name in table if key == model_type]
    return _read(python, named[0]) if named else None


def _read(python: PythonFiles, name: str) -> Configuration | None:
    found = next(_defining(python, name), None)
    if found is None:
        return None
    attributes: set[str] = set()
    consumed: set[str] = set()
    defaults: dict[str, object] = {}
    by_layer: set[str] = set()
    raises = False
    waiting, seen = [found], 0
    while waiting:
        module, node = waiting.pop()
        seen += 1
        if seen > _MOST_BASES or any(
            isinstance(one, ast.FunctionDef) and one.name == "__getattr__" for one in node.body
        ):
            return None
        attributes |= set(_given(node))
        consumed |= set(_taken(node))
        defaults = dict(_defaults(node)) | defaults
        by_layer |= set(_by_layer(node))
        raises = raises or _guards_layers(node)
        for base in node.bases:
            above = _class(python, module, last_name(base))
            if above is not None:
                waiting.append(above)
            elif last_name(base) not in _PLAIN:
                return None
    module, node = found
    return Configuration(
        name=name,
        place=module.place(node.lineno),
        attributes=frozenset(attributes),
        consumed=frozenset(consumed),
        defaults=defaults,
        by_layer=frozenset(by_layer) if raises else frozenset(),
    )


def _defining(python: PythonFiles, name: str) -> Iterator[tuple[Module, ast.ClassDef]]:
    for one in python.holding(f"class {name}(".encode(), below=MODELS):
        module = python.parsed(one)
        if isinstance(module, Module) and not one.rpartition(".")[2].startswith("modular_"):
            node = class_at_top(module, name)
            if node is not None:
                yield module, node


def _class(python: PythonFiles, module: Module, name: str, depth: int = 4) -> tuple[Module, ast.ClassDef] | None:
    """Find the class that a name of a module stands for, through imports and aliases."""
    own = class_at_top(module, name)
    if own is not None:
        return module, own
    for node in module.tree.body if depth else ():
        match node:
            case ast.ImportFrom(names=names):
                real = next((one.name for one in names if (one.asname or one.name) == name), "")
                source = python.parsed(import_source(node, module)) if real else None
                if isinstance(source, Module):
                    return _class(python, source, real, depth - 1)
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Name(id=real)) if bound == name:
                return _class(python, module, real, depth - 1)
            case _:
                continue
    return None


def _given(node: ast.ClassDef) -> Iterator[str]:
    """Name what a class binds, what its methods set, and the other names of its ``attribute_map``."""
    for one in node.body:
        match one:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets, value=value):
                yield from (last_name(target) for target in targets)
                if isinstance(value, ast.Dict) and "attribute_map" in map(last_name, targets):
                    yield from (str(key.value) for key in value.keys if isinstance(key, ast.Constant))
            case _:
                continue
    for inner in nodes_of(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), _]):
                yield name
            # What is handed up by name is set there, by its name or with all that is left.
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))), keywords=keywords):
                yield from (keyword.arg for keyword in keywords if keyword.arg is not None)
            case _:
                continue


def _taken(node: ast.ClassDef) -> Iterator[str]:
    for one in nodes_of(node):
        match one:
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="pop"), args=[ast.Constant(value=str(name)), *_]):
                yield name
            case _:
                continue


def _defaults(node: ast.ClassDef) -> Iterator[tuple[str, object]]:
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
                yield name, value
            case ast.FunctionDef(name="__init__", args=arguments):
                given = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
                yield from ((arg.arg, value.value) for arg, value in given if isinstance(value, ast.Constant))
            case _:
                continue


def _by_layer(node: ast.ClassDef) -> Iterator[str]:
    """Name what a class gives its layers: the keys of the table that it puts under ``per_layer_config``."""
    for method in (one for one in node.body if isinstance(one, ast.FunctionDef)):
        inside = nodes_of(method)
        held = {last_name(one.value) for one in inside if isinstance(one, ast.DictComp) and _is_for_layers(inside, one)}
        for one in inside:
            match one:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys))
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict(keys=keys))
                ) if name in held:
                    yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ast.Store()) if (
                    name in held
                ):
                    yield key
                case _:
                    continue


def _is_for_layers(inside: list[ast.AST], table: ast.DictComp) -> bool:
    return any(
        isinstance(one, ast.Assign)
        and one.value is table
        and isinstance(one.targets[0], ast.Subscript)
        and isinstance(one.targets[0].slice, ast.Constant)
        and one.targets[0].slice.value == _LAYERS
        for one in inside
    )


def _guards_layers(node: ast.ClassDef) -> bool:
    """Say whether a class raises where what differs by layer is read from the whole model's configuration."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__getattribute__":
            inside = nodes_of(method)
            asks = any(isinstance(one, ast.Attribute) and one.attr == _GUARDED for one in inside)
            return asks and any(isinstance(one, ast.Raise) for one in inside)
    return False
