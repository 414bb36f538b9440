"""Take one value out of a JSON file, by its RFC 6901 pointer.

A number is given as it is written in the file, digit for digit; a string without its quotation marks; ``true`` and ``false`` as
those words. Parameter, optional: ``decimals`` (0 to 15) rounds a number in decimal arithmetic, half to even.
"""

import json
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import locate_pointer
from dayzero.evidence.model import Locator, PointerLocator

_HINT = "See docs/reference/evidence.md for what json-value@1 takes."
_MOST_DECIMALS = 15
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_ARITHMETIC = Context(prec=400, rounding=ROUND_HALF_EVEN)


class JsonValue:
    """Reads one number, string or truth value. Implements ``extractors.interface.Extractor``."""

    name = "json-value"
    version = 1

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the value.

        Raises:
            EvidenceError: The file is not JSON with one meaning, nothing is there, or what is there is no single value.
        """
        if not isinstance(locator, PointerLocator):
            raise EvidenceError("json-value reads one value", hint="Locate the claim by a JSON pointer.")
        value = _plain(locate_pointer(raw, locator).literal, locator.pointer)
        return value if not parameters else _rounded(value, _decimals(parameters))


def _plain(literal: str, pointer: str) -> str:
    if literal == "null" or literal.startswith(("{", "[")):
        what = {"{": "an object", "[": "an array"}.get(literal[0], "null")
        raise EvidenceError(
            f"{what} stands at {pointer!r}, not a value", hint="Point at a number, a string or a truth value."
        )
    value = str(json.loads(literal)) if literal.startswith('"') else literal
    if not value:
        raise EvidenceError(f"an empty string stands at {pointer!r}", hint="Point at a value that says something.")
    return value


def _decimals(parameters: tuple[tuple[str, str], ...]) -> int:
    if [name for name, _ in parameters] != ["decimals"]:
        raise EvidenceError("json-value takes one parameter: decimals", hint=_HINT)
    text = parameters[0][1]
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > _MOST_DECIMALS:
        raise EvidenceError(f"decimals must be 0 to {_MOST_DECIMALS}, not {text!r}", hint=_HINT)
    return int(text)


def _rounded(value: str, decimals: int) -> str:
    if not _NUMBER.fullmatch(value):
        raise EvidenceError(f"{value!r} is not a number that can be rounded", hint="Leave out decimals.")
    try:
        rounded = Decimal(value).quantize(Decimal(1).scaleb(-decimals), context=_ARITHMETIC.copy())
    except InvalidOperation as error:
        raise EvidenceError(f"{value} has too many digits to be rounded", hint="Leave out decimals.") from error
    return f"{rounded:f}"


EXTRACTOR = JsonValue()
