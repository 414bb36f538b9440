"""How what is remembered is written down, and read back."""

import base64
import json
from typing import TypeVar

from dayzero_verify.log_head import Checkpoint
from dayzero_verify.memory import Memory
from dayzero_verify.signed_note import NoteError, parse_hash
from dayzero_verify.statement import is_name
from dayzero_verify.strict_json import Json, StrictJsonError, loads
from dayzero_verify.times import TimeError, format_time, parse_time

SCHEMA = "dayzero/verify-state/v1"

_Value = TypeVar("_Value", str, int)
_MEMBERS = {"schema", "kits", "metadata", "checkpoint", "time"}


class MemoryFormatError(ValueError):
    """The bytes are not what :func:`memory_bytes` writes."""


def parse_memory(content: bytes) -> Memory:
    """Read it back.

    Raises:
        MemoryFormatError: It is something else; whoever can change it can make it forget, so it is not repaired.
    """
    try:
        document = loads(content)
        if not isinstance(document, dict) or set(document) != _MEMBERS or document["schema"] != SCHEMA:
            raise MemoryFormatError(f"not of schema {SCHEMA} with the members {', '.join(sorted(_MEMBERS))}")
        kits = _typed(document["kits"], str)
        if not all(map(is_name, kits.values())):
            raise MemoryFormatError("a version of a kit is none")
        return Memory(
            kits=kits,
            metadata=_typed(document["metadata"], int),
            checkpoint=_checkpoint(document["checkpoint"]),
            time=parse_time(document["time"]),
        )
    except (StrictJsonError, TimeError, NoteError) as error:
        raise MemoryFormatError(str(error)) from error


def memory_bytes(memory: Memory) -> bytes:
    """Write it down."""
    head = memory.checkpoint
    document = {
        "schema": SCHEMA,
        "kits": dict(sorted(memory.kits.items())),
        "metadata": dict(sorted(memory.metadata.items())),
        "checkpoint": None
        if head is None
        else {"origin": head.origin, "size": head.size, "root": base64.b64encode(head.root).decode()},
        "time": format_time(memory.time),
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def _typed(value: Json, kind: type[_Value]) -> dict[str, _Value]:
    if not isinstance(value, dict):
        raise MemoryFormatError("kits and metadata are objects")
    typed = {name: entry for name, entry in value.items() if isinstance(entry, kind) and not isinstance(entry, bool)}
    if len(typed) != len(value):
        raise MemoryFormatError("a version is not of its type")
    return typed


def _checkpoint(value: Json) -> Checkpoint | None:
    match value:
        case None:
            return None
        case {"origin": str(origin), "size": int(size), "root": str(root)}:
            return Checkpoint(origin, size, parse_hash(root))
        case _:
            raise MemoryFormatError("checkpoint is neither null nor a log's name, size and root hash")
