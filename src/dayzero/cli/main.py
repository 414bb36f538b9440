"""Entry point: dispatch, errors to ``error:`` and ``hint:``, families of errors to exit codes."""

import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from dayzero import __version__
from dayzero.cli.commands import COMMANDS, CommandEntry
from dayzero.core.errors import DayzeroError, EvidenceError, InputError, IntegrityError, RemoteError
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict

PROVEN, FINDINGS, USAGE, UNDECIDED, INTEGRITY = 0, 1, 2, 3, 4
INTERRUPTED = 130

_YOUNG = 50_000  # things made before the collector looks for cycles; with Python's own 700 a start takes 5 % longer

_EXIT_CODES: tuple[tuple[type[DayzeroError], int], ...] = (
    (InputError, USAGE),
    (RemoteError, UNDECIDED),
    (IntegrityError, INTEGRITY),
    (EvidenceError, FINDINGS),
)

_UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)
_ROOM = "Make room there, or write elsewhere; what the command keeps in files is kept."


def root_help() -> str:
    """Write the overview without loading any command, so that it answers at once."""
    width = max(len(entry.name) for entry in COMMANDS)
    lines = [
        "Usage: dayzero COMMAND [OPTIONS]",
        "",
        "From public weights to a verified, measured, signed endpoint on your own hardware.",
        "",
        "Commands:",
        *(f"  {entry.name:<{width}}  {entry.question}" for entry in COMMANDS),
        "",
        "Options:",
        f"  {'--help':<{width}}  Show this overview; after a command, show that command",
        f"  {'--version':<{width}}  Show the version",
        "",
        "Exit codes: 0 proven or done, 1 findings, 2 usage or bad input, 3 undecided or remote failure, 4 integrity",
        "",
        "Start with: dayzero demo",
    ]
    return "\n".join(lines)


def run(argv: Sequence[str]) -> int:
    """Run one command line and give its exit code.

    Args:
        argv: The words after ``dayzero``.
    """
    if not argv or argv[0] in {"-h", "--help", "help"}:
        print(root_help())
        return PROVEN if argv else USAGE
    if argv[0] in {"--version", "-V"}:
        print(f"dayzero {__version__}")
        return PROVEN
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
    except DayzeroError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return next((code for family, code in _EXIT_CODES if isinstance(error, family)), FINDINGS)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        if error.errno not in _UNWRITTEN:
            raise
        _discard(sys.stdout)
        if error.errno != errno.EPIPE:
            print(f"error: the result cannot be written: {error.strerror}\nhint: {_ROOM}", file=sys.stderr)
        return UNDECIDED
    return code


def _dispatch(argv: Sequence[str]) -> int:
    entry = _find(argv[0])
    import cyclopts  # noqa: PLC0415  (the overview and an unknown word must not wait for it)

    app = cyclopts.App(name="dayzero", help_format="plaintext", version_flags=[], suppress_keyboard_interrupt=False)
    app.command(entry.home, name=entry.name)
    if list(argv[1:]) in ([], ["-h"], ["--help"]):
        for name in app[entry.name]:
            app[entry.name][name]  # an overview says what each command is for, so here they are all loaded
    try:
        code = app(list(argv), exit_on_error=False, print_error=False, result_action="return_value")
    except cyclopts.CycloptsError as error:
        raise InputError(" ".join(str(error).split()), hint=f"Try 'dayzero {entry.name} --help'.") from error
    return code if isinstance(code, int) else PROVEN


def _find(word: str) -> CommandEntry:
    for entry in COMMANDS:
        if entry.name == word:
            return entry
    import difflib  # noqa: PLC0415  (only a word that is no command needs it)

    near = difflib.get_close_matches(word, [entry.name for entry in COMMANDS], n=1)
    raise InputError(
        f"no command {word!r}",
        hint=f"Did you mean 'dayzero {near[0]}'?" if near else "See 'dayzero --help' for the commands.",
    )


def exit_code(verdict: Verdict) -> int:
    """Give the exit code of one of the three answers."""
    match verdict:
        case Proven():
            return PROVEN
        case Refuted():
            return FINDINGS
        case Undecided():
            return UNDECIDED


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _discard(stream: TextIO) -> None:
    """Let what could not be written go to nowhere, so that the end of the process does not try once more."""
    with _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def main() -> None:
    """Run the command line of this process; a request to end is heard as Ctrl-C is, so that engines are stopped too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gc.set_threshold(_YOUNG)
    # A closed stream is None, and the next file that is opened would take its number and what libraries write there.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    code = run(sys.argv[1:])
    gc.freeze()  # the process ends: its last looks for cycles would walk all that is still held, as long as an audit itself
    sys.exit(code)
