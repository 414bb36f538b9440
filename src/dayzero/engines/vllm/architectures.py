"""Which architectures a vLLM build implements: the keys of its model registry."""

import ast
from dataclasses import dataclass, field

from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.engines.vllm.source import Source, UnreadableError, parse, simple_name, text_of

REGISTRY = "vllm/model_executor/models/registry.py"
TABLE = "_VLLM_MODELS"
NOUN = "architecture"


@dataclass(slots=True)
class _Keys:
    """Keys of a dict display: the line of each, and the tables that parts of it are chosen from."""

    lines: dict[str, int] = field(default_factory=dict)
    chosen_from: set[str] = field(default_factory=set)


def read_architectures(files: BuildFiles) -> Facts:
    """Read the names under which the build's own model classes are registered.

    The Transformers backend, through which vLLM can run some architectures of the *installed* transformers that it does not
    implement itself, is outside the wheel and so outside this table.
    """
    try:
        source = parse(files, REGISTRY)
        tables = _tables(source)
        if TABLE not in tables:
            raise UnreadableError(f"{REGISTRY} has no literal table {TABLE}")
        _refuse_later_changes(source, set(tables))
        keys = _keys(source, tables, tables[TABLE])
        for table in sorted(keys.chosen_from):
            if not _keys(source, tables, tables[table]).lines.keys() <= keys.lines.keys():
                raise UnreadableError(f"{REGISTRY} registers a choice of {table} that only running it can tell")
    except UnreadableError as error:
        return Unread(noun=NOUN, reason=str(error))
    return FactTable(
        noun=NOUN,
        entries=tuple((name, source.place(line)) for name, line in keys.lines.items()),
        place=source.place(tables[TABLE].lineno),
    )


def _tables(source: Source) -> dict[str, ast.Dict]:
    """Collect the dict displays that the module binds to a name."""
    tables: dict[str, ast.Dict] = {}
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as table):
                tables[name] = table
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table):
                tables[name] = table
    return tables


def _keys(source: Source, tables: dict[str, ast.Dict], table: ast.Dict) -> _Keys:
    found = _Keys()
    for key, value in zip(table.keys, table.values, strict=True):
        text = text_of(key) if key is not None else None
        if key is not None and text is not None:
            found.lines[text] = key.lineno
            continue
        if key is not None:
            raise UnreadableError(f"{source.path}:{key.lineno}: a key is not a literal")
        _merge(found, source, tables, value)
    return found


def _merge(found: _Keys, source: Source, tables: dict[str, ast.Dict], merged: ast.expr) -> None:
    """Take in what stands after ``**``."""
    match merged:
        case ast.Name(id=name) if name in tables:
            part = _keys(source, tables, tables[name])
        case ast.Dict():
            part = _keys(source, tables, merged)
        # {k: ... for k, ... in TABLE.items() if ...}: whatever it chooses, it adds no key that TABLE lacks.
        case ast.DictComp(
            key=ast.Name(id=key),
            generators=[
                ast.comprehension(
                    target=ast.Tuple(elts=[ast.Name(id=first), *_]),
                    iter=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items"), args=[]),
                )
            ],
        ) if key == first and name in tables:
            part = _Keys(chosen_from={name})
        case _:
            raise UnreadableError(f"{source.path}:{merged.lineno}: what is merged here is not a literal table")
    found.lines |= part.lines
    found.chosen_from |= part.chosen_from


def _refuse_later_changes(source: Source, tables: set[str]) -> None:
    """Make sure that no table is changed after its display, which the display could not tell."""
    changing = {"update", "pop", "popitem", "clear", "setdefault"}
    for node in ast.walk(source.tree):
        match node:
            case ast.Subscript(value=changed, ctx=ast.Store() | ast.Del()):
                pass
            case ast.Call(func=ast.Attribute(value=changed, attr=attr)) if attr in changing:
                pass
            case ast.AugAssign(target=changed):
                pass
            case _:
                continue
        if simple_name(changed) in tables:
            raise UnreadableError(f"{source.path}:{node.lineno}: {simple_name(changed)} is changed after it was written")
