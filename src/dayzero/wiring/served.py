"""Measure a package where it is served already."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.disk import write_whole
from dayzero.adapters.machine import environment
from dayzero.adapters.openai_http import Connection
from dayzero.bench.model import Progress
from dayzero.bringup.record import START_NAME, run_record
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.recipe import Recipe
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import clock
from dayzero.wiring.endpoint import EndpointMeasurement, measure_endpoint
from dayzero.wiring.laboratory import neutral, new_folder
from dayzero.wiring.launches import launch_of_recipe
from dayzero.wiring.look import BenchTarget
from dayzero.wiring.plugins import engine
from dayzero.wiring.start_log import decided

ENGINE_LOG = "logs/engine.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """An endpoint that serves a package already.

    Attributes:
        folder: Folder for what is measured.
        model: Model to ask for; ``""`` for the only one.
        start: Folder that ``dayzero serve`` wrote when it started the engine, ``None`` where it did not.
    """

    folder: Path
    model: str
    start: Path | None


def bench_served(
    package: Package, connection: Connection, place: Served, on_progress: Callable[[Progress], None]
) -> EndpointMeasurement:
    """Measure a package's workload at an endpoint that serves it already, and keep the record of the run beside its rows.

    Args:
        package: Whose workload is measured.
        connection: The endpoint.
        place: Where files go, and what is known of the start.
        on_progress: Called after each row.

    Raises:
        InputError: The start that is named is one of another recipe, or left no record.
        RemoteError: The endpoint cannot be reached, or the disk refused.
    """
    recipe, folder = package.recipe, place.folder
    start = _start_of(recipe, place.start) if place.start is not None else None
    target = BenchTarget(connection=connection, model=place.model, folder=new_folder(folder))
    measured = measure_endpoint(target, package.workload, on_progress)
    if place.start is not None:
        log = (place.start / ENGINE_LOG).read_bytes()
        write_whole(folder / Path(ENGINE_LOG).name, neutral(log, place.start))
        write_whole(folder / START_NAME, (place.start / START_NAME).read_bytes())
        found = decided(engine(recipe.engine.engine), launch_of_recipe(recipe), log, log_name=Path(ENGINE_LOG).name)
        report = replace(measured.report, notes=(*measured.report.notes, *found.differences))
        measured = replace(measured, decided=found, report=report)
    record = run_record(package, measured.report, start, dict(environment()), clock.now())
    write_whole(folder / record.name, record.content)
    return measured


def _start_of(recipe: Recipe, folder: Path) -> Mapping[str, object]:
    try:
        said = json.loads((folder / START_NAME).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder / START_NAME} cannot be read: {error}", hint="Name the folder that dayzero serve wrote with -o."
        ) from error
    if said.get("recipe") != recipe_digest(recipe).hex:
        raise InputError(f"{folder} holds the start of another recipe", hint="Serve this package, and name its folder.")
    return {key: said[key] for key in ("outcome", "seconds")}
