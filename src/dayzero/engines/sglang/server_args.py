"""Which flags SGLang's server takes: its argument parser, read from the fields and calls that build it."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.bound import assigned, names_in
from dayzero.audit.python_source import Module, last_name, statements_of
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place

SERVER_ARGS = "sglang.srt.server_args"
GROUPS = "sglang.srt.arg_groups"
_BUILDER = "add_cli_args"
_ANNOTATED = {"A", "Annotated"}
_REFUSING = "DeprecatedAction"
_SWITCHES = {"store_true", "store_false", "store_const", "DeprecatedStoreTrueAction"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of the parser.

    Attributes:
        place: Where it is declared; its aliases have the same.
        field: The field that it sets.
        switch: Whether it takes no value.
        choices: The only values that it takes; none where it takes others, too.
        several: Whether it takes any number of values.
        refused: Whether the parser knows it only to refuse it.
    """

    place: Place
    field: str
    switch: bool = False
    choices: tuple[str, ...] = ()
    several: bool = False
    refused: bool = False


def read_flags(python: PythonFiles) -> Mapping[str, Flag]:
    """Read every flag of the parser with its aliases.

    Raises:
        InputError: The build has no such parser, or its file cannot be parsed.
    """
    main = _module(python, SERVER_ARGS)
    found: dict[str, Flag] = {}
    for module in (
        main,
        *(_module(python, name) for name in sorted(python.modules) if name.startswith(f"{GROUPS}.fields.")),
    ):
        for owner in (node for node in module.tree.body if isinstance(node, ast.ClassDef)):
            if owner.name == "ServerArgs" or module is not main:
                found |= dict(_declared(python, module, owner))
    builders = [node for node in ast.walk(main.tree) if isinstance(node, ast.FunctionDef) and node.name == _BUILDER]
    for builder in builders:
        found |= dict(_added(python, main, builder))
    if not found or not builders:
        raise InputError(f"{main.file} has no parser that adds flags", hint="Use a released SGLang.")
    return found


def _module(python: PythonFiles, name: str) -> Module:
    found = python.parsed(name)
    if not isinstance(found, Module):
        raise InputError(f"{found.file}: {found.quote}", hint="Use a released SGLang.")
    return found


def _declared(python: PythonFiles, module: Module, owner: ast.ClassDef) -> Iterator[tuple[str, Flag]]:
    """Read ``name: A[T, "help"]`` and ``name: A[T, Arg(...)]``."""
    for node in owner.body:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name),
                annotation=ast.Subscript(value=outer, slice=ast.Tuple(elts=[inner, *notes])),
            ) if last_name(outer) in _ANNOTATED:
                given = next((one for one in notes if last_name(one) == "Arg" or _text(one) is not None), None)
                if given is not None:
                    yield from _field(python, module, name, inner, given)
            case _:
                continue


def _field(
    python: PythonFiles, module: Module, name: str, inner: ast.expr, given: ast.expr
) -> Iterator[tuple[str, Flag]]:
    options = {one.arg: one.value for one in given.keywords} if isinstance(given, ast.Call) else {}
    hidden = options.get("no_cli")
    if isinstance(hidden, ast.Constant) and hidden.value:
        return
    kind = _inside(inner)
    literals = _literals(kind)
    several = last_name(kind.value if isinstance(kind, ast.Subscript) else kind) in {"list", "List"}
    flag = Flag(
        place=module.place(inner.lineno),
        field=name,
        switch=last_name(kind) == "bool" and "action" not in options and "type_parser" not in options,
        choices=_choices(python, module, options.get("choices")) or literals,
        several=("nargs" in options or several) and "type_parser" not in options,
    )
    own = _text(options.get("cli_name")) or f"--{name.replace('_', '-')}"
    aliases = options.get("aliases")
    more = [_text(one) for one in aliases.elts] if isinstance(aliases, ast.List) else []
    yield from ((word, flag) for word in (own, *more) if word)


def _added(python: PythonFiles, module: Module, builder: ast.FunctionDef) -> Iterator[tuple[str, Flag]]:
    """Read ``parser.add_argument("--name", ...)``."""
    always = any(map(_always_refuses, module.tree.body))
    for node in ast.walk(builder):
        if not (isinstance(node, ast.Call) and last_name(node.func) == "add_argument"):
            continue
        options = {one.arg: one.value for one in node.keywords}
        action = options.get("action")
        words = [text for one in node.args if (text := _text(one))]
        kind = _text(action) or last_name(action) if action is not None else ""
        flag = Flag(
            place=module.place(node.lineno),
            field=_text(options.get("dest")) or next(iter(words), "").lstrip("-").replace("-", "_"),
            switch=kind in _SWITCHES and "nargs" not in options,
            choices=_choices(python, module, _local(builder, options.get("choices"))),
            several="nargs" in options,
            refused=kind == _REFUSING and ("error_message" in options or always),
        )
        yield from ((word, flag) for word in words)


def _local(builder: ast.FunctionDef, node: ast.expr | None) -> ast.expr | None:
    """Give what a name is bound to in the function, once; the expression itself otherwise."""
    name = node.id if isinstance(node, ast.Name) else ""
    bound = [found for one in statements_of(builder) if (found := _bound(one, name)) is not None]
    return bound[0] if name and len(bound) == 1 else node


def _always_refuses(node: ast.stmt) -> bool:
    """Say whether this is the action of deprecated flags, as long as it raised for each of them."""
    methods = node.body if isinstance(node, ast.ClassDef) and node.name == _REFUSING else []
    return any(isinstance(one, ast.FunctionDef) and isinstance(one.body[-1], ast.Raise) for one in methods)


def _inside(node: ast.expr) -> ast.expr:
    """Take ``Optional`` and ``| None`` off a type."""
    match node:
        case ast.Constant(value=str(quoted)):
            return _inside(ast.parse(quoted, mode="eval").body)
        case ast.Subscript(value=outer, slice=inner) if last_name(outer) == "Optional":
            return _inside(inner)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _inside(left)
        case _:
            return node


def _literals(node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.Subscript(value=outer, slice=inner) if last_name(outer) == "Literal":
            listed = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _all_texts(listed)
        case _:
            return ()


def _choices(python: PythonFiles, module: Module, node: ast.expr | None) -> tuple[str, ...]:
    """Give the values that are listed; none where one of them is not written out."""
    match node:
        case ast.List(elts=listed) | ast.Tuple(elts=listed) | ast.Set(elts=listed):
            return _all_texts(listed)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_choices(python, module, one) for one in (left, right)]
            return (*parts[0], *parts[1]) if all(parts) else ()
        case ast.Name(id=name):
            return _constant(python, module, name)
        # The keys of ReasoningParser.DetectorMap, with .keys() or without, as a list.
        case ast.Call(func=ast.Name(id="list"), args=[inner]):
            match inner:
                case ast.Call(func=ast.Attribute(value=table, attr="keys"), args=[]):
                    return _keys(python, module, table)
                case _:
                    return _keys(python, module, inner)
        case _:
            return ()


def _keys(python: PythonFiles, module: Module, table: ast.expr) -> tuple[str, ...]:
    """Give the keys of a table that a class of another module holds; none where one of them is not written out."""
    match table:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            sources = (python.parsed(one) for one in _sources(module, owner))
            held = (node for one in sources if isinstance(one, Module) for node in one.tree.body)
            classes = (node for node in held if isinstance(node, ast.ClassDef) and node.name == owner)
            bound = [found for one in classes for node in one.body if (found := _bound(node, name)) is not None]
            keys = bound[0].keys if len(bound) == 1 and isinstance(bound[0], ast.Dict) else []
            return _all_texts([one for one in keys if one is not None]) if None not in keys else ()
        case _:
            return ()


def _sources(module: Module, name: str) -> Iterator[str]:
    """Name the modules that a name is imported from."""
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and any((one.asname or one.name) == name for one in node.names)
        ):
            yield node.module or ""


def _bound(node: ast.AST, name: str) -> ast.expr | None:
    return next((value for own, value in names_in(assigned(node)) if own == name), None)


def _constant(python: PythonFiles, module: Module, name: str) -> tuple[str, ...]:
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=word)], value=value) if word == name:
                return _choices(python, module, value) if not isinstance(value, ast.Name) else ()
            case ast.ImportFrom(module=source, names=names, level=0) if any(
                (one.asname or one.name) == name for one in names
            ):
                found = python.parsed(source or "")
                original = next(one.name for one in names if (one.asname or one.name) == name)
                return _constant(python, found, original) if isinstance(found, Module) and found is not module else ()
            case _:
                continue
    return ()


def _all_texts(listed: list[ast.expr]) -> tuple[str, ...]:
    texts = [str(one.value) for one in listed if isinstance(one, ast.Constant) and isinstance(one.value, str | int)]
    return tuple(texts) if len(texts) == len(listed) else ()


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
