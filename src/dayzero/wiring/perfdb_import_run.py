"""Import a run of one's own: its lines become rows of the tree's tables, and its files stay as they are."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import yaml

from dayzero.adapters.collecting.run_folder import CASES, KERNELS, WORKERS, RunFolder, is_run, shards_of
from dayzero.adapters.disk import disk_errors
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.adapters.perf_database.write_table import write_table
from dayzero.core.errors import InputError, IntegrityError
from dayzero.perfdb.collection import collected_lanes
from dayzero.perfdb.run_form import cases_without_line, need_one_run, need_run
from dayzero.perfdb.run_rows import RunPart, RunTable, one_build, tables_of
from dayzero.perfdb.upstream import DATA, PARQUET, SIDECAR
from dayzero.wiring.perfdb_import import Imported, import_tree

__all__ = ("import_run", "is_run")

_KEPT = ("run.json", "plan.jsonl", "blocklist.json", "tactics.jsonl", CASES, WORKERS, KERNELS)


def import_run(source: Path, database: Path, tell: Callable[[str], None] = lambda _: None) -> Imported:
    """Import a run, or all shards of one.

    Args:
        source: The run.
        database: Where to; made when it is not there.
        tell: Is told what is done.

    Raises:
        InputError: Nothing was measured, or the shards are of different runs.
        IntegrityError: A line of the run is not what was written.
    """
    folders = shards_of(source)
    parts = tuple(_part(folder) for folder in folders)
    for folder, part in zip(folders, parts, strict=True):
        left = cases_without_line(str(folder.root), part.asked, folder.plan(), part.lines)
        if left:
            tell(f"{folder.root}: {left} cases have no line; they were not run, or lines are lost")
    need_one_run([(folder.root.name, part.asked) for folder, part in zip(folders, parts, strict=True)])
    tables = [table for part in parts for table in tables_of(part, collected_lanes())]
    if not any(table.rows for table in tables):
        raise InputError(f"nothing was measured in {source}", hint="'dayzero perfdb collect' with this folder goes on.")
    name = str(parts[0].asked["run"])
    with PerfFolder(database).workplace() as scratch:
        tree = scratch / name
        with disk_errors(tree):
            _write(tree, tables)
            for folder in folders:
                _keep(tree, folder)
        return import_tree(tree, database, None, tell, graded=True)


def raw_file(run: str) -> str:
    """Say where the lines of a run lie in an import."""
    return f"runs/{run}/{CASES}"


def _part(folder: RunFolder) -> RunPart:
    asked = folder.asked()
    part = RunPart(
        asked=asked, lines=folder.lines(CASES), workers=folder.lines(WORKERS), raw_file=raw_file(str(asked.get("run")))
    )
    need_run(str(folder.root), asked, part.lines, len(part.workers))
    kernels = {str(line.get("digest")) for line in folder.lines(KERNELS)}
    lost = next(
        (line["kernel_digest"] for line in part.lines if line.get("kernel_digest", "") not in {"", *kernels}), None
    )
    if lost is not None:
        raise IntegrityError(f"{folder.root} lacks the kernels {lost}", hint="Take the run from where it was made.")
    return part


def _write(tree: Path, tables: Iterable[RunTable]) -> None:
    """Write the tables as a systems folder; what several shards have of one table becomes one file."""
    together: dict[str, list[RunTable]] = {}
    for table in tables:
        place = table.place
        folder = f"{DATA}/{place.system}/{place.family}/{place.engine}/{place.version}"
        together.setdefault(f"{folder}/{table.table}", []).append(table)
    said: dict[Path, list[RunTable]] = {}
    for path, same in together.items():
        rows = [row for table in same for row in table.rows]
        if rows:
            write_table(tree / f"{path}{PARQUET}", same[0].kinds, rows)
        failures = [failure for table in same for failure in table.failures]
        if failures:
            file = tree / path.replace(f"/{same[0].table}", f"/errors_{same[0].table}.json")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(failures, indent=1), encoding="utf-8")
        said.setdefault((tree / path).parent, []).extend(same)
    for target, listed in said.items():
        (target / SIDECAR).write_text(_sidecar(listed), encoding="utf-8")


def _sidecar(tables: Sequence[RunTable]) -> str:
    first, place = tables[0], tables[0].place
    build = one_build(place.engine, place.version, (table.build for table in tables))
    told = {
        table.table: {
            "collector_ref": table.run,
            "collector_hash": table.collector,
            "collected_at": table.collected_at,
            "rows": sum(len(other.rows) for other in tables if other.table == table.table),
            "status": "partial" if any(t.failures for t in tables if t.table == table.table) else "complete",
        }
        for table in tables
    }
    runtime = {"framework": first.framework, "version": place.version, "build": build}
    return str(yaml.safe_dump({"schema_version": 1, "provenance": "own run", "runtime": runtime, "tables": told}))


def _keep(tree: Path, folder: RunFolder) -> None:
    target = (tree / raw_file(str(folder.asked()["run"]))).parent
    target.mkdir(parents=True, exist_ok=True)
    for name in _KEPT:
        if (folder.root / name).is_file():
            (target / name).write_bytes((folder.root / name).read_bytes())
