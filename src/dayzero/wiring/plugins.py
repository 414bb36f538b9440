"""Load what is installed: engines, kernel libraries, deploy targets, extractors, log dialects."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar, cast

from dayzero.core.errors import InputError
from dayzero.engines.interface import Engine
from dayzero.evidence.ports import Extractors
from dayzero.extractors.interface import Extractor
from dayzero.kernels.interface import KernelLibrary
from dayzero.targets.interface import Target
from dayzero.triage.dialect import LogDialect

_Plugin = TypeVar("_Plugin")


def _named(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _load(group: str, noun: str, name: str, kind: type[_Plugin]) -> _Plugin:  # noqa: ARG001  (kind binds the result's type)
    points = _named(group)
    if name not in points:
        raise InputError(
            f"no {noun} called {name!r} is installed",
            hint=f"Use one of: {', '.join(sorted(points)) or 'none is installed; reinstall dayzero'}.",
        )
    return cast("_Plugin", points[name].load())


def engine_names() -> tuple[str, ...]:
    """List the installed engines."""
    return tuple(sorted(_named("dayzero.engines")))


def engine(name: str) -> Engine:
    """Load one engine."""
    return _load("dayzero.engines", "engine", name, Engine)  # type: ignore[type-abstract]


def kernel_library(name: str) -> KernelLibrary:
    """Load one kernel library."""
    return _load("dayzero.kernel_libraries", "kernel library", name, KernelLibrary)  # type: ignore[type-abstract]


def target_names() -> tuple[str, ...]:
    """List the installed deploy targets."""
    return tuple(sorted(_named("dayzero.deploy_targets")))


def target(name: str) -> Target:
    """Load one deploy target."""
    return _load("dayzero.deploy_targets", "deploy target", name, Target)  # type: ignore[type-abstract]


def extractor_names() -> tuple[str, ...]:
    """List the installed evidence extractors."""
    return tuple(sorted(_named("dayzero.evidence_extractors")))


def extractor(name: str) -> Extractor:
    """Load one evidence extractor."""
    return _load("dayzero.evidence_extractors", "evidence extractor", name, Extractor)  # type: ignore[type-abstract]


def extractors() -> Extractors:
    """Load every installed extractor under the name and version that claims write; one that cannot be loaded is left out."""
    loaded: dict[str, Extractor] = {}
    for name in extractor_names():
        try:
            found = extractor(name)
        except (ImportError, AttributeError):
            continue  # a claim that needs it is reported as unsupported
        loaded[f"{found.name}@{found.version}"] = found
    return loaded


def log_dialect_names() -> tuple[str, ...]:
    """List the installed log dialects."""
    return tuple(sorted(_named("dayzero.log_dialects")))


@cache
def log_dialects() -> tuple[LogDialect, ...]:
    """Load every installed log dialect, in the order of their names."""
    return tuple(_load("dayzero.log_dialects", "log dialect", name, LogDialect) for name in log_dialect_names())
