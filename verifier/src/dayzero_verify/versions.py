"""Which of two versions is the older one."""

import re
from typing import TypeAlias

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)", re.ASCII)
_TOKEN = re.compile(r"\d+|[a-z]+", re.ASCII)
_BEFORE_A_RELEASE = ("dev", "alpha", "a", "beta", "b", "preview", "pre", "c", "rc")
_ZERO = (0, "")
_RANKS = {"alpha": "a", "beta": "b", "preview": "rc", "pre": "rc", "c": "rc", "dev": ""}

_Number: TypeAlias = tuple[int, str]
_Order: TypeAlias = tuple[tuple[_Number, ...], int, tuple[tuple[int, _Number, str], ...]]


def is_older(version: str, other: str) -> bool:
    """Say whether a version comes before another one.

    Dotted numbers count as numbers, zeros at their end for nothing (``1.0`` is ``1``). Words that announce a release (dev,
    alpha, beta, pre, rc) come before it, whatever else follows comes after it; there, numbers and words are compared in turn.
    """
    return _order(version) < _order(other)


def _order(version: str) -> _Order:
    text = version.lower()
    match = _RELEASE.match(text)
    numbers = [_number(part) for part in match[1].split(".")] if match else []
    while numbers and numbers[-1] == _ZERO:
        numbers.pop()
    tokens = _TOKEN.findall(text[match.end() :] if match else text)
    stage = 0 if not tokens else -1 if tokens[0] in _BEFORE_A_RELEASE else 1
    return tuple(numbers), stage, tuple(map(_rank, tokens))


def _rank(token: str) -> tuple[int, _Number, str]:
    return (1, _number(token), "") if token.isdigit() else (0, _ZERO, _RANKS.get(token, token))


def _number(digits: str) -> _Number:
    """Give what orders whole numbers of any length, which ``int`` would refuse from some length on."""
    plain = digits.lstrip("0")
    return len(plain), plain
