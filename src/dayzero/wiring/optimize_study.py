"""Begin a study, or read one back: what was asked, the space around the package, and what was taken out of it."""

import hashlib
import os
import platform
import tomllib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from dayzero.adapters.disk import write_whole
from dayzero.adapters.package_files import load_package
from dayzero.adapters.package_files.cells import cell_of
from dayzero.adapters.package_files.schema import CellTable
from dayzero.bench.metrics import minimum_sample
from dayzero.bench.windows.model import parse_measure
from dayzero.core.errors import DayzeroError, InputError
from dayzero.core.package import Package
from dayzero.core.workload import Cell, ClosedLoop
from dayzero.optimize import parse
from dayzero.optimize.document import STUDY_SCHEMA, About
from dayzero.optimize.model import By, Excluded, Point, Relation, Setting, Space, changed
from dayzero.optimize.objective import Goal, parse_limits, parse_objectives, parse_time
from dayzero.optimize.space import count, flags_of, narrowed, projected, singles, space_around
from dayzero.optimize.stop import Rule
from dayzero.wiring import definitions
from dayzero.wiring.laboratory import new_folder
from dayzero.wiring.optimize_files import StudyFolder, put_definition, read_document, write_document
from dayzero.wiring.optimize_judge import Judge

_TUNABLES: Final = "tunables.toml"
_OF_A_LEVEL: Final[tuple[By, ...]] = ("build", "audit", "model")
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, as it is kept in the study.

    Attributes:
        package: Name, folder or file.
        workload: A cell's name, a file, or ``""`` for the only cell.
        requests: Measured requests of a trial; 0 for the cell's.
        objective, slo: As typed.
        price_per_hour: Of one device; ``None`` counts device-seconds.
        budget: Time for trials, as typed.
        trials: Most starts; ``None`` for no bound.
        space: File of the space, ``""`` for the engine's list.
        lossy: Whether flags that change what is computed are tried.
        build: Files of the engine for the audit.
        offline: Whether no index is asked.
        baseline_every: Trials between two baselines.
        stop_margin: Percentage; 100 for never.
        stop_alpha: How often a trial is ended wrongly, at most.
        storage: URL, ``""`` for the folder's own.
        seed: ``None`` draws it from package and workload.
    """

    package: str
    workload: str = ""
    requests: int = 0
    objective: str = "output_tok_s"
    slo: str = ""
    price_per_hour: float | None = None
    budget: str = "1h"
    trials: int | None = None
    space: str = ""
    lossy: bool = False
    build: str = ""
    offline: bool = False
    baseline_every: int = 8
    stop_margin: float = 5.0
    stop_alpha: float = 0.05
    storage: str = ""
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.stop_margin <= _PERCENT or not 0 < self.stop_alpha < 1:
            raise InputError(
                f"a trial cannot be ended at {self.stop_margin:g} % and {self.stop_alpha:g}",
                hint="Give a margin up to 100 and an alpha between 0 and 1.",
            )
        if self.baseline_every < 0 or (self.trials is not None and self.trials < 1) or self.requests < 0:
            raise InputError("a count of trials or requests is negative", hint="Give whole numbers from 1.")
        if urlsplit(self.storage).password:
            raise InputError(
                "the study's folder would keep the password of its storage",
                hint="Leave it out of --storage: PostgreSQL takes it from ~/.pgpass or PGPASSWORD.",
            )
        parse_time(self.budget)

    @property
    def rule(self) -> Rule:
        """When a trial ends early."""
        return Rule(margin=self.stop_margin / _PERCENT, alpha=self.stop_alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study as it was begun.

    Attributes:
        question: What was asked.
        space: What may be tried.
        seeds: What is tried first.
        excluded: Levels that were taken out.
        points_before: Combinations before that.
        notes: What could not be looked at.
        seed: Of draws.
        name: What Optuna calls it, so that many studies can stand in one storage.
    """

    question: Question
    space: Space
    seeds: tuple[Point, ...]
    excluded: tuple[Excluded, ...]
    points_before: int
    notes: tuple[str, ...]
    seed: int
    name: str = "dayzero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A study on this disk, with what follows from it.

    Attributes:
        folder: Where it stands.
        study: As it was begun.
        package: The package as it is.
        cell: The load of a trial.
        goal: Objectives and limits.
        judge: Looks at command lines.
    """

    folder: StudyFolder
    study: Study
    package: Package
    cell: Cell
    goal: Goal
    judge: Judge

    @property
    def devices(self) -> int:
        """What device-seconds are counted with."""
        return devices_of(self.package)

    @property
    def about(self) -> About:
        """What the result says of it."""
        study, recipe = self.study, self.package.recipe
        return About(
            package=self.package.name,
            build=str(recipe.engine),
            system=recipe.system.name,
            devices=self.devices,
            cell=self.cell,
            workload_seed=self.package.workload.seed,
            points_before=study.points_before,
            excluded=study.excluded,
            budget_s=parse_time(study.question.budget),
            notes=tuple(dict.fromkeys((*study.notes, *self.judge.notes))),
        )


def begin(question: Question, root: Path, progress: Callable[[str], None]) -> Opened:
    """Begin a study: everything is looked at and written down before the first start.

    Args:
        question: What is asked.
        root: An empty folder.
        progress: Told what is being read.

    Raises:
        InputError: Something that was named is not there or cannot be used, or nothing is left to try.
        RemoteError: The disk refused.
    """
    source = definitions.package_file(question.package)
    package = definitions.package(str(source))
    cell, goal = _load(question, package), _goal(question, package)
    _need_sample(goal, cell)
    settings, relations = _tunables(package, question.space)
    folder = StudyFolder(new_folder(root))
    put_definition(source.read_text(encoding="utf-8"), source, folder.stock.parent)
    if Path(question.workload).suffix == ".toml":
        write_whole(folder.workload, Path(question.workload).read_bytes())
    judge = _judge(folder, question, progress)
    whole = space_around(package.recipe.flags, settings, relations)
    space, excluded = _without_what_cannot(whole, judge, progress)
    if not space.settings:
        raise InputError(
            f"nothing is left to try: {excluded[0].why if excluded else 'no setting is known'}",
            hint="Give other flags or values with --space.",
        )
    study = Study(
        question=question,
        space=space,
        seeds=tuple(_seeds(package, space)),
        excluded=excluded,
        points_before=count(whole),
        notes=tuple(judge.notes),
        seed=_seed(question, package, cell),
        name=f"{package.name}-{uuid.uuid4().hex}",
    )
    write_document(folder.study, {"schema": STUDY_SCHEMA, **msgspec.to_builtins(study)})
    return Opened(folder=folder, study=study, package=package, cell=cell, goal=goal, judge=judge)


def reopen(root: Path, change: Callable[[Question], Question], progress: Callable[[str], None]) -> Opened:
    """Read a study back.

    Args:
        root: Its folder.
        change: Gives the question with what is asked otherwise now.
        progress: Told what is being read.

    Raises:
        InputError: There is no study, or it cannot be read.
    """
    folder = StudyFolder(root)
    written = dict(read_document(folder.study, STUDY_SCHEMA))
    written.pop("schema")
    try:
        study = msgspec.convert(written, Study)
    except msgspec.ValidationError as error:
        raise InputError(f"{folder.study}: {error}", hint="A study is never mended by hand.") from error
    study = replace(study, question=change(study.question))
    package = load_package(folder.stock)
    question = study.question
    if folder.workload.is_file():
        question = replace(question, workload=str(folder.workload))
    return Opened(
        folder=folder,
        study=study,
        package=package,
        cell=_load(question, package),
        goal=_goal(question, package),
        judge=_judge(folder, question, progress),
    )


def devices_of(package: Package) -> int:
    """Count what a package holds while it serves: its GPUs, or the one machine without any."""
    return package.recipe.system.gpus or 1


def _judge(folder: StudyFolder, question: Question, progress: Callable[[str], None]) -> Judge:
    return Judge(
        package=load_package(folder.stock),
        definition=folder.stock,
        scratch=folder.root / ".look" / f"{platform.node()}-{os.getpid()}",
        build=question.build,
        offline=question.offline,
        lossy=question.lossy,
        progress=progress,
    )


def _goal(question: Question, package: Package) -> Goal:
    return Goal(
        objectives=parse_objectives(
            question.objective, devices=devices_of(package), price_per_hour=question.price_per_hour
        ),
        limits=parse_limits(question.slo),
    )


def _load(question: Question, package: Package) -> Cell:
    name = question.workload
    cells = _cells(Path(name)) if name.endswith(".toml") else package.workload.cells
    found = [cell for cell in cells if cell.name == name or not name or name.endswith(".toml")]
    if len(found) != 1:
        raise InputError(
            f"{package.name} has no single cell {name!r}".replace(" ''", ""),
            hint=f"Give --workload one of {', '.join(cell.name for cell in cells)}, or a file with one [[cells]] table.",
        )
    cell = found[0]
    if not isinstance(cell.load, ClosedLoop):
        raise InputError(
            f"{cell.name} has a rate of its own, so no flag makes it faster",
            hint="Give a closed loop: leave the load out.",
        )
    return replace(cell, requests=question.requests) if question.requests else cell


def _cells(file: Path) -> tuple[Cell, ...]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))["cells"]
        return tuple(cell_of(msgspec.convert(table, CellTable)) for table in tables)
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(
            f"{file} holds no load: {error}", hint="Write one [[cells]] table, as in a package's workload."
        ) from error


def _need_sample(goal: Goal, cell: Cell) -> None:
    for name in goal.figures:
        percentile = parse_measure(name).percentile
        if percentile is not None and cell.requests < minimum_sample(percentile):
            raise InputError(
                f"{cell.requests} requests a trial cannot certify {name}",
                hint=f"Give --requests {minimum_sample(percentile)} or more, or another statistic.",
            )


def _tunables(package: Package, file: str) -> tuple[tuple[Setting, ...], tuple[Relation, ...]]:
    name = package.recipe.engine.engine
    known = files("dayzero.engines").joinpath(name, _TUNABLES)
    document: dict[str, Any] = tomllib.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}
    place = f"{name}/{_TUNABLES}"
    settings, relations = parse.settings(document, place), parse.relations(document, place)
    if not file:
        return settings, relations
    try:
        own = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="Give a TOML file of [[setting]] tables.") from error
    return parse.settings(own, file, settings), (*relations, *parse.relations(own, file))


def _without_what_cannot(
    whole: Space, judge: Judge, progress: Callable[[str], None]
) -> tuple[Space, tuple[Excluded, ...]]:
    """Take out levels that no other setting can save: not in the build, refuted, or not the same model."""
    excluded: list[Excluded] = []
    gone: dict[str, set[str]] = {}
    for point in singles(whole):
        ((name, level),) = changed(point, whole.stock)
        progress(f"looking at {name} {level}")
        refusal = judge.look(flags_of(whole, point))
        if refusal is not None and refusal.by in _OF_A_LEVEL:
            excluded.append(Excluded(point=((name, level),), by=refusal.by, why=refusal.why))
            gone.setdefault(name, set()).add(level)
    return narrowed(whole, {name: frozenset(levels) for name, levels in gone.items()}), tuple(excluded)


def _seeds(package: Package, space: Space) -> Iterator[Point]:
    """Give the combinations of catalog packages of the same engine, architecture and kind of device."""
    recipe = package.recipe
    try:
        others = definitions.packages()
    except DayzeroError:
        return
    found: set[Point] = {space.stock}
    for other in others:
        theirs = other.recipe
        same = (theirs.engine.engine, theirs.model.architecture, theirs.system.accelerator) == (
            recipe.engine.engine,
            recipe.model.architecture,
            recipe.system.accelerator,
        )
        point = projected(space, theirs.flags) if same and other.name != package.name else None
        if point is not None and point not in found:
            found.add(point)
            yield point


def _seed(question: Question, package: Package, cell: Cell) -> int:
    if question.seed is not None:
        return question.seed
    return int.from_bytes(hashlib.sha256(f"{package.name}/{cell}".encode()).digest()[:4], "big")
