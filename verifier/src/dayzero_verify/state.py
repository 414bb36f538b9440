"""Write what is to be remembered, so that a run that is killed leaves the old file or the new one, never half of one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from dayzero_verify.inputs import UnreadableError
from dayzero_verify.memory import Memory
from dayzero_verify.memory_format import memory_bytes


def write_memory(path: Path, memory: Memory) -> None:
    """Write a state file.

    Raises:
        UnreadableError: It cannot be written.
    """
    write_whole(path, memory_bytes(memory), "state")


def write_whole(path: Path, content: bytes, noun: str) -> None:
    """Put a file in its place in one step, readable by all as the umask allows.

    Raises:
        UnreadableError: It cannot be written; what was there still is.
    """
    made = None
    try:
        descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(made, path)  # noqa: PTH105  (mkstemp gives a text)
    except OSError as error:
        if made is not None:
            with suppress(OSError):
                os.unlink(made)  # noqa: PTH108  (same)
        raise UnreadableError(
            f"cannot write the {noun} {path}: {error.strerror}", hint="name a file in a folder that you may write"
        ) from error
