r"""Take a value out of one line of a text file, by a regular expression with one group.

Parameter: ``pattern``. It has to match in the line exactly once; the value is what its group matched. The line is UTF-8, and
``\d``, ``\w`` and ``\s`` mean their ASCII characters, whatever the locale.
"""

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import locate_line
from dayzero.evidence.locator import LineLocator, Locator
from dayzero.extractors.patterns import compiled

_HINT = "See docs/reference/evidence.md for what text-line@1 takes."


class TextLine:
    """Reads one group of one line. Implements ``extractors.interface.Extractor``."""

    name = "text-line"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give what the pattern's group matched in the line.

        Raises:
            EvidenceError: The line is not there or is another one, or the pattern matches in it never or more than once.
        """
        if not isinstance(locator, LineLocator):
            raise EvidenceError("text-line reads one line", hint="Locate the claim by a line.")
        pattern = compiled(_wanted(parameters), groups=1)
        try:
            line = locate_line(raw, locator).decode("utf-8")
        except UnicodeDecodeError as error:
            raise EvidenceError(f"line {locator.line} is not UTF-8", hint=_HINT) from error
        values = [match[1] for match in pattern.finditer(line)]
        if len(values) != 1:
            raise EvidenceError(
                f"{pattern.pattern!r} matches {len(values)} times in line {locator.line}, not once",
                hint="Make the pattern say which text of the line is meant.",
            )
        if not values[0]:
            raise EvidenceError(f"{pattern.pattern!r} matches nothing in line {locator.line}", hint=_HINT)
        return values[0]


def _wanted(parameters: tuple[tuple[str, str], ...]) -> str:
    if [name for name, _ in parameters] != ["pattern"]:
        raise EvidenceError("text-line takes one parameter: pattern", hint=_HINT)
    return parameters[0][1]


EXTRACTOR = TextLine()
