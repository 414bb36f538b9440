"""YAML and JSON as values that know their lines."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml

_MOST_NODES = 300_000
_DEEPEST = 100
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar as it is written; what is null is empty."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Row:
    """A list."""

    items: "tuple[Node, ...]"
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping.

    Attributes:
        pairs: Its members as they are written.
        line: Its line.
        members: The same by keys that can be compared: small, with ``_`` for ``-``.
    """

    pairs: "tuple[tuple[str, Node], ...]"
    line: int
    members: "Mapping[str, Node]" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", {spelt(key): value for key, value in self.pairs})

    def text(self, *keys: str) -> str:
        """Give the first of these members that is a text, ``""`` where none is."""
        found = (self.members.get(key) for key in keys)
        return next((one.text for one in found if isinstance(one, Text) and one.text), "")

    def table(self, key: str) -> "Table | None":
        """Give a member that is a mapping."""
        found = self.members.get(key)
        return found if isinstance(found, Table) else None


Node: TypeAlias = Text | Row | Table


def documents(text: str, *, as_json: bool) -> tuple[Node, ...]:
    """Parse a file.

    Args:
        text: Its content.
        as_json: Whether it is meant as JSON, of which YAML readers take all but a few escapes.

    Raises:
        ValueError: It is neither; the message says where. Or its references unfold to an absurd size.
    """
    reader = _Reader()
    try:
        return tuple(reader.node(one, 0) for one in yaml.compose_all(text, Loader=_LOADER) if one is not None)
    except yaml.YAMLError as error:
        if as_json:
            return (_plain(json.loads(text), 0),)
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise ValueError(f"{where}{getattr(error, 'problem', None) or error}") from error


def spelt(key: str) -> str:
    """Spell a key as all are compared."""
    return re.sub(r"[-\s]", "_", key.strip().lower())


def texts(node: "Node | None") -> Iterator[Text]:
    """Give every scalar below a value, in order."""
    match node:
        case Text():
            yield node
        case Row(items=items):
            for one in items:
                yield from texts(one)
        case Table(members=members):
            for one in members.values():
                yield from texts(one)


class _Reader:
    def __init__(self) -> None:
        self._seen = 0

    def node(self, given: yaml.Node, depth: int) -> Node:
        self._seen += 1
        if self._seen > _MOST_NODES or depth > _DEEPEST:
            raise ValueError("it is nested too deeply, or its references unfold to an absurd size")
        line = given.start_mark.line + 1
        match given:
            case yaml.SequenceNode(value=items):
                return Row(tuple(self.node(one, depth + 1) for one in items), line)
            case yaml.MappingNode(value=pairs):
                return Table(tuple(self._members(pairs, depth)), line)
            case _:
                return Text("" if given.tag == _NULL else str(given.value), line)

    def _members(self, pairs: "list[tuple[yaml.Node, yaml.Node]]", depth: int) -> "Iterator[tuple[str, Node]]":
        for key, value in pairs:
            merged = self.node(value, depth + 1) if key.value == "<<" else None
            if isinstance(merged, Table):
                yield from merged.pairs
        for key, value in pairs:
            if isinstance(key.value, str) and key.value != "<<":
                yield key.value, self.node(value, depth + 1)


def _plain(value: object, depth: int) -> Node:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    match value:
        case dict():
            return Table(tuple((str(key), _plain(one, depth + 1)) for key, one in value.items()), 1)
        case list():
            return Row(tuple(_plain(one, depth + 1) for one in value), 1)
        case None:
            return Text("", 1)
        case bool():
            return Text(str(value).lower(), 1)
        case _:
            return Text(str(value), 1)
