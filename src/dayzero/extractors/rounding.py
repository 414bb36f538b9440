"""Print a number that stands in a file: as it is written, or rounded in decimal arithmetic, half to even."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation

from dayzero.core.errors import EvidenceError

_HINT = "See docs/reference/evidence.md for what extractors take."
_MOST_DECIMALS = 15
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_ARITHMETIC = Context(prec=400, rounding=ROUND_HALF_EVEN)


def printed(value: str, parameters: tuple[tuple[str, str], ...], *, by: str) -> str:
    """Print a value; the one parameter there may be is ``decimals``, 0 to 15.

    Args:
        value: The value as it is written in the file.
        parameters: What the extractor was asked.
        by: The extractor's name, for messages.

    Raises:
        EvidenceError: There are other parameters, or decimals are asked of what is no number.
    """
    if not parameters:
        return value
    if [name for name, _ in parameters] != ["decimals"]:
        raise EvidenceError(f"{by} takes one parameter: decimals", hint=_HINT)
    return _rounded(value, decimals_of(parameters[0][1], most=_MOST_DECIMALS))


def decimals_of(text: str, *, most: int) -> int:
    """Read how many decimals are asked for.

    Raises:
        EvidenceError: It is no number from 0 to ``most``.
    """
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > most:
        raise EvidenceError(f"decimals must be 0 to {most}, not {text!r}", hint=_HINT)
    return int(text)


def _rounded(value: str, decimals: int) -> str:
    if not _NUMBER.fullmatch(value):
        raise EvidenceError(f"{value!r} is not a number that can be rounded", hint="Leave out decimals.")
    try:
        rounded = Decimal(value).quantize(Decimal(1).scaleb(-decimals), context=_ARITHMETIC.copy())
    except InvalidOperation as error:
        raise EvidenceError(f"{value} has too many digits to be rounded", hint="Leave out decimals.") from error
    return f"{rounded:f}"
