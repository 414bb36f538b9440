"""Take a percentile of the numbers that stand at one pointer in the lines of a JSON-lines file.

Parameters: ``pointer``; ``quantile``, ``p1`` to ``p99``; ``decimals``, 0 to 6. The percentile is the one of
:mod:`dayzero.bench.metrics`, and is given only where there are as many lines as certify it by the rule there. Every line counts,
of the file or of the lines that the claim points at; a line without a number there is an error, and so is an empty line.
"""

import json
import re

from dayzero.bench.metrics import minimum_sample, percentile
from dayzero.core.errors import EvidenceError
from dayzero.evidence.json_text import JsonText
from dayzero.evidence.locate import line_count, lines_between, locate_range
from dayzero.evidence.locator import Locator, RangeLocator, WholeFile
from dayzero.extractors.patterns import asked
from dayzero.extractors.rounding import decimals_of

_MOST_DECIMALS = 6
_QUANTILE = re.compile(r"p([1-9][0-9]?)")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_NUMBER = re.compile(r"-?[0-9]")
_HINT = "See docs/reference/evidence.md for what jsonl-quantile@1 takes."


class JsonlQuantile:
    """Reads one number a line. Implements ``extractors.interface.Extractor``."""

    name = "jsonl-quantile"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the percentile as it is printed.

        Raises:
            EvidenceError: A line has no number there, or there are too few lines to certify the percentile.
        """
        given = asked(parameters, needs=("pointer", "quantile", "decimals"), by=self.name)
        quantile, decimals = _QUANTILE.fullmatch(given["quantile"]), decimals_of(given["decimals"], most=_MOST_DECIMALS)
        if quantile is None or not _POINTER.fullmatch(given["pointer"]):
            raise EvidenceError(f"no quantile {given['quantile']!r} at {given['pointer']!r}", hint=_HINT)
        first, lines = _lines(raw, locator)
        values = sorted(_number(line, given["pointer"], first + index) for index, line in enumerate(lines))
        rank = float(quantile[1])
        needed = minimum_sample(rank)
        if len(values) < needed:
            raise EvidenceError(
                f"n too small: {given['quantile']} needs {needed} lines, there are {len(values)}", hint="Measure more."
            )
        return f"{percentile(values, rank):.{decimals}f}"


def _lines(raw: bytes, locator: Locator) -> tuple[int, tuple[bytes, ...]]:
    match locator:
        case RangeLocator(first=first):
            return first, locate_range(raw, locator)
        case WholeFile():
            return 1, lines_between(raw, 1, line_count(raw))
        case _:
            raise EvidenceError("jsonl-quantile reads lines", hint="Locate the claim by the file or by lines of it.")


def _number(line: bytes, pointer: str, number: int) -> float:
    try:
        document = JsonText(line)
        start, end = document.span(pointer)
    except EvidenceError as error:
        raise EvidenceError(f"line {number}: {error.message}", hint=error.hint) from error
    literal = document.text[start:end]
    value = float(json.loads(literal)) if _NUMBER.match(literal) else float("nan")
    if value - value != 0:  # neither nan nor infinite, which 1e999 would be
        raise EvidenceError(f"line {number}: {literal} stands at {pointer!r}, not a number", hint=_HINT)
    return value


EXTRACTOR = JsonlQuantile()
