"""Learn what stands before every line: a rank, a host, a pod with its container, whatever the tool that put it there."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

_FIRST, _SAMPLE = 400, 4000
_LEAST = 5
_RECURS = 3
_SHARE = 0.8
_VALUES = 256
_WORD = r"[A-Za-z0-9][\w./@-]{0,99}"

# Forms of a leading piece, the more particular first. A parenthesis belongs to engines and is none.
_FORMS = (
    re.compile(rf"(?P<tag>\[{_WORD}\]):? ?"),
    re.compile(r"(?P<tag>\d{1,5}): ?"),
    re.compile(rf"(?P<tag>{_WORD}): ?"),
    re.compile(rf"(?P<tag>{_WORD} (?:\u203a )?{_WORD}) "),
    re.compile(rf"(?P<tag>{_WORD}) "),
)
# What opens a line where nothing stands before it.
_OPENS = re.compile(
    r"Traceback \(most recent|\s+File \"|\([\w. +-]+ pid=\d+|\(raylet|\[?\d{4}-\d\d-\d\d[ T]"
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?::| +\d\d-\d\d )|[EWIF]\d{4} |\[\d\d/\d\d/\d{4}-|\[TensorRT-LLM\]"
)
_LEVELS = re.compile(r"\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|[EWIF])\]?$")


@dataclass(frozen=True, slots=True)
class Tags:
    """A form of leading piece, and the values that it has in this log."""

    form: re.Pattern[str]
    values: frozenset[str]

    def match(self, text: str) -> re.Match[str] | None:
        """Match the piece at the beginning of a line."""
        found = self.form.match(text)
        return found if found is not None and found["tag"] in self.values else None


def learned(texts: Iterable[str]) -> Tags | None:
    """Find the form that opens four lines of five with few values, where lines begin anew behind it."""
    said = (text for text in texts if text.strip())
    first = list(islice(said, _FIRST))
    if len(first) < _LEAST or sum(_OPENS.match(text) is not None for text in first) > len(first) * (1 - _SHARE):
        return None
    lines = [*first, *islice(said, _SAMPLE)]
    return next((tags for form in _FORMS if (tags := _of_form(form, lines)) is not None), None)


def _of_form(form: re.Pattern[str], lines: list[str]) -> Tags | None:
    found = [(match["tag"], text[match.end() :]) for text in lines if (match := form.match(text))]
    counts = Counter(tag for tag, _ in found if not _LEVELS.match(tag))
    values = frozenset(tag for tag, count in counts.items() if count >= _RECURS)
    rests = [rest for tag, rest in found if tag in values]
    numbered = bool(values) and all(tag.isdigit() for tag in values) and len(rests) == len(lines)
    if not values or len(values) > _VALUES or len(rests) < len(lines) * _SHARE:
        return None
    return Tags(form, values) if numbered or any(_OPENS.match(rest) for rest in rests) else None
