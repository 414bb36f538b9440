"""Read the header of a safetensors file: the tensors that it holds, not their contents."""

import os
from pathlib import Path

import msgspec

from dayzero.core.errors import InputError
from dayzero_verify.safetensors import LENGTH_BYTES, HeaderError, header_length, tensors

_POINTER = b"version https://git-lfs"  # read as a length it would be more than two exabytes


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One tensor, as the header describes it; offsets count from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def read_safetensors_header(path: Path) -> dict[str, Entry]:
    """List the tensors of a file.

    Reads the header alone; half a million tensors take about two seconds.

    Raises:
        InputError: There is no such file, it ends too early, or its header is not one: too long, no JSON, a name twice, a
            type that is not known, tensors that overlap, leave a hole, or lie beyond the end. The message has file and byte.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            prefix = file.read(LENGTH_BYTES)
            if prefix == _POINTER[:LENGTH_BYTES]:
                raise InputError(f"{path} is a Git LFS pointer, not the weights", hint="Fetch them with git lfs pull.")
            header = file.read(header_length(prefix, size))
        found = tensors(header, size)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="Give a safetensors file.") from error
    except HeaderError as error:
        message = f"{path} is not a whole safetensors file: byte {error.offset}: {error}"
        raise InputError(message, hint="Fetch it again.") from error
    return {
        name: Entry(entry["dtype"], tuple(entry["shape"]), tuple(entry["data_offsets"]))
        for name, entry in found.items()
    }
