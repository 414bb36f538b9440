"""Try many patterns on a text at the price of few."""

import re
from collections.abc import Iterator, Sequence

_SHORTEST = 3
_MANY = 64
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?P<least>\d*)(?:,\d*)?\})[+?]?")
_NAMED = re.compile(r"\(\?P<\w+>")
_REACH = 4096
_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class _Reader:
    """Reads a pattern's source far enough to see which plain words no match can do without."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def alternatives(self) -> frozenset[str]:
        """Read up to the closing bracket: words of which each match holds at least one; empty where nothing is sure."""
        found = [self._sequence()]
        while self.at < len(self.source) and self.source[self.at] == "|":
            self.at += 1
            found.append(self._sequence())
        return frozenset().union(*found) if all(found) else frozenset()

    def _sequence(self) -> frozenset[str]:
        run, sure = "", list[frozenset[str]]()
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            plain, inner = self._atom()
            least, ends = self._repeats()
            if least and plain:
                run += plain
            elif least and inner:
                sure.append(inner)
            if not plain or ends:
                sure.append(frozenset({run}))
                run = ""
        sure.append(frozenset({run}))
        best = max(sure, key=lambda words: (min(map(len, words), default=0), -len(words)))
        return best if min(map(len, best), default=0) >= _SHORTEST else frozenset()

    def _atom(self) -> tuple[str, frozenset[str]]:
        """Read one atom: the character that it stands for, or the words of a group."""
        char = self.source[self.at]
        self.at += 1
        if char == "\\":
            self.at += 1
            escaped = self.source[self.at - 1]
            return ("", frozenset()) if escaped in _WORDS else (escaped, frozenset())
        if char == "[":
            self._skip_class()
            return "", frozenset()
        if char == "(":
            return "", self._group()
        return ("", frozenset()) if char in ".^$" else (char, frozenset())

    def _group(self) -> frozenset[str]:
        opened = re.compile(r"\?(?::|>|P<\w+>)").match(self.source, self.at)
        told = opened is not None or self.source[self.at] != "?"
        self.at = opened.end() if opened else self.at
        words = self.alternatives()
        self.at += 1
        return words if told else frozenset()

    def _skip_class(self) -> None:
        self.at += self.source[self.at] == "^"
        self.at += self.source[self.at] == "]"
        while self.source[self.at] != "]":
            self.at += 2 if self.source[self.at] == "\\" else 1
        self.at += 1

    def _repeats(self) -> tuple[int, bool]:
        """Read a quantifier: how often at least, and whether there is one."""
        found = _QUANTIFIER.match(self.source, self.at)
        if found is None:
            return 1, False
        self.at = found.end()
        return int(found["least"] or 0) if found["least"] is not None else int(found[0][0] == "+"), True


def needed(pattern: re.Pattern[str]) -> frozenset[str]:
    """Give words of which each match of a pattern holds at least one; empty where the source shows none of three letters."""
    if pattern.flags & (re.IGNORECASE | re.VERBOSE) or "(?i" in pattern.pattern:
        return frozenset()
    words = _Reader(pattern.pattern).alternatives()
    return words if len(words) <= _MANY else frozenset()


class Openers:
    """Patterns of which one may open a text, told apart in one go; none looks further than 4096 characters.

    Args:
        patterns: In the order in which they are to be tried; none refers back to a group.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self._patterns = tuple(patterns)
        parts = (f"(?P<_{index}>{_NAMED.sub('(?:', pattern.pattern)})" for index, pattern in enumerate(patterns))
        self._any = re.compile("|".join(parts) or "(?!)")

    def match(self, text: str) -> re.Match[str] | None:
        """Match the first pattern that opens the text."""
        found = self._any.match(text, 0, _REACH)
        if found is None or found.lastgroup is None:
            return None
        return self._patterns[int(found.lastgroup[1:])].match(text, 0, _REACH)


class Sieve:
    """Patterns in a fixed order, asked together: one is tried only where a word is that each of its matches holds.

    Args:
        patterns: In the order in which they are to be tried.
    """

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self.patterns = tuple(patterns)
        self._always = 0
        masks: dict[str, int] = {}
        for index, pattern in enumerate(self.patterns):
            words = needed(pattern)
            self._always |= 0 if words else 1 << index
            for word in words:
                masks[word] = masks.get(word, 0) | 1 << index
        self._words = tuple(masks.items())
        self.words = tuple(masks)

    def candidates(self, text: str) -> Iterator[int]:
        """Give the indices of the patterns that may match, in order."""
        mask = self._always
        for word, belongs in self._words:
            if word in text:
                mask |= belongs
        while mask:
            lowest = mask & -mask
            yield lowest.bit_length() - 1
            mask ^= lowest

    def first(self, text: str) -> tuple[int, re.Match[str]] | None:
        """Find the first pattern that matches somewhere in the text: its index and the match."""
        for index in self.candidates(text):
            found = self.patterns[index].search(text)
            if found:
                return index, found
        return None
