"""Read the header of a GGUF file: metadata and the list of tensors, not the weights.

The ``gguf`` package's reader builds one array view for every token of the vocabulary, which takes seconds on a large one.
Format: ggml, docs/gguf.md, version 3.
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dayzero.core.errors import InputError

Scalar: TypeAlias = int | float | bool | str
Value: TypeAlias = Scalar | tuple[Scalar, ...]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_LONGEST_KEPT = 4096  # one number a layer is kept; vocabularies are not


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorShape:
    """One tensor: its name, its dimensions with the contiguous one first, and ggml's number of its type."""

    name: str
    dimensions: tuple[int, ...]
    type_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """What stands before the weights. Arrays of more than 4096 entries are left out, their length is kept."""

    path: Path
    values: Mapping[str, Value]
    lengths: Mapping[str, int]
    tensors: tuple[TensorShape, ...]

    @property
    def architecture(self) -> str:
        """The architecture, which is also the prefix of its hyper-parameters."""
        return str(self._value("general.architecture"))

    def number(self, key: str, default: int | None = None) -> int:
        """Read a whole-number hyper-parameter of the architecture.

        Raises:
            InputError: It is missing and there is no default, or it is not a whole number.
        """
        full = f"{self.architecture}.{key}"
        value = self.values.get(full, default) if default is not None else self._value(full)
        if not isinstance(value, int):
            raise InputError(f"{self.path.name}: {full} is not one whole number", hint="Use the weights as published.")
        return value

    def per_layer(self, key: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """Read a hyper-parameter that is one number for all layers or one number a layer."""
        value = self.values.get(f"{self.architecture}.{key}")
        if not isinstance(value, tuple):
            return (self.number(key, default),) * layers
        if len(value) < layers:
            raise InputError(
                f"{self.path.name}: {key} has {len(value)} values for {layers} layers",
                hint="Use the weights as published.",
            )
        return tuple(int(entry) for entry in value[:layers])

    def _value(self, key: str) -> Value:
        if key not in self.values:
            raise InputError(f"{self.path.name} does not say {key}", hint="Use the weights as published.")
        return self.values[key]


def read_gguf_header(path: Path) -> GgufHeader:
    """Read the header.

    Raises:
        InputError: There is no such file, it is not GGUF version 2 or 3, or it ends inside the header.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _parse(path, content)
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror or error}", hint="Give the path of a GGUF file."
        ) from error
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is not a whole GGUF file", hint="Fetch the weights again.") from error


class _Cursor:
    """A position in the mapped file."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._position = 0

    def read(self, layout: str) -> Scalar:
        (value,) = struct.unpack_from(layout, self._content, self._position)
        self._position += struct.calcsize(layout)
        return value  # type: ignore[no-any-return]

    def count(self, layout: str = "<Q") -> int:
        return int(self.read(layout))

    def take(self, length: int) -> bytes:
        taken = self._content[self._position : self._position + length]
        if len(taken) != length:
            raise ValueError("the file ends here")
        self._position += length
        return taken

    def string(self) -> str:
        return self.take(self.count()).decode()

    def skip_strings(self, number: int) -> None:
        for _ in range(number):
            self._position += 8 + struct.unpack_from("<Q", self._content, self._position)[0]


def _parse(path: Path, content: mmap.mmap) -> GgufHeader:
    cursor = _Cursor(content)
    if cursor.take(4) != _MAGIC or cursor.count("<I") not in _VERSIONS:
        raise InputError(f"{path.name} is not a GGUF file of version 2 or 3", hint="Convert the weights to GGUF.")
    tensors, pairs = cursor.count(), cursor.count()
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(pairs):
        key, kind = cursor.string(), cursor.count("<I")
        if kind == _ARRAY:
            element, lengths[key] = cursor.count("<I"), cursor.count()
            kept = _read_array(cursor, element, lengths[key])
            if kept is not None:
                values[key] = kept
        else:
            values[key] = _read_scalar(cursor, kind)
    return GgufHeader(
        path=path, values=values, lengths=lengths, tensors=tuple(_read_tensor(cursor) for _ in range(tensors))
    )


def _read_scalar(cursor: _Cursor, kind: int) -> Scalar:
    if kind == _STRING:
        return cursor.string()
    if kind not in _FORMATS:
        raise ValueError(f"no such type: {kind}")
    return cursor.read(_FORMATS[kind])


def _read_array(cursor: _Cursor, element: int, length: int) -> tuple[Scalar, ...] | None:
    if element == _STRING:
        cursor.skip_strings(length)
        return None
    if element not in _FORMATS:
        raise ValueError(f"no such element type: {element}")
    if length > _LONGEST_KEPT:
        cursor.take(length * struct.calcsize(_FORMATS[element]))
        return None
    return tuple(cursor.read(_FORMATS[element]) for _ in range(length))


def _read_tensor(cursor: _Cursor) -> TensorShape:
    name = cursor.string()
    dimensions = tuple(cursor.count() for _ in range(cursor.count("<I")))
    kind = cursor.count("<I")
    cursor.take(8)  # where its bytes begin
    return TensorShape(name=name, dimensions=dimensions, type_number=kind)
