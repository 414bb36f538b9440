r"""Read what an extractor was asked for with regular expressions.

``\d``, ``\w`` and ``\s`` mean their ASCII characters, whatever the locale.
"""

import re
from collections.abc import Iterable

from dayzero.core.errors import EvidenceError

_HINT = "See docs/reference/evidence.md for what extractors take."
_LONGEST = 512


def asked(
    parameters: tuple[tuple[str, str], ...], *, needs: Iterable[str], may: Iterable[str] = (), by: str
) -> dict[str, str]:
    """Read parameters by name.

    Args:
        parameters: What the extractor was asked.
        needs: The names that have to be there.
        may: The names that may be there.
        by: The extractor's name, for messages.

    Raises:
        EvidenceError: One is missing, there twice, or not known.
    """
    given, needed = dict(parameters), tuple(needs)
    if len(given) != len(parameters) or not set(needed) <= given.keys() <= {*needed, *may}:
        takes = ", ".join((*needed, *(f"{name} (may be left out)" for name in may)))
        raise EvidenceError(f"{by} takes {takes}", hint=_HINT)
    return given


def compiled(text: str, *, groups: int) -> re.Pattern[str]:
    """Compile a pattern with so many groups.

    Raises:
        EvidenceError: It is too long, no regular expression, or has another number of groups.
    """
    if len(text) > _LONGEST:
        raise EvidenceError(f"the pattern is longer than {_LONGEST} characters", hint=_HINT)
    try:
        pattern = re.compile(text, re.ASCII)
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        raise EvidenceError(f"{text!r} is not a regular expression: {error}", hint=_HINT) from error
    if pattern.groups != groups:
        wanted = "one" if groups == 1 else "none"
        raise EvidenceError(f"{text!r} has {pattern.groups} groups, not {wanted}", hint=_HINT)
    return pattern
