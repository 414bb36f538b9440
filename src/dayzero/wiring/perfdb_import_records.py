"""Import records of single operators: they become a tree of tables first, and the files stay beside it as they came."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import yaml

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.adapters.perf_database.write_table import write_table
from dayzero.core.errors import InputError, RemoteError
from dayzero.perfdb.operator_records import RecordTable, need_one_unit, read_records
from dayzero.perfdb.upstream import DATA, PARQUET, SIDECAR
from dayzero.wiring import clock
from dayzero.wiring.perfdb_import import Imported, import_tree

_SUFFIX = ".json"
_KINDS = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE"}
_FOLDER = "records"


def is_records(source: Path) -> bool:
    """Whether a path is a file of records, or a folder of nothing else."""
    if source.is_dir():
        return all(one.suffix == _SUFFIX for one in source.iterdir()) and any(source.iterdir())
    return source.is_file() and source.suffix == _SUFFIX


def import_records(source: Path, database: Path, tell: Callable[[str], None] = lambda _: None) -> Imported:
    """Import records; what cannot be used leaves no import.

    Args:
        source: A file of records, or a folder of them.
        database: Where to; made when it is not there.
        tell: Is told what is done.

    Raises:
        InputError: A file is damaged, lacks a field, has a metric without a unit, or holds no row.
        RemoteError: A file cannot be read, or the disk refused.
    """
    read = dict(_contents(source))
    tables = [table for name, content in read.items() for table in read_records(name, content)]
    need_one_unit(read.items())
    _need_past(source, tables)
    if not any(table.rows for table in tables):
        raise InputError(f"{source} holds no record that is ok", hint="An import needs a row; cases alone say nothing.")
    with PerfFolder(database).workplace() as place:
        tree = place / source.resolve().stem
        with disk_errors(tree):
            _write(tree, tables)
            (tree / _FOLDER).mkdir()
            for name, content in read.items():
                (tree / _FOLDER / name).write_bytes(content)
        return import_tree(tree, database, None, tell)


def _need_past(source: Path, tables: Iterable[RecordTable]) -> None:
    late = next((table.collected_at for table in tables if table.collected_at[:10] > clock.now()[:10]), None)
    if late is not None:
        raise InputError(f"{source} holds records of {late}, which is yet to come", hint="Mend the date of the run.")


def _contents(source: Path) -> Iterable[tuple[str, bytes]]:
    for path in sorted(source.iterdir()) if source.is_dir() else [source]:
        try:
            yield path.name, path.read_bytes()
        except OSError as error:
            raise RemoteError(f"{path} cannot be read: {error.strerror}", hint="Make it readable.") from error


def _write(tree: Path, tables: Iterable[RecordTable]) -> None:
    together: dict[Path, dict[str, list[RecordTable]]] = {}
    for table in tables:
        place = table.place
        folder = tree / DATA / place.system / place.family / place.engine / place.version
        together.setdefault(folder, {}).setdefault(table.table, []).append(table)
    for folder, by_name in together.items():
        folder.mkdir(parents=True, exist_ok=True)
        for name, same in by_name.items():
            rows = [row for table in same for row in table.rows]
            if rows:
                write_table(folder / f"{name}{PARQUET}", _kinds(rows), rows)
            failures = [failure for table in same for failure in table.failures]
            if failures:
                (folder / f"errors_{name}.json").write_text(json.dumps(failures, indent=1), encoding="utf-8")
        (folder / SIDECAR).write_text(_sidecar(by_name), encoding="utf-8")


def _kinds(rows: Iterable[Mapping[str, object]]) -> Mapping[str, str]:
    kinds: dict[str, str] = {}
    for row in rows:
        for column, value in row.items():
            kinds.setdefault(column, _KINDS[type(value)])
    return kinds


def _sidecar(tables: Mapping[str, list[RecordTable]]) -> str:
    """Write down the run as the tree does: a digest only where all files of the folder name the same one."""
    flat = [table for same in tables.values() for table in same]
    digests = {table.image_digest for table in flat}
    place = flat[0].place
    runtime = {"framework": place.engine, "version": place.version}
    if len(digests) == 1 and "" not in digests:
        runtime["image_digest"] = flat[0].image_digest
    told = {
        name: {
            "collector_ref": same[0].run[0],
            "collector_hash": ",".join(sorted({table.run[1] for table in same})),
            "collected_at": min(table.collected_at for table in same),
            "rows": sum(len(table.rows) for table in same),
            "status": "partial" if any(table.failures for table in same) else "complete",
        }
        for name, same in tables.items()
    }
    return str(
        yaml.safe_dump({"schema_version": 1, "provenance": "operator records", "runtime": runtime, "tables": told})
    )
