"""Count the lines of a text, or the files of an archive, that a pattern matches.

Parameters: ``pattern``, without groups; ``of``, which is ``lines`` when it is left out, or ``members`` for the names in an archive.
An entry counts once, however often the pattern matches in it. Zero is refused: that something is absent needs a control.
"""

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locator import Locator
from dayzero.extractors.patterns import asked, compiled
from dayzero.extractors.scan import LINES, scanned


class TextCount:
    """Counts matching entries. Implements ``extractors.interface.Extractor``."""

    name = "text-count"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the number of entries in which the pattern matches.

        Raises:
            EvidenceError: There was nothing to look through, or nothing matches.
        """
        given = asked(parameters, needs=("pattern",), may=("of",), by=self.name)
        pattern = compiled(given["pattern"], groups=0)
        of = given.get("of", LINES)
        entries = scanned(raw, locator, of)
        found = sum(1 for entry in entries if pattern.search(entry))
        if not found:
            raise EvidenceError(
                f"{pattern.pattern!r} is found in none of {len(entries)} {of}",
                hint="Claim an absence with text-absence@1, which takes a control.",
            )
        return str(found)


EXTRACTOR = TextCount()
