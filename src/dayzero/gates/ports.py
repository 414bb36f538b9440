"""What a distribution gate needs from outside: how an engine speaks of log-probabilities, the two endpoints, and a listener."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from dayzero.gates.exchange import Asked, Job, Key, Listed, Question, Reading, Reply, Side


class LogprobDialect(Protocol):
    """How one engine is asked for log-probabilities, and how it gives them."""

    @property
    def exact_length(self) -> bool:
        """Whether it generates exactly the tokens that it is asked for, past an end-of-text token."""
        ...

    @property
    def bypasses_cache(self) -> bool:
        """Whether its questions are kept out of the prefix cache."""
        ...

    def recognises(self, models: Mapping[str, object]) -> bool:
        """Say whether an answer of ``/v1/models`` comes from this engine."""
        ...

    def generate(self, asked: Asked) -> Question:
        """Ask for generated tokens with the candidates of each."""
        ...

    def generated(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read the generated positions.

        Raises:
            UnreadableError: The answer does not carry them in this engine's shape.
        """
        ...

    def score(self, asked: Asked) -> Question | None:
        """Ask for the candidates at the positions of the prompt itself, ``None`` where the engine has no such request."""
        ...

    def scored(self, answer: Mapping[str, object]) -> tuple[Reading, ...]:
        """Read the prompt's positions: one for each of its tokens but the first.

        Raises:
            UnreadableError: The answer does not carry them in this engine's shape.
        """
        ...


class Endpoints(Protocol):
    """The two endpoints. Every exchange is kept as it comes; a question that fails is a reply, never an exception."""

    def listed(self, side: Side) -> Listed:
        """Ask what is served, and choose the model.

        Raises:
            InputError: The model has to be named, or is not served.
            RemoteError: The endpoint cannot be reached, or lists no model.
        """
        ...

    def ask(self, side: Side, question: Question) -> Reply:
        """Ask one question; blocks."""
        ...

    def ask_all(self, jobs: Mapping[Side, Sequence[Job]], *, concurrency: int) -> Mapping[Key, Reply]:
        """Ask each side its questions in their order, so many in flight at each; what was answered before is not asked again."""
        ...


class Listener(Protocol):
    """Is told what happens, as it happens."""

    def captures(self, look: int, prompts: int, requests: int) -> None:
        """Learn that the captures before a look begin: which look, how many prompts will be in, how many requests it takes."""
        ...
