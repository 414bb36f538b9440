"""How an engine's endpoint speaks; a measurement of a server needs no more of an engine, and loads no more."""

from collections.abc import Mapping
from typing import Protocol

from dayzero.bench.ports import Dialect


class EndpointDialect(Dialect, Protocol):
    """How one engine's OpenAI-compatible endpoint deviates from the others, beyond what bench needs."""

    def logprobs_request(self, k: int) -> Mapping[str, object]:
        """Give the request fields that ask ``/v1/completions`` for the top ``k`` log-probabilities by token id."""
        ...

    def top_logprobs(self, choice: Mapping[str, object]) -> tuple[Mapping[int, float], ...]:
        """Read a completion choice's log-probabilities: one map of token id to natural logarithm per position.

        Raises:
            RemoteError: The choice does not carry them in this engine's shape.
        """
        ...

    @property
    def metric_names(self) -> Mapping[str, str]:
        """Map ``requests_running``, ``requests_waiting``, ``prompt_tokens`` and ``generated_tokens`` to its ``/metrics`` names."""
        ...

    def fingerprint(self, models: Mapping[str, object], completion: Mapping[str, object]) -> str:
        """Say which build answers, as far as ``/v1/models`` and a completion tell; ``""`` when they do not."""
        ...
