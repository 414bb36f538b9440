"""Say that a text is nowhere in a file; the value is ``0``.

Parameters: ``pattern``, which must match in no entry; ``control``, a pattern that must match in at least one, for a scan that
finds nothing at all may be a broken scan; ``of``, which is ``lines`` when it is left out, or ``members`` for the names in an
archive. Patterns have no groups.
"""

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locator import Locator
from dayzero.extractors.patterns import asked, compiled
from dayzero.extractors.scan import LINES, scanned


class TextAbsence:
    """Reads that something is not there. Implements ``extractors.interface.Extractor``."""

    name = "text-absence"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give ``0``.

        Raises:
            EvidenceError: There was nothing to look through, the control is not found, or the pattern is.
        """
        given = asked(parameters, needs=("pattern", "control"), may=("of",), by=self.name)
        pattern, control = compiled(given["pattern"], groups=0), compiled(given["control"], groups=0)
        of = given.get("of", LINES)
        entries = scanned(raw, locator, of)
        if not any(control.search(entry) for entry in entries):
            raise EvidenceError(
                f"the control {control.pattern!r} is found in none of {len(entries)} {of}: the scan shows nothing",
                hint="Give a control that must be there if the scan works.",
            )
        found = next((number for number, entry in enumerate(entries, 1) if pattern.search(entry)), 0)
        if found:
            raise EvidenceError(
                f"{pattern.pattern!r} is found in {of}, first in number {found}", hint="It is not absent."
            )
        return "0"


EXTRACTOR = TextAbsence()
