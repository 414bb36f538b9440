"""How an engine's endpoint speaks; a measurement of a server needs no more of an engine, and loads no more."""

from collections.abc import Mapping
from typing import Protocol

from dayzero.bench.ports import Dialect


class EndpointDialect(Dialect, Protocol):
    """How one engine's OpenAI-compatible endpoint deviates from the others, beyond what bench needs."""

    @property
    def metric_names(self) -> Mapping[str, str]:
        """Map ``requests_running``, ``requests_waiting``, ``prompt_tokens`` and ``generated_tokens`` to its ``/metrics`` names."""
        ...

    def fingerprint(self, models: Mapping[str, object], completion: Mapping[str, object]) -> str:
        """Say which build answers, as far as ``/v1/models`` and a completion tell; ``""`` when they do not."""
        ...
