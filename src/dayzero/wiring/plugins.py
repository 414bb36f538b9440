"""Load what is installed: engines, kernel libraries, deploy targets, extractors, log dialects."""

from functools import cache

from dayzero.engines.interface import Engine
from dayzero.evidence.ports import Extractors
from dayzero.extractors.interface import Extractor
from dayzero.fit.memory_log import MemoryDialect
from dayzero.fit.ports import MemoryModel
from dayzero.kernels.interface import KernelLibrary
from dayzero.targets.interface import Target
from dayzero.triage.dialect import LogDialect
from dayzero.wiring.installed import load, named


def engine_names() -> tuple[str, ...]:
    """List the installed engines."""
    return tuple(sorted(named("dayzero.engines")))


def engine(name: str) -> Engine:
    """Load one engine."""
    return load("dayzero.engines", "engine", name, Engine)  # type: ignore[type-abstract]


def memory_model_names() -> tuple[str, ...]:
    """List the engines whose memory is modelled; one of them need not be an engine that can be started from here."""
    return tuple(sorted(named("dayzero.memory_models")))


def memory_model(name: str) -> MemoryModel:
    """Load what one engine allocates."""
    return load("dayzero.memory_models", "memory model", name, MemoryModel)  # type: ignore[type-abstract]


def kernel_library(name: str) -> KernelLibrary:
    """Load one kernel library."""
    return load("dayzero.kernel_libraries", "kernel library", name, KernelLibrary)  # type: ignore[type-abstract]


def kernel_library_names() -> tuple[str, ...]:
    """List the installed kernel libraries."""
    return tuple(sorted(named("dayzero.kernel_libraries")))


def target_names() -> tuple[str, ...]:
    """List the installed deploy targets."""
    return tuple(sorted(named("dayzero.deploy_targets")))


def target(name: str) -> Target:
    """Load one deploy target."""
    return load("dayzero.deploy_targets", "deploy target", name, Target)  # type: ignore[type-abstract]


def extractor_names() -> tuple[str, ...]:
    """List the installed evidence extractors."""
    return tuple(sorted(named("dayzero.evidence_extractors")))


def extractor(name: str) -> Extractor:
    """Load one evidence extractor."""
    return load("dayzero.evidence_extractors", "evidence extractor", name, Extractor)  # type: ignore[type-abstract]


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
    return tuple(sorted(named("dayzero.log_dialects")))


@cache
def log_dialects() -> tuple[LogDialect, ...]:
    """Load every installed log dialect, in the order of their names."""
    return tuple(load("dayzero.log_dialects", "log dialect", name, LogDialect) for name in log_dialect_names())


@cache
def memory_dialects() -> tuple[MemoryDialect, ...]:
    """Load what every engine whose log is understood writes of its memory, in the order of their names."""
    group = "dayzero.memory_dialects"
    return tuple(load(group, "memory dialect", name, MemoryDialect) for name in sorted(named(group)))
