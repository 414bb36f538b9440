"""What is known of a package beside its definition: the tensors of its pinned weights, and what its own filed runs show."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.checkpoint_files import read_checkpoint, read_pinned_checkpoint
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.package import Package
from dayzero.core.pins import HubRevision, ModelPin, Sha256
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place
from dayzero.engines.llamacpp.gguf_tensors import read_gguf_tensors
from dayzero.evidence.check import RAW_FOLDER
from dayzero.evidence.ledger import LEDGER_NAME, Ledger
from dayzero.evidence.model import Claim, RawFile
from dayzero.evidence.state import Standing
from dayzero.evidence.subject import recipe_digest
from dayzero.fit.checkpoint import Checkpoint, Unknown
from dayzero.fit.memory_log import MemoryLog
from dayzero.wiring.laboratory import weights_cache
from dayzero.wiring.memory_logs import memory_log
from dayzero.wiring.store import open_ledger, raw_store

_CONFIG = "config.json"
_ENGINE_LOG = "engine.log"
_OFF_BY = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledRun:
    """A run of exactly this recipe whose log is filed as evidence.

    Attributes:
        log: What it says of memory.
        file: The raw file.
        words: Where it is filed, for whoever reads the answer.
    """

    log: MemoryLog
    file: Path
    words: str


def pinned_checkpoint(found: Package, definition: Path, *, caches: bool = True) -> Checkpoint | Unknown:
    """List the tensors of a package's model: from its pinned files, else from its configuration, where they are on this disk.

    Looked at are the package's folder and ``model/`` in it, and with ``caches`` what only this machine has: the cache of weights,
    and of a model on a hub the hub's own cache.

    Raises:
        IntegrityError: A file has another size than is pinned.
    """
    model = found.recipe.model
    folders = (*_beside(definition.parent), *(_cached(model) if caches else ()))
    for folder in folders:
        if all((folder / pin.path).is_file() for pin in model.files):
            return read_pinned_checkpoint(model.files, folder, read_gguf_tensors)
    pinned = tuple(pin for pin in model.files if pin.path == _CONFIG)
    for folder in folders:
        if (folder / _CONFIG).is_file():
            told = read_pinned_checkpoint(pinned, folder) if pinned else read_checkpoint(folder / _CONFIG)
            return told if isinstance(told, Unknown) else _beside_pins(told, model)
    reason = f"neither the pinned weights of {found.name} nor their {_CONFIG} are on this disk"
    where = f"beside {definition}, or name it as the target"
    return Unknown(reason=f"{reason}; put the {_CONFIG} {where}", place=Place(artifact="", file=str(definition)))


def filed_run(found: Package, definition: Path) -> FiledRun | None:
    """Find the latest filed run of a package's recipe whose log says something of memory.

    The ledger is looked for in the package's folder and beside the folder of packages. A log counts where a claim of the package
    that stands, and that is about exactly this recipe, rests on it, or where it is the engine's log of the same capture.

    Raises:
        IntegrityError: The ledger is broken, or a raw file is not what its name says.
    """
    for folder in (definition.parent / "evidence", definition.resolve().parents[2] / "evidence"):
        if not (folder / LEDGER_NAME).is_file():
            continue
        for raw, slug in _logs(open_ledger(folder), found):
            file = folder / RAW_FOLDER / raw.sha256.hex
            if Sha256.of(raw_store(folder).read(raw.sha256)) != raw.sha256:
                raise IntegrityError(f"{file} was changed", hint="Put the file back as it was captured.")
            try:
                log = memory_log(file)
            except InputError:
                continue  # a log that says nothing of memory
            return FiledRun(log=log, file=file, words=f"{raw.name} of {raw.captured_at}, filed with {slug} as {file}")
    return None


def _logs(ledger: Ledger, found: Package) -> Iterator[tuple[RawFile, str]]:
    """Give the logs of the recipe's runs, the latest first, each with a claim that was filed with it."""
    subject, files = recipe_digest(found.recipe), ledger.raw_files()
    claims = [
        state.claim
        for slug, state in ledger.standings().items()
        if slug.startswith(f"{found.name}/") and isinstance(state, Standing) and isinstance(state.claim, Claim)
    ]
    runs: dict[str, str] = {}
    logs: dict[RawFile, str] = {}
    for claim in claims:
        raw = files.get(claim.raw)
        if raw is None or claim.subject != subject:
            continue
        runs.setdefault(raw.captured_at, claim.slug)
        if raw.name.endswith((".log", ".txt")):
            logs.setdefault(raw, claim.slug)
    for raw in files.values():
        if raw.name == _ENGINE_LOG and raw.captured_at in runs:
            logs.setdefault(raw, runs[raw.captured_at])
    yield from sorted(logs.items(), key=lambda item: item[0].captured_at, reverse=True)


def _beside(definition: Path) -> tuple[Path, ...]:
    return definition, definition / "model"


def _cached(model: ModelPin) -> Iterator[Path]:
    yield weights_cache(model)
    if isinstance(model.origin, HubRevision):
        name = f"models--{model.origin.repository.replace('/', '--')}"
        yield _hub_cache() / name / "snapshots" / model.origin.revision.hex


def _hub_cache() -> Path:
    """Say where the hub's own client keeps what it fetched."""
    stated = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or str(Path("~/.cache/huggingface").expanduser())
    return Path(stated) if stated else Path(home) / "hub"


def _beside_pins(told: Checkpoint, model: ModelPin) -> Checkpoint:
    """Say so where the configuration leads to another size than the pinned weights have."""
    pinned = sum(pin.size.count for pin in model.files if pin.path.endswith(".safetensors"))
    size = told.size.count
    if not pinned or abs(pinned - size) <= _OFF_BY * pinned:
        return told
    note = f"the pinned weights have {Bytes(pinned)}, the configuration leads to {Bytes(size)}"
    return replace(told, notes=(*told.notes, note))
