"""Become the program that uses the checked files, unless the kit or one of them has changed since."""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.inputs import UnreadableError, read_file
from dayzero_verify.report import ExitCode, Outcome, Row, Status
from dayzero_verify.weights import Seen, unchanged


@dataclass(frozen=True, slots=True)
class SeenKit:
    """Where the kit lies, and the digest that it had when it was checked."""

    path: Path
    sha256: str


def hand_over(words: Sequence[str], kit: SeenKit, folder: Path, seen: Sequence[Seen]) -> Outcome:
    """Look at kit and checked files a last time and put another program in this one's place; comes back only to refuse.

    Between that look and the other program's own opening of a file somebody could still write to it; a file system that is mounted
    read-only is what rules that out.

    Args:
        words: The program, looked up in ``PATH``, and its arguments.
        kit: The archive, from which the program may have been unpacked.
        folder: The model's folder.
        seen: Its files, as they were when they were checked.

    Raises:
        UnreadableError: The program cannot be started, or the kit is gone.
    """
    changed = _other_kit(kit) or unchanged(folder, seen)
    if changed is not None:
        return changed
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these, and what is ignored is inherited.
    former = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    try:
        os.execvp(words[0], list(words))  # noqa: S606  (the user's own words, without a shell)
    except (OSError, ValueError) as error:
        for number, handler in former.items():
            signal.signal(number, handler)
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableError(
            f"cannot start {words[0]!a}: {why}", hint="give --exec a program and its arguments"
        ) from error


def _other_kit(kit: SeenKit) -> Outcome | None:
    found = sha256(read_file(kit.path, MAX_ARCHIVE_BYTES, "kit")).hexdigest()
    if found == kit.sha256:
        return None
    reason = f"the archive was changed after it was checked: it has sha256 {found}, it had {kit.sha256}"
    return Outcome(Row("subject", Status.FAIL, reason), ExitCode.DIGEST)
