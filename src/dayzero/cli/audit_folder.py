"""``dayzero audit --against DIR``: every launch that a folder of recipes describes."""

from collections.abc import Iterator
from pathlib import Path

from dayzero import __version__
from dayzero.audit.folder import Answered, FolderAudit, document, sarif
from dayzero.cli.console import stderr_console
from dayzero.cli.main import exit_code
from dayzero.cli.output import print_json
from dayzero.core.errors import InputError
from dayzero.core.verdict import Refuted, verdict_word
from dayzero.wiring.audit import Question
from dayzero.wiring.audit_folder import audit_folder


def audit_recipes(folder: Path, question: Question, output_format: str) -> int:
    """Audit a folder and print the answers.

    Args:
        folder: The folder.
        question: What was asked beside it.
        output_format: ``text``, ``json`` or ``sarif``.

    Raises:
        InputError: Flags were given, too.
    """
    if question.flags:
        raise InputError("flags stand in the recipes of a folder", hint="Leave away what follows --.")
    with stderr_console().status("") as status:
        found = audit_folder(folder, question, status.update)
    if output_format == "json":
        print_json(document(found, str(folder)))
    elif output_format == "sarif":
        print_json(sarif(found, __version__))
    else:
        print("\n".join(_lines(found)))
    return exit_code(found.verdict)


def _lines(audit: FolderAudit) -> Iterator[str]:
    """Write one line a launch, then what was not read, then the sum."""
    places = [f"{one.file}:{one.launch.line}" for one in audit.answers]
    wide = max((len(place) for place in places), default=0)
    for one, place in zip(audit.answers, places, strict=True):
        yield f"{verdict_word(one.verdict):<9}  {place:<{wide}}  {_summed(one)}"
    for file, why in audit.unread:
        yield f"{'not read':<9}  {file:<{wide}}  {why}"
    counts = ", ".join(f"{count} {word}" for word, count in audit.counts().items())
    files = len({one.file for one in audit.answers})
    yield ""
    yield f"{_counted(len(audit.answers), 'launch', 'launches')} in {_counted(files, 'file', 'files')}: {counts}"
    yield f"{_counted(len(audit.unread), 'file', 'files')} not read"


def _summed(one: Answered) -> str:
    on = f" on {one.launch.system.name}" if one.launch.system is not None else ""
    about = f"{one.code}{on}: " if one.code else ""
    worst = one.worst
    if worst is not None and isinstance(one.verdict, Refuted):
        resolution = f" -> {worst.resolution}" if worst.resolution else ""
        return f"{about}{worst.message}  [{worst.rule}]{resolution}"
    doubts = one.doubts
    more = f" (and {len(doubts) - 1} more)" if len(doubts) > 1 else ""
    return f"{about}{doubts[0] if doubts else one.verdict.reason}{more}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
