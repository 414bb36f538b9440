"""What is asked of an endpoint and what comes back: questions, replies, and the positions that a reply holds. No I/O."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dayzero.core.errors import RemoteError
from dayzero.gates.model import Candidate

Side: TypeAlias = Literal["A", "B"]
Prompt: TypeAlias = tuple[int, ...] | str
"""Token ids, or text where the endpoint takes no ids."""

OK: Final = 200
_SHOWN: Final = 200
_ABOVE_ZERO: Final = 1e-3  # half-precision kernels round a certain token's a little above 0


@dataclass(frozen=True, slots=True)
class Question:
    """One request: its path and its JSON body."""

    path: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, as it came.

    Attributes:
        status: HTTP status, 0 where there was no answer.
        body: The answer's text.
        error: Why there was no answer, ``""`` where there was one.
    """

    status: int = 0
    body: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether the server answered the question."""
        return self.status == OK

    @property
    def failure(self) -> str:
        """Say what was wrong, ``""`` where nothing was."""
        if self.ok:
            return ""
        text = " ".join(self.body.split())[:_SHOWN]
        return self.error or f"answered {self.status}: {text}".removesuffix(": ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What an endpoint serves.

    Attributes:
        url: Its address.
        model: The model that is asked for.
        models: Its answer to ``/v1/models``.
    """

    url: str
    model: str
    models: Mapping[str, object]


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which question of a gate: the capture, its arm, the prompt and the part of it (0, or the prefix's position)."""

    capture: str
    arm: str
    prompt: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A question that is kept under its key."""

    key: Key
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a dialect is asked to put into its own words.

    Attributes:
        model: The model.
        prompt: What it is given.
        tokens: Tokens to generate.
        k: Candidates wanted at each position.
        salt: Keeps this question out of the prefix cache, as far as the engine has a way to.
        temperature: Sampling temperature; 0 is greedy.
    """

    model: str
    prompt: Prompt
    tokens: int
    k: int
    salt: str
    temperature: float = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """One position of an answer: the token that stands there, and the candidates, best first."""

    chosen: str
    candidates: tuple[Candidate, ...]


class UnreadableError(RemoteError):
    """An answer holds no log-probabilities that can be read; the message says what is wrong with it."""

    def __init__(self, what: str) -> None:
        super().__init__(
            what, hint="Check that the endpoint gives log-probabilities, and start it so that it gives enough."
        )


def document(reply: Reply) -> Mapping[str, object]:
    """Read a reply's JSON; ``NaN`` and ``Infinity``, which some servers write, are read as numbers and refused later.

    Raises:
        UnreadableError: There was no answer, or it is no JSON object.
    """
    if not reply.ok:
        raise UnreadableError(reply.failure)
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("the answer is not JSON") from error
    if not isinstance(found, Mapping):
        raise UnreadableError("the answer is not a JSON object")
    return found


def token_id(value: object) -> str:
    """Name a token by its id.

    Raises:
        UnreadableError: It is no id.
    """
    if type(value) is not int or value < 0:
        raise UnreadableError(f"{value!r} is not a token id")
    return f"id:{value}"


def token_text(text: str) -> str:
    """Name a token by the bytes of its text, where the server gives no id."""
    return f"bytes:{text.encode('utf-8', 'surrogatepass').hex()}"


def candidate(token: str, logprob: object) -> Candidate:
    """Take one candidate.

    A server's stand-in for minus infinity (vLLM writes -9999) stays what it is; its probability is 0 either way.

    Raises:
        UnreadableError: The log-probability is missing, not a number, or above 0.
    """
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        raise UnreadableError(f"a candidate's log-probability is {logprob!r}")
    if math.isnan(logprob):
        raise UnreadableError("a candidate's log-probability is NaN")
    if logprob > _ABOVE_ZERO:
        raise UnreadableError(f"a candidate's log-probability is {logprob!r}: above 0 it is none")
    return Candidate(token, min(float(logprob), 0.0))


def reading(chosen: str, candidates: Sequence[Candidate]) -> Reading:
    """Make a position of its candidates in any order; of two with one name the likelier is kept.

    Raises:
        UnreadableError: There are none, or all are impossible.
    """
    best: dict[str, Candidate] = {}
    for one in candidates:
        if one.token not in best or best[one.token].logprob < one.logprob:
            best[one.token] = one
    ordered = tuple(sorted(best.values(), key=lambda one: (-one.logprob, one.token)))
    if not ordered or ordered[0].logprob == -math.inf:
        raise UnreadableError("a position has no candidates")
    return Reading(chosen, ordered)
