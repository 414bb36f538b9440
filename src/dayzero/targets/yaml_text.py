"""YAML as deploy files use it: every string value in double quotes, so that YAML 1.1 and 1.2 read the same thing.

Written and read by different code on purpose: the writer is this module's own, the reader stands on PyYAML's parser.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import yaml

from dayzero.core.errors import InputError

Node: TypeAlias = str | int | bool | Sequence["Node"] | Mapping[str, "Node"]

_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS_OF_YAML_1_1 = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_PLAIN_INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
_BOOLS = {"true": True, "false": False}
_SHORT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_TWO_BYTES = 0xFFFF
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # tells of a plain scalar with "", the other one with None


def dump(document: Mapping[str, Node]) -> str:
    """Write one document in block style, keys in the order given."""
    return "\n".join(_block(document, "")) + "\n"


def _block(node: Node, indent: str) -> list[str]:
    line = _on_one_line(node)
    if line:
        return [indent + line]
    if isinstance(node, Mapping):
        pairs = [(f"{indent}{_key(key)}:", value) for key, value in node.items()]
        return [line for head, value in pairs for line in _entry(head, value, indent + "  ")]
    items = [_block(value, indent + "  ") for value in entries(node, "the node")]
    return [line for first, *rest in items for line in (f"{indent}- {first.lstrip(' ')}", *rest)]


def _entry(head: str, value: Node, indent: str) -> list[str]:
    line = _on_one_line(value)
    return [f"{head} {line}"] if line else [head, *_block(value, indent)]


def _on_one_line(node: Node) -> str:
    if isinstance(node, str | int):
        return _scalar(node)
    if not node:
        return "{}" if isinstance(node, Mapping) else "[]"
    return ""


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS_OF_YAML_1_1 else quoted(key)


def _scalar(value: str | int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else quoted(value)


def quoted(text: str) -> str:
    """Write a string as a double-quoted scalar; what a YAML reader may fold or refuse becomes an escape."""
    if text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"' + "".join(_letter(letter) for letter in text) + '"'


def _letter(letter: str) -> str:
    if letter in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[letter]
    if letter == " " or letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= _TWO_BYTES else f"\\U{ord(letter):08x}"


def load_all(text: str) -> tuple[Node, ...]:
    """Read documents of the subset that :func:`dump` writes.

    Raises:
        InputError: It is not YAML, or it uses what readers disagree about or what hides a value: an unquoted string, a key
            twice, an anchor's alias, a tag.
    """
    try:
        roots = tuple(yaml.compose_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {' '.join(str(error).split())}", hint="Render the file again.") from error
    seen: set[int] = set()
    return tuple(_value(root, seen) for root in roots)


def _value(node: yaml.Node, seen: set[int]) -> Node:
    if id(node) in seen:
        raise _refusal(node, "an alias")
    seen.add(id(node))
    match node:
        case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
            return _mapping(node, seen)
        case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
            return tuple(_value(item, seen) for item in node.value)
        case yaml.ScalarNode(style='"', tag="tag:yaml.org,2002:str"):
            return str(node.value)
        case yaml.ScalarNode(style=None | "", tag="tag:yaml.org,2002:int") if _PLAIN_INT.fullmatch(node.value):
            return int(node.value)
        case yaml.ScalarNode(style=None | "", tag="tag:yaml.org,2002:bool") if node.value in _BOOLS:
            return _BOOLS[node.value]
        case _:
            raise _refusal(node, f"{node.value!r} is not a double-quoted string, a decimal number, true or false")


def _mapping(node: yaml.MappingNode, seen: set[int]) -> Mapping[str, Node]:
    values: dict[str, Node] = {}
    for key_node, value_node in node.value:
        key = key_node.value
        if not isinstance(key, str) or key_node.tag != "tag:yaml.org,2002:str":
            raise _refusal(key_node, "a key that is not a string")
        if key in values:
            raise _refusal(key_node, f"the key {key!r} stands twice")
        values[key] = _value(value_node, seen)
    return values


def _refusal(node: yaml.Node, what: str) -> InputError:
    return InputError(
        f"line {node.start_mark.line + 1}: {what}", hint="Render the file again; a deploy file is not edited by hand."
    )


def mapping(node: Node, where: str, *, keys: frozenset[str]) -> Mapping[str, Node]:
    """Take a node as a mapping with none but the given keys.

    Raises:
        InputError: It is something else, or it has a key that could change what runs unseen.
    """
    if not isinstance(node, Mapping):
        raise InputError(f"{where} is not a mapping", hint="Render the file again.")
    unknown = sorted(set(node) - keys)
    if unknown:
        raise InputError(
            f"{where} has a key that no rendered file has: {', '.join(unknown)}", hint="Render the file again."
        )
    return node


def entries(node: Node, where: str) -> tuple[Node, ...]:
    """Take a node as a sequence.

    Raises:
        InputError: It is something else.
    """
    if isinstance(node, str) or not isinstance(node, Sequence):
        raise InputError(f"{where} is not a list", hint="Render the file again.")
    return tuple(node)


def string(node: Node, where: str) -> str:
    """Take a node as a string.

    Raises:
        InputError: It is something else.
    """
    if not isinstance(node, str):
        raise InputError(f"{where} is not a string", hint="Render the file again.")
    return node
