"""Read ggml's table of tensor types from the bytes of a shared object.

The table is the array ``type_traits`` (ggml, src/ggml.c): for each type the address of its name, the numbers in a block,
a number that is 0 today, the bytes of a block, a flag, and two functions. A removed type keeps its place with 0 bytes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.audit.elf import ElfImage, parse_elf
from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place

_SHARED_OBJECT = re.compile(r".*\.so(?:\.\d+)*")
_ENTRY_BYTES = 56
_BLOCK_NUMBERS, _BLOCK_BYTES = 8, 24

# The first types have had these places since GGUF exists: (name, numbers in a block, bytes of a block). They show that
# what was found is the table, and that its entries have the layout that is assumed here.
_FIRST_TYPES = (("f32", 1, 4), ("f16", 1, 2), ("q4_0", 32, 18), ("q4_1", 32, 20))


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorType:
    """One type: its name, the numbers in a block, the bytes of a block, and the address of its name."""

    name: str
    block_numbers: int
    block_bytes: int
    address: int


def read_tensor_types(files: BuildFiles) -> Facts:
    """Read the table from the one shared object that carries it."""
    noun, found = "tensor type", []
    for name in files.names():
        image = _image(files, name) if _SHARED_OBJECT.fullmatch(name) else None
        if image is not None:
            found += [(name, image, table) for table in _tables(image)]
    if len(found) != 1:
        count = "no table" if not found else f"{len(found)} tables"
        return Unread(noun=noun, reason=f"{count} of ggml's tensor types in the shared objects of {files.artifact}")
    name, image, table = found[0]
    types = tuple(_types(image, table))
    usable = tuple(kind for kind in types if kind.block_bytes > 0)
    entries = tuple((kind.name, _place(files, name, image.offset(kind.address), kind.name)) for kind in usable)
    quote = f"array of {len(types)} types, {len(usable)} in use, {entries[0][0]} to {entries[-1][0]}"
    return FactTable(noun=noun, entries=entries, place=_place(files, name, image.offset(table), quote))


def _image(files: BuildFiles, name: str) -> ElfImage | None:
    try:
        return parse_elf(files.read(name))
    except InputError:
        return None


def _tables(image: ElfImage) -> Iterator[int]:
    """Give the addresses of the arrays that begin as the table does."""
    for start in image.slots_of(image.addresses_of(_FIRST_TYPES[0][0])):
        first = tuple(_types(image, start, limit=len(_FIRST_TYPES)))
        if tuple((kind.name, kind.block_numbers, kind.block_bytes) for kind in first) == _FIRST_TYPES:
            yield start


def _types(image: ElfImage, start: int, limit: int = 256) -> Iterator[TensorType]:
    for address in range(start, start + limit * _ENTRY_BYTES, _ENTRY_BYTES):
        name = image.text_behind(address)
        numbers, size = image.int64(address + _BLOCK_NUMBERS), image.int64(address + _BLOCK_BYTES)
        if name is None or numbers is None or size is None:
            return
        yield TensorType(name=name, block_numbers=numbers, block_bytes=size, address=image.pointers[address])


def _place(files: BuildFiles, name: str, offset: int | None, quote: str) -> Place:
    return Place(artifact=files.artifact, file=name, position=f"byte {offset or 0:#x}", quote=quote)
