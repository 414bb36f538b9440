"""Take a text out of a line, some lines, a span of bytes, or a member of an archive.

Parameter, optional: ``pattern``, with one group, which has to match exactly once in the whole of it; the value is what the group
matched. Without it, the value is all of it. Like every value it has to be one line, without surrounding spaces.
"""

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import locate
from dayzero.evidence.locator import LineLocator, Locator, MemberLocator, RangeLocator, SpanLocator
from dayzero.extractors.patterns import asked, compiled


class Text:
    """Reads a text as it stands there. Implements ``extractors.interface.Extractor``."""

    name = "text"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the text, or what the pattern's group matched in it.

        Raises:
            EvidenceError: The place is not there or is another one, is not UTF-8, or holds no one line; or the pattern
                matches never or more than once.
        """
        given = asked(parameters, needs=(), may=("pattern",), by=self.name)
        if not isinstance(locator, LineLocator | RangeLocator | SpanLocator | MemberLocator):
            raise EvidenceError(
                "text reads lines, bytes or a member of an archive", hint="Locate the claim by one of them."
            )
        try:
            text = locate(raw, locator).content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise EvidenceError("what stands there is not UTF-8", hint="Point at text.") from error
        value = _matched(text, given["pattern"]) if "pattern" in given else text.removesuffix("\r")
        if not value or value != " ".join(value.split()) or not value.isprintable():
            raise EvidenceError(
                "what stands there is no single line of text", hint="Point at less, or take a part of it by a pattern."
            )
        return value


def _matched(text: str, wanted: str) -> str:
    pattern = compiled(wanted, groups=1)
    values = [match[1] for match in pattern.finditer(text)]
    if len(values) != 1:
        raise EvidenceError(
            f"{wanted!r} matches {len(values)} times, not once", hint="Make the pattern say which text is meant."
        )
    return values[0] or ""


EXTRACTOR = Text()
