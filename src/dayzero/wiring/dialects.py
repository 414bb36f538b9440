"""Load how the installed engines' endpoints speak, and nothing else of the engines."""

from typing import Final

from dayzero.engines.endpoint import EndpointDialect
from dayzero.wiring.installed import load, named

_GROUP: Final = "dayzero.endpoint_dialects"


def endpoint_dialect(name: str) -> EndpointDialect:
    """Load that of one engine."""
    return load(_GROUP, "endpoint dialect", name, EndpointDialect)  # type: ignore[type-abstract]


def endpoint_dialects() -> tuple[tuple[str, EndpointDialect], ...]:
    """Load all of them, with the names of their engines, in the order of those."""
    return tuple((name, endpoint_dialect(name)) for name in sorted(named(_GROUP)))
