"""Write prompts of an exact length that no prefix cache can help with.

Every request of a workload has its own number. A prompt begins with that number, written in base ``len(pool)`` with the
lowest digit first, so that consecutive prompts differ in their very first token and no two are alike; the seed says which
token stands for 0. What follows is drawn from a hash of seed, cell, phase and position. The same seed gives the same
prompts on every Python.
"""

import hashlib
import struct
from collections.abc import Iterator
from itertools import takewhile

from dayzero.bench.model import Phase, Prompt, PromptPool, Request, TextPrompt, TokenPool, TokenPrompt, WordPool
from dayzero.core.errors import InputError
from dayzero.core.workload import Cell, Workload

_MINIMUM_POOL = 2


def requests_of(workload: Workload, cell: Cell, pool: PromptPool) -> tuple[Request, ...]:
    """Plan all requests of one cell, in the order in which they are sent: warm-up first.

    Raises:
        InputError: The cell's prompts are too short to differ from each other, or the pool is too small.
    """
    before = takewhile(lambda other: other.name != cell.name, workload.cells)
    first = sum(_size(other) for other in before)
    total = sum(_size(other) for other in workload.cells)
    return tuple(
        Request(
            cell=cell.name,
            phase=phase,
            index=index,
            prompt=_prompt(
                pool,
                length=cell.input_tokens,
                picks=_Picks(workload.seed, f"{cell.name}/{phase}/{index}", number=first + position, numbers=total),
            ),
            input_tokens=cell.input_tokens,
            output_tokens=cell.output_tokens,
        )
        for position, (phase, index) in enumerate(_order(cell))
    )


def probe_prompt(pool: PromptPool, *, length: int, key: str) -> Prompt:
    """Write one prompt outside of any workload, to see what a server makes of it.

    Args:
        pool: What it is drawn from.
        length: Planned length in tokens.
        key: Prompts with different keys are different.
    """
    return _prompt(pool, length=length, picks=_Picks(0, f"probe/{key}", number=0, numbers=1))


def corrected(pool: WordPool, *, short: tuple[int, int], long: tuple[int, int]) -> WordPool:
    """Correct a word pool by what a server reported for two prompts of different length.

    Args:
        pool: A pool without corrections, from which both prompts were written.
        short: (words sent, prompt tokens reported) of the shorter one.
        long: The same of the longer one.
    """
    slope = max((long[1] - short[1]) / (long[0] - short[0]), 1.0)
    return WordPool(words=pool.words, overhead=max(round(short[1] - slope * short[0]), 0), tokens_per_word=slope)


class _Picks:
    """Positions in a pool: first the digits of the request's number, then hashed ones."""

    def __init__(self, seed: int, key: str, *, number: int, numbers: int) -> None:
        self._seed = seed
        self._key = key
        self._number = number
        self._numbers = numbers

    def take(self, count: int, base: int) -> list[int]:
        """Give ``count`` positions below ``base``.

        Raises:
            InputError: ``count`` digits cannot tell all requests apart.
        """
        if base < _MINIMUM_POOL:
            raise InputError(
                f"a pool of {base} tokens cannot make prompts that differ", hint="Give at least two different tokens."
            )
        digits = list(_digits(self._number, self._numbers, base))
        if count < max(len(digits), 1):
            raise InputError(
                f"{self._numbers} prompts cannot all differ in {count} tokens of their own",
                hint="Ask for more input tokens, or for fewer requests.",
            )
        zeros = _hashed(f"{self._seed}", len(digits))
        shifted = [(digit + zero) % base for digit, zero in zip(digits, zeros, strict=True)]
        return shifted + [value % base for value in _hashed(f"{self._seed}/{self._key}", count - len(digits))]


def _hashed(key: str, count: int) -> list[int]:
    random_bytes = hashlib.shake_256(key.encode()).digest(4 * count)
    return [value for (value,) in struct.iter_unpack("<I", random_bytes)]


def _digits(number: int, numbers: int, base: int) -> Iterator[int]:
    largest = numbers - 1
    while largest > 0:
        yield number % base
        number //= base
        largest //= base


def _prompt(pool: PromptPool, *, length: int, picks: _Picks) -> Prompt:
    own = length - pool.overhead
    if own < 1:
        raise InputError(
            f"the server adds {pool.overhead} tokens to every prompt, so {length} input tokens cannot be planned",
            hint=f"Ask for more than {pool.overhead} input tokens.",
        )
    match pool:
        case TokenPool():
            return TokenPrompt(ids=tuple(pool.ids[pick] for pick in picks.take(own, len(pool.ids))))
        case WordPool():
            count = max(round(own / pool.tokens_per_word), 1)
            return TextPrompt(text=" ".join(pool.words[pick] for pick in picks.take(count, len(pool.words))))


def _size(cell: Cell) -> int:
    return cell.warmup_requests + cell.requests


def _order(cell: Cell) -> Iterator[tuple[Phase, int]]:
    for index in range(cell.warmup_requests):
        yield "warmup", index
    for index in range(cell.requests):
        yield "measured", index
