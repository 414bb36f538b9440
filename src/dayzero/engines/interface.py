"""What an engine plug-in offers. ``tests/contracts/test_engines.py`` is the suite that each one passes."""

from collections.abc import Mapping
from typing import Protocol

from dayzero.audit.ports import EngineFacts
from dayzero.bench.ports import Dialect
from dayzero.fit.ports import MemoryModel
from dayzero.serve.ports import Launcher


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


class Engine(EngineFacts, Launcher, MemoryModel, Protocol):
    """One engine: its facts, its launch, its memory and its endpoint's dialect."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    @property
    def dialect(self) -> EndpointDialect:
        """How its endpoint speaks."""
        ...
