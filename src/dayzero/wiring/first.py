"""Find the first release of an engine that registers an architecture, by bisection."""

from collections.abc import Callable
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.audit.architectures import architectures_of
from dayzero.audit.bisect import first_that
from dayzero.audit.model import FactTable
from dayzero.core.errors import InputError
from dayzero.wiring.audit import index, model_of, registry
from dayzero.wiring.collector import uncollected


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """What was found.

    Attributes:
        architecture: The architecture that was looked for.
        release: The first release that registers it, ``""`` where none does.
        without: The last release before it, or the newest where none has it; ``""`` where there is none.
        offered: How many releases there are.
        read: Those that were read.
        skipped: Those that have no wheel for Linux on x86-64, or whose registry cannot be read.
    """

    architecture: str
    release: str
    without: str
    offered: int
    read: tuple[str, ...]
    skipped: tuple[str, ...]


def first_release(target: str, engine: str, *, since: str, offline: bool, progress: Callable[[str], None]) -> First:
    """Bisect the releases of an engine.

    Args:
        target: The model's ``config.json``, its folder or its name on the hub.
        engine: The engine's name on the package index.
        since: Look at no release before this one, ``""`` for all.
        offline: Look only at what is kept here.
        progress: Told what is being read.

    Raises:
        InputError: The model names no architecture, or the engine's registry is not understood.
        RemoteError: The index did not answer.
    """
    names = architectures_of(model_of(target, offline=offline))
    reader = registry(engine)
    if not names:
        raise InputError(f"{target} names no architectures", hint="Give the model's config.json.")
    if reader is None:
        raise InputError(f"the releases of {engine!r} cannot be read", hint="Use vllm or sglang.")
    store = index(offline=offline)
    offered = store.kept_versions(engine) if offline else store.versions(engine)
    releases = _ordered(offered, since)
    read: list[str] = []

    def has(release: str) -> bool | None:
        progress(f"reading {engine} {release}")
        try:
            kept = store.fetch(Requirement(f"{engine}=={release}"))
            table = reader.read_architectures(PackedFiles(f"{engine} {release}", kept.pack))
        except InputError:
            return None
        if not isinstance(table, FactTable):
            return None
        read.append(release)
        return any(table.find(name) for name in names)

    with uncollected():
        found = first_that(releases, has)
    return First(
        architecture=names[0],
        release=found.first,
        without=found.last_without,
        offered=len(releases),
        read=tuple(read),
        skipped=found.unknown,
    )


def _ordered(versions: tuple[str, ...], since: str) -> tuple[str, ...]:
    try:
        lowest = Version(since) if since else None
    except InvalidVersion as error:
        raise InputError(f"not a version: {since!r}", hint="Write it as the index does, 0.20.0.") from error
    known = (Version(one) for one in versions)
    return tuple(str(one) for one in sorted(one for one in known if lowest is None or one >= lowest))
