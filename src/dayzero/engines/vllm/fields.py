"""Fields of vLLM's config classes, and which of them become a boolean flag."""

import ast
import re
from collections.abc import Iterator

from dayzero.audit.ports import BuildFiles
from dayzero.core.verdict import Place
from dayzero.engines.vllm.source import Source, UnreadableError, parse, simple_name

CONFIG = "vllm/config/"
# The whole configuration in one file: vllm 0.6.3 to 0.10.0.
_ONE_FILE = "vllm/config.py"
_WRAPPERS = {"Annotated", "SkipValidation"}
_UNIONS = {"Union", "Optional"}
_DICTS = {"dict", "Dict"}


class ConfigFields:
    """The config classes of one build, parsed as they are asked for."""

    def __init__(self, files: BuildFiles) -> None:
        self._files = files
        self._paths = tuple(
            name for name in files.names() if name == _ONE_FILE or (name.startswith(CONFIG) and name.endswith(".py"))
        )
        self._found: dict[str, tuple[Source, ast.ClassDef]] = {}

    @staticmethod
    def own(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
        """Give the fields that a class itself declares, each with its annotation."""
        for node in owner.body:
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
                continue
            if not (isinstance(node.annotation, ast.Subscript) and simple_name(node.annotation.value) == "ClassVar"):
                yield node.target.id, node.annotation

    @staticmethod
    def boolean(annotation: ast.expr) -> bool:
        """Say whether vLLM's parser makes ``--name`` and ``--no-name`` of a field of this type.

        It does for a type with ``bool`` in it, except ``bool | str | None``, which takes an optional value instead
        (vllm 0.32.0, engine/arg_utils.py, _compute_kwargs).
        """
        parts = set(_parts(annotation))
        return "bool" in parts and parts != {"bool", "str", "None"}

    def is_boolean(self, config: str, name: str) -> bool:
        """Say whether a field of a config class is a boolean flag.

        Raises:
            UnreadableError: The build has no such class or field.
        """
        source, owner = self._class(config)
        for field_name, annotation in self.own(owner):
            if field_name == name:
                return self.boolean(annotation)
        for base in owner.bases:
            if simple_name(base):
                return self.is_boolean(simple_name(base), name)
        raise UnreadableError(f"{source.path}:{owner.lineno}: {config} has no field {name}")

    def names(self, config: str) -> tuple[str, ...]:
        """Name the fields of a config class, those of its bases in the same files included.

        Raises:
            UnreadableError: The build has no such class, or not one of its bases.
        """
        _, owner = self._class(config)
        own = [name for name, _ in self.own(owner)]
        return (*own, *(name for base in owner.bases if simple_name(base) for name in self.names(simple_name(base))))

    def is_json(self, config: str, name: str) -> bool:
        """Say whether vLLM's parser reads the value of a field as JSON: its type is a ``dict``, and nothing else.

        Raises:
            UnreadableError: The build has no such class.
        """
        source, owner = self._class(config)
        found = next((annotation for own, annotation in self.own(owner) if own == name), None)
        parts = set(_kinds(source, found)) if found is not None else set()
        return bool(parts & _DICTS) and parts <= {*_DICTS, "None"}

    def place(self, config: str) -> Place:
        """Name where a config class stands.

        Raises:
            UnreadableError: The build has no such class.
        """
        source, owner = self._class(config)
        return source.place(owner.lineno)

    def choices(self, config: str, name: str) -> tuple[str, ...]:
        """Give the only values that a field takes, where its type is a ``Literal`` of text; none where it takes others.

        Raises:
            UnreadableError: The build has no such class.
        """
        source, owner = self._class(config)
        for field_name, annotation in self.own(owner):
            if field_name == name:
                return _texts(source, annotation) or ()
        bases = (simple_name(base) for base in owner.bases)
        return next((found for base in bases if base in self._found and (found := self.choices(base, name))), ())

    def _class(self, name: str) -> tuple[Source, ast.ClassDef]:
        if name not in self._found:
            defines = re.compile(rf"^class {re.escape(name)}\b".encode(), re.MULTILINE)
            paths = tuple(path for path in self._paths if defines.search(self._files.read(path)))
            if len(paths) != 1:
                raise UnreadableError(f"{len(paths)} files under {CONFIG} define {name}")
            source = parse(self._files, paths[0])
            self._found[name] = (source, source.top_class(name))
        return self._found[name]


def _texts(source: Source, annotation: ast.expr) -> tuple[str, ...] | None:
    """Give the texts that a type allows, ``None`` where it allows anything else but ``None``."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            parts = [_texts(source, part) for part in (left, right)]
            return None if None in parts else tuple(text for part in parts if part is not None for text in part)
        case ast.Constant(value=None):
            return ("None",)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inside):
            listed = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            inner = [_literal(source, one) for one in listed]
            return None if None in inner else tuple(text for one in inner if one is not None for text in one)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inside):
            found = _texts(source, inside)
            return None if found is None else (*found, "None")
        case ast.Name(id=alias):
            value = _aliased(source, alias)
            return _texts(source, value) if isinstance(value, ast.Subscript) else None
        case _:
            return None


def _literal(source: Source, node: ast.expr) -> tuple[str, ...] | None:
    """Give the texts that one argument of ``Literal`` stands for: itself, or those of another ``Literal``."""
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Name():
            return _texts(source, node)
        case _:
            return None


def _aliased(source: Source, alias: str) -> ast.expr | None:
    """Give what a module binds a name to, as a type: ``X = ...`` or ``X: TypeAlias = ...``."""
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == alias:
                return value
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if name == alias:
                return value
            case _:
                continue
    return None


def _kinds(source: Source, annotation: ast.expr, depth: int = 4) -> Iterator[str]:
    """Take a type apart at its unions, and name the outermost type of each part."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _kinds(source, left, depth)
            yield from _kinds(source, right, depth)
        case ast.Subscript(value=outer, slice=inner) if simple_name(outer) in _UNIONS | _WRAPPERS:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            for part in parts[:1] if simple_name(outer) in _WRAPPERS else parts:
                yield from _kinds(source, part, depth)
        case ast.Subscript(value=outer):
            yield simple_name(outer)
        case ast.Constant(value=None):
            yield "None"
        case ast.Name(id=alias) if depth and (value := _aliased(source, alias)) is not None:
            yield from _kinds(source, value, depth - 1)
        case _:
            yield simple_name(annotation) or "another"


def _parts(annotation: ast.expr) -> Iterator[str]:
    """Take a type apart at its unions; ``Annotated`` stands for what it annotates."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _parts(left)
            yield from _parts(right)
        case ast.Subscript(value=outer, slice=ast.Tuple(elts=[first, *_])) if simple_name(outer) in _WRAPPERS:
            yield from _parts(first)
        case ast.Subscript(value=outer, slice=inner) if simple_name(outer) in _WRAPPERS:
            yield from _parts(inner)
        case ast.Subscript(value=outer, slice=inner) if simple_name(outer) in _UNIONS:
            for part in inner.elts if isinstance(inner, ast.Tuple) else (inner, ast.Constant(value=None)):
                yield from _parts(part)
        case ast.Constant(value=str(quoted)):
            yield from _parts(ast.parse(quoted, mode="eval").body)
        case ast.Constant(value=None):
            yield "None"
        case _:
            yield simple_name(annotation)
