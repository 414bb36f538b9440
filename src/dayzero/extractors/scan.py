"""List what a text extractor looks through: lines of a file, of some lines or of an archive's member, or an archive's names."""

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import locate_member, locate_range
from dayzero.evidence.locator import Locator, MemberLocator, RangeLocator, WholeFile
from dayzero.evidence.raw_bytes import once
from dayzero.evidence.zip_members import ZipMembers

LINES, MEMBERS = "lines", "members"


def scanned(raw: bytes, locator: Locator, of: str) -> tuple[str, ...]:
    """List the entries, each without its newline; a byte that is not UTF-8 stands there as a lone surrogate.

    Args:
        raw: The file.
        locator: The file as a whole, lines of it, or a member of the archive that it is.
        of: ``lines``, or ``members`` for the names in an archive.

    Raises:
        EvidenceError: There is no such thing there, or nothing in it.
    """
    match of, locator:
        case "lines", WholeFile():
            entries = once(raw, _lines)
        case "lines", RangeLocator():
            entries = tuple(line.decode("utf-8", "surrogateescape") for line in locate_range(raw, locator))
        case "lines", MemberLocator():
            entries = _lines(locate_member(raw, locator))
        case "members", WholeFile():
            entries = once(raw, ZipMembers).names
        case "lines" | "members", _:
            raise EvidenceError(
                f"{of} are looked for in a file, {'in lines of it, in a member of it' if of == LINES else 'as a whole'}",
                hint="Locate the claim so.",
            )
        case _:
            raise EvidenceError(f"'of' is {LINES} or {MEMBERS}, not {of!r}", hint="Say what is looked through.")
    if not any(entries):
        raise EvidenceError(f"there are no {of} to look through", hint="Point at a file that holds something.")
    return entries


def _lines(raw: bytes) -> tuple[str, ...]:
    return tuple(raw.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"))
