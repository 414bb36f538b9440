"""Which architectures a vLLM build implements: the keys of its model registry."""

import ast
from collections import Counter
from typing import Final

from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python.bound import bound_by
from dayzero.audit.python_source import nodes_of
from dayzero.engines.vllm.source import Source, UnreadableError, parse, simple_name, text_of

REGISTRY = "vllm/model_executor/models/registry.py"
TABLE = "_VLLM_MODELS"
NOUN = "architecture"

_CHANGING = {"update", "pop", "popitem", "clear", "setdefault"}


def read_architectures(files: BuildFiles) -> Facts:
    """Read the names under which the build's own model classes are registered.

    The Transformers backend, through which vLLM can run some architectures of the *installed* transformers that it does not
    implement itself, is outside the wheel and so outside this table.
    """
    try:
        source = parse(files, REGISTRY)
        tables = _tables(source)
        _refuse_later_changes(source, set(tables))
        keys = _registered(source, tables)
    except (UnreadableError, RecursionError) as error:
        return Unread(noun=NOUN, reason=str(error))
    return FactTable(
        noun=NOUN,
        entries=tuple((name, source.place(line)) for name, line in keys.items()),
        place=source.place(tables[TABLE].lineno),
    )


def _registered(source: Source, tables: dict[str, ast.Dict]) -> dict[str, int]:
    """Give the keys of the merged table, each with its line."""
    if TABLE not in tables:
        raise UnreadableError(f"{REGISTRY} has no literal table {TABLE}")
    keys, chosen_from = _keys(source, tables, tables[TABLE])
    for name in sorted(chosen_from):
        offered, _ = _keys(source, tables, tables[name])
        if not offered.keys() <= keys.keys():
            raise UnreadableError(f"{REGISTRY} registers a choice of {name} that only running it can tell")
    return keys


def _tables(source: Source) -> dict[str, ast.Dict]:
    """Collect the dict displays that the module binds to a name."""
    tables: dict[str, ast.Dict] = {}
    for node in source.tree.body:
        tables |= {name: value for name, value in bound_by(node) if isinstance(value, ast.Dict)}
    return tables


def _keys(source: Source, tables: dict[str, ast.Dict], table: ast.Dict) -> tuple[dict[str, int], set[str]]:
    """Give the line of each key, and the tables from which further keys are chosen by a condition."""
    lines: dict[str, int] = {}
    chosen_from: set[str] = set()
    for key, value in zip(table.keys, table.values, strict=True):
        if key is None:
            more_lines, more_chosen = _merged(source, tables, value)
            lines |= more_lines
            chosen_from |= more_chosen
            continue
        text = text_of(key)
        if text is None:
            raise UnreadableError(f"{source.path}:{key.lineno}: a key is not a literal")
        lines[text] = key.lineno
    return lines, chosen_from


def _merged(source: Source, tables: dict[str, ast.Dict], value: ast.expr) -> tuple[dict[str, int], set[str]]:
    """Read what stands after ``**``."""
    match value:
        case ast.Name(id=name) if name in tables:
            return _keys(source, tables, tables[name])
        case ast.Dict():
            return _keys(source, tables, value)
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
            return {}, {name}
        case _:
            raise UnreadableError(f"{source.path}:{value.lineno}: what is merged here is not a literal table")


def _refuse_later_changes(source: Source, tables: set[str]) -> None:
    """Make sure that no table is bound twice or changed after its display, which the display could not tell."""
    nodes = nodes_of(source.tree)
    bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    changed = {name for name in tables if bound[name] > 1} | (tables & set(map(_changed, nodes)))
    if changed:
        raise UnreadableError(f"{source.path} changes {', '.join(sorted(changed))} after writing it down")


def _changed(node: ast.AST) -> str:
    """Name what a statement or call changes in place, ``""`` where it changes nothing by name."""
    match node:
        case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()) | ast.AugAssign(target=owner):
            return simple_name(owner)
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr in _CHANGING:
            return simple_name(owner)
        case _:
            return ""


class VllmRegistry:
    """Reads vLLM's models, without what an engine plug-in needs besides; implements ``audit.architectures.ModelRegistry``."""

    def read_architectures(self, files: BuildFiles) -> Facts:
        """Read the model registry."""
        return read_architectures(files)


MODELS: Final = VllmRegistry()
