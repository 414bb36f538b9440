"""Remember which files were hashed, so that a run that was killed is taken up where it stopped.

One line of JSON a finished file, appended; the state of a hash cannot be kept, so a file that was not finished is hashed anew.
"""

import dataclasses
import json
import os
import re
import stat
from pathlib import Path
from typing import Self

from dayzero_verify.inputs import UnreadableError
from dayzero_verify.model_files import Identity
from dayzero_verify.strict_json import StrictJsonError, loads

SCHEMA = "dayzero/weights-resume/v1"
_MAX_BYTES = 64 * 1024 * 1024
_NUMBER = re.compile(r"[0-9]{1,20}")
_MEMBERS = {field.name for field in dataclasses.fields(Identity)}


class ResumeFile:
    """The file, open for as long as this is; a digest in it counts only for a file that nobody has written to since.

    Whoever can write to it can name any digest, so it has to be the user's own.

    Args:
        path: The file; made where it is not there.
        fresh: Begin anew: what it holds is dropped.

    Raises:
        UnreadableError: It cannot be opened, is no regular file, belongs to somebody else, or others can write to it.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        try:
            self._descriptor = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
            )
        except (OSError, ValueError) as error:
            raise _unusable(path, error.strerror or str(error) if isinstance(error, OSError) else str(error)) from error
        try:
            self._finished = self._read(path, fresh=fresh)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def digest(self, identity: Identity) -> str:
        """Give the SHA-256 that a file was found to have, ``""`` where that is not known."""
        return self._finished.get(identity, "")

    def add(self, path: str, identity: Identity, sha256: str) -> None:
        """Remember a finished file; one write, so that a line is there whole or is not counted."""
        # As texts: a time in nanoseconds is more than a JSON number holds everywhere.
        members = {name: str(value) for name, value in dataclasses.asdict(identity).items()}
        line = {"schema": SCHEMA, "path": path, **members, "sha256": sha256}
        os.write(self._descriptor, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._finished[identity] = sha256

    def _read(self, path: Path, *, fresh: bool) -> dict[Identity, str]:
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, "it is no regular file")
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _unusable(path, "others than you can write to it, and so could name any digest")
        if fresh:
            os.ftruncate(self._descriptor, 0)
        if os.fstat(self._descriptor).st_size > _MAX_BYTES:
            raise _unusable(path, f"it has more than {_MAX_BYTES} bytes")
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            content = file.read()
        if content and not content.endswith(b"\n"):
            os.write(self._descriptor, b"\n")  # whoever wrote the last line was killed; the next one begins anew
        return dict(filter(None, map(_entry, content.split(b"\n"))))


def _entry(line: bytes) -> tuple[Identity, str] | None:
    """Read a line, ``None`` where it is torn or another program's."""
    try:
        members = loads(line)
    except StrictJsonError:
        members = None
    if not isinstance(members, dict) or members.get("schema") != SCHEMA:
        return None
    numbers = {name: int(text) for name in _MEMBERS if _NUMBER.fullmatch(text := str(members.get(name)))}
    digest = members.get("sha256")
    if numbers.keys() != _MEMBERS or not isinstance(digest, str):
        return None
    return Identity(**numbers), digest


def _unusable(path: Path, why: str) -> UnreadableError:
    return UnreadableError(
        f"cannot resume from {path}: {why}", hint="give --resume a file of your own; it is made where it is not there"
    )
