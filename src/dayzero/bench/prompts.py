"""Write prompts of an exact length that no prefix cache can help with, unless the workload says that they share tokens.

Every request of a workload has its own number. A prompt begins with that number, written in base ``len(pool)`` with the
lowest digit first, so that consecutive prompts differ in their very first token and no two are alike; the seed says which
token stands for 0. What follows is drawn from a hash of seed, cell, phase and position. Where tokens are shared, the number
comes after them. A nonce shifts the first few tokens of every prompt and leaves the rest. The same seed gives the same
prompts on every Python.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from itertools import takewhile

from dayzero.bench.model import Phase, Prompt, PromptPool, Request, TextPrompt, TokenPool, TokenPrompt, WordPool
from dayzero.core.errors import InputError
from dayzero.core.workload import Cell, Workload

_MINIMUM_POOL = 2
_NONCES = 2**32


class PromptWriter:
    """Writes the prompts of one cell, each when it is asked for: about 0.1 us a token.

    Text is handled as the positions of its tokens (or words) in the pool, here called picks.

    Raises:
        InputError: The cell's prompts are too short to differ from each other, or the pool is too small.
    """

    def __init__(self, workload: Workload, cell: Cell, pool: PromptPool) -> None:
        self.cell = cell
        self.pool = pool
        self._seed = workload.seed
        self._base = _base(pool)
        self._first = sum(other.size for other in takewhile(lambda other: other.name != cell.name, workload.cells))
        numbers = sum(other.size for other in workload.cells)
        self._width = sum(1 for _ in _digits(0, numbers, self._base))
        self._zeros = _hashed(f"{self._seed}", self._width)
        self._shift: Sequence[int] = ()
        if workload.nonce:
            width = sum(1 for _ in _digits(0, _NONCES, self._base))
            self._shift = _hashed(f"{self._seed}/nonce/{workload.nonce}", width)
        self._numbers = numbers
        self._prefix = self.shared("shared", cell.shared_prefix_tokens)

    def drawn(self, position: int, due_ns: int | None = None) -> Request:
        """Write one request with the cell's own lengths."""
        prompt = self.prompt(self.opening(position))
        return self.request(position, prompt, due_ns=due_ns)

    def opening(self, position: int) -> list[int]:
        """Draw a prompt of the cell's length: what all share, then what is its own."""
        return self._prefix + self.numbered(position, self.own(self.cell.input_tokens) - len(self._prefix))

    def own(self, tokens: int) -> int:
        """Give the picks of a prompt of ``tokens`` tokens as the server counts them.

        Raises:
            InputError: The server alone adds as many.
        """
        own = tokens - self.pool.overhead
        if own < 1:
            raise InputError(
                f"the server adds {self.pool.overhead} tokens to every prompt, so {tokens} input tokens cannot be planned",
                hint=f"Ask for more than {self.pool.overhead} input tokens.",
            )
        return self.picks(own)

    def picks(self, tokens: int) -> int:
        """Give the picks that make ``tokens`` tokens, at least one for any."""
        match self.pool:
            case TokenPool():
                return tokens
            case WordPool(tokens_per_word=each):
                return max(round(tokens / each), min(tokens, 1))

    def numbered(self, position: int, count: int, *, may_be_cut: bool = False) -> list[int]:
        """Draw picks that begin with the number of the request, and so differ from all others.

        A longer draw for one position continues a shorter one.

        Args:
            position: Of the request in its cell.
            count: How many.
            may_be_cut: Fewer picks than the number has digits are given as they are, in place of an error.

        Raises:
            InputError: ``count`` picks cannot tell all requests apart.
        """
        if count < max(self._width, 1) and not may_be_cut:
            raise InputError(
                f"{self._numbers} prompts cannot all differ in {max(count, 0)} tokens of their own",
                hint="Ask for more input tokens, or for fewer requests.",
            )
        digits = _digits(self._first + position, self._numbers, self._base)
        number = [(digit + zero) % self._base for digit, zero in zip(digits, self._zeros, strict=True)]
        phase, index = self._place(position)
        return number[:count] + self._body(f"{self.cell.name}/{phase}/{index}", count - self._width)

    def shared(self, key: str, tokens: int) -> list[int]:
        """Draw picks for ``tokens`` tokens that are the same wherever the key is; a longer draw continues a shorter one."""
        return self._body(key, self.picks(tokens))

    def prompt(self, picks: list[int]) -> Prompt:
        """Turn all picks of a prompt, from its very first one, into what is sent."""
        front = [(pick + shift) % self._base for pick, shift in zip(picks, self._shift, strict=False)]
        return _written(self.pool, front + picks[len(front) :] if front else picks)

    def request(  # noqa: PLR0913  (what a request has beyond its number)
        self,
        position: int,
        prompt: Prompt,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        exact: bool = True,
        due_ns: int | None = None,
        session: int | None = None,
        turn: int = 0,
    ) -> Request:
        """Plan the request at a position of the cell: warm-up comes first; the lengths are the cell's unless given."""
        phase, index = self._place(position)
        return Request(
            number=self._first + position,
            cell=self.cell.name,
            phase=phase,
            index=index,
            prompt=prompt,
            input_tokens=self.cell.input_tokens if input_tokens is None else input_tokens,
            output_tokens=self.cell.output_tokens if output_tokens is None else output_tokens,
            exact=exact,
            due_ns=due_ns,
            session=position if session is None else session,
            turn=turn,
        )

    def _body(self, key: str, count: int) -> list[int]:
        return [value % self._base for value in _hashed(f"{self._seed}/{key}", max(count, 0))]

    def _place(self, position: int) -> tuple[Phase, int]:
        warmup = self.cell.warmup_requests
        return ("warmup", position) if position < warmup else ("measured", position - warmup)


def probe_prompt(pool: PromptPool, *, length: int, key: str) -> Prompt:
    """Write one prompt outside of any workload, to see what a server makes of it.

    Args:
        pool: What it is drawn from.
        length: Planned length in tokens.
        key: Prompts with different keys are different.
    """
    probe = Cell(name="probe", concurrency=1, requests=1, warmup_requests=0, input_tokens=length, output_tokens=1)
    writer = PromptWriter(Workload(seed=0, cells=(probe,)), probe, pool)
    return writer.prompt(writer.shared(f"probe/{key}", length - pool.overhead))


def corrected(pool: WordPool, *, short: tuple[int, int], long: tuple[int, int]) -> WordPool:
    """Correct a word pool by what a server reported for two prompts of different length.

    Args:
        pool: A pool without corrections, from which both prompts were written.
        short: (words sent, prompt tokens reported) of the shorter one.
        long: The same of the longer one.
    """
    slope = max((long[1] - short[1]) / (long[0] - short[0]), 1.0)
    return WordPool(words=pool.words, overhead=max(round(short[1] - slope * short[0]), 0), tokens_per_word=slope)


def hashed_fraction(key: str) -> float:
    """Draw a number from 0 (included) to 1 (excluded), all 2**53 steps equally likely."""
    return (int.from_bytes(hashlib.shake_256(key.encode()).digest(8), "little") >> 11) / 2**53


def _hashed(key: str, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}I", hashlib.shake_256(key.encode()).digest(4 * count))


def _digits(number: int, numbers: int, base: int) -> Iterator[int]:
    largest = numbers - 1
    while largest > 0:
        yield number % base
        number //= base
        largest //= base


def _base(pool: PromptPool) -> int:
    base = len(pool.ids) if isinstance(pool, TokenPool) else len(pool.words)
    if base < _MINIMUM_POOL:
        raise InputError(
            f"a pool of {base} tokens cannot make prompts that differ", hint="Give at least two different tokens."
        )
    return base


def _written(pool: PromptPool, picks: list[int]) -> Prompt:
    match pool:
        case TokenPool(ids=ids):
            return TokenPrompt(ids=tuple([ids[pick] for pick in picks]))
        case WordPool(words=words):
            return TextPrompt(text=" ".join([words[pick] for pick in picks]))
