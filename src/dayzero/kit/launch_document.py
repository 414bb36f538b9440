"""Read ``launch.json`` back into the launch, strictly: what is read is what was written, byte for byte."""

from dataclasses import replace

import msgspec

from dayzero.core.errors import InputError
from dayzero.core.launch import Budgets, HubModel, LaunchSpec, LocalModel, ModelSource, Nodes, Placeholder, Site, Word
from dayzero.core.pins import Commit, FilePin, Sha256, SourceBuild, WheelPin
from dayzero.core.quantities import Bytes
from dayzero.kit.documents import LAUNCH_SCHEMA, launch_json
from dayzero_verify.strict_json import Json, StrictJsonError, loads

LAUNCH_PATH = "launch.json"
_HINT = "Take a kit that dayzero packed."


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _Wheel(_Wire, frozen=True):
    filename: str
    sha256: str


class _File(_Wire, frozen=True):
    path: str
    size: int
    sha256: str


class _Source(_Wire, frozen=True):
    repository: str
    commit: str


class _Local(_Wire, frozen=True, tag_field="from", tag="folder"):
    files: tuple[_File, ...]


class _Hub(_Wire, frozen=True, tag_field="from", tag="hub"):
    repository: str
    revision: str
    tokenizer_revision: str
    code_revision: str
    files: tuple[_File, ...]


class _Spoken(_Wire, frozen=True):
    placeholder: str


class _Nodes(_Wire, frozen=True):
    count: int
    leader: tuple[str | _Spoken, ...]
    worker: tuple[str | _Spoken, ...]


class _Budgets(_Wire, frozen=True):
    start_s: int
    stop_s: int
    engine_start_s: int
    pre_stop_s: int
    drain_s: int


class _Site(_Wire, frozen=True):
    cache: str
    namespace: str
    storage_class: str
    partition: str
    nodes: str
    user: str


class _Launch(_Wire, frozen=True):
    schema: str
    name: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    distribution: str
    wheels: tuple[_Wheel, ...]
    lock: str
    image: str
    source: _Source | None
    model: _Local | _Hub
    port: int
    health_path: str
    ready_path: str
    accelerator: str
    accelerators: int
    memory_bytes: int
    shared_memory_bytes: int
    nodes: _Nodes
    budgets: _Budgets
    site: _Site


def launch_schema(content: bytes) -> str:
    """Say which schema a launch names, ``""`` where it is no JSON object or names none."""
    document = _strict(content)
    named = document.get("schema") if isinstance(document, dict) else None
    return named if isinstance(named, str) else ""


def parse_launch(content: bytes, lock: str) -> LaunchSpec:
    """Read a launch.

    Args:
        content: The bytes of ``launch.json``.
        lock: The requirements beside it; they are the launch's own where it names their digest.

    Raises:
        InputError: It is not strict JSON, not a launch of this schema, not in the one form that :func:`launch_json` writes, or
            the requirements are others.
    """
    try:
        wire = msgspec.convert(_strict(content), _Launch, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{LAUNCH_PATH} is no launch: {error}", hint=_HINT) from error
    if wire.schema != LAUNCH_SCHEMA:
        raise InputError(f"{LAUNCH_PATH} has the schema {wire.schema!r}, not {LAUNCH_SCHEMA}", hint=_HINT)
    spec = _spec(wire)
    if wire.lock:
        spec = replace(spec, lock=lock)
        if Sha256.of(lock.encode()).hex != wire.lock:
            raise InputError(f"{LAUNCH_PATH} names other requirements, {wire.lock}", hint=_HINT)
    if launch_json(spec).encode() != content:
        raise InputError(f"{LAUNCH_PATH} is not in the one form that a launch is written in", hint=_HINT)
    return spec


def _strict(content: bytes) -> Json:
    try:
        return loads(content)
    except StrictJsonError as error:
        raise InputError(f"{LAUNCH_PATH} is not strict JSON: {error}", hint=_HINT) from error


def _spec(wire: _Launch) -> LaunchSpec:
    source = wire.source
    return LaunchSpec(
        name=wire.name,
        argv=wire.argv,
        env=wire.env,
        distribution=wire.distribution,
        wheels=tuple(WheelPin(filename=wheel.filename, sha256=Sha256(wheel.sha256)) for wheel in wire.wheels),
        image=wire.image,
        source=None if source is None else SourceBuild(repository=source.repository, commit=Commit(source.commit)),
        model=_model(wire.model),
        port=wire.port,
        health_path=wire.health_path,
        ready_path=wire.ready_path,
        accelerator=wire.accelerator,
        accelerators=wire.accelerators,
        memory_bytes=wire.memory_bytes,
        shared_memory_bytes=wire.shared_memory_bytes,
        nodes=Nodes(count=wire.nodes.count, leader=_words(wire.nodes.leader), worker=_words(wire.nodes.worker)),
        budgets=Budgets(**msgspec.structs.asdict(wire.budgets)),
        site=Site(**msgspec.structs.asdict(wire.site)),
    )


def _model(wire: _Local | _Hub) -> ModelSource:
    files = tuple(FilePin(path=file.path, size=Bytes(file.size), sha256=Sha256(file.sha256)) for file in wire.files)
    if isinstance(wire, _Local):
        return LocalModel(files=files)
    return HubModel(
        repository=wire.repository,
        revision=Commit(wire.revision),
        tokenizer_revision=Commit(wire.tokenizer_revision),
        code_revision=Commit(wire.code_revision),
        files=files,
    )


def _words(words: tuple[str | _Spoken, ...]) -> tuple[Word, ...]:
    try:
        return tuple(Placeholder(word.placeholder) if isinstance(word, _Spoken) else word for word in words)
    except ValueError as error:
        raise InputError(f"{LAUNCH_PATH} holds an unknown placeholder: {error}", hint=_HINT) from error
