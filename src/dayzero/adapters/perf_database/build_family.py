"""Make one sorted file of rows from all files of a table."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dayzero.adapters.perf_database.duck import connect, quoted
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.perfdb.builds import Origin, origin_of
from dayzero.perfdb.model import Family, Lane, Sidecar, Source, TreePlace
from dayzero.perfdb.tables import LATENCY, Table, systems, table_of
from dayzero.perfdb.upstream import place_of

FORM = "2"  # of the rows; another one makes every family anew
_TOLERANCE = 0.01  # of a sum that has to be the latency


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A family and the origins of its rows."""

    family: Family
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFacts:
    """What is the same for all families of an import.

    Attributes:
        id: Id of the import, for builds that nothing else names.
        sidecars: What stands beside the rows, by place.
        graded: Whether the rows' own grades count, because this program worked them out from a run.
    """

    id: str
    sidecars: Mapping[TreePlace, Sidecar]
    graded: bool


class FamilyMaker:
    """Makes families; one connection serves them all."""

    def __init__(self, folder: PerfFolder, scratch: Path, facts: ImportFacts) -> None:
        """Open it.

        Args:
            folder: The database.
            scratch: A folder for what is being made, which no other import uses.
            facts: What is imported.
        """
        self._folder, self._scratch, self._facts = folder, scratch, facts
        self._connection = connect(scratch / "spill", foreign=True)

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def schemas(self, kept: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
        """Read the columns of Parquet files.

        Args:
            kept: Digest of each file, by its path in the tree.

        Raises:
            InputError: One is not Parquet.
        """
        return {path: self._schema(path, sha256) for path, sha256 in kept.items()}

    def _schema(self, path: str, sha256: str) -> Mapping[str, str]:
        sql = f"DESCRIBE SELECT * FROM read_parquet({quoted(self._folder.file(sha256))})"  # noqa: S608  (our own path)
        return {str(row[0]): str(row[1]) for row in self._execute(sql, {sha256: path}).fetchall()}

    def make(self, name: str, kept: Mapping[str, str]) -> Made:
        """Make a family, or take the one that was made from the same files before.

        Args:
            name: The table.
            kept: Digest of each of its files, by path.

        Raises:
            InputError: A file is damaged, lacks a column, or has another unit.
        """
        paths = {sha256: path for path, sha256 in kept.items()}
        table = table_of(name, self.schemas(kept))
        sources = tuple(
            Source(path=path, sha256=sha256, rows=self._count(path, sha256)) for path, sha256 in sorted(kept.items())
        )
        self._load_origins(table, sources, paths)
        origins = self._origins(name, sources)
        key = self._key(table, sources, origins)
        known = self._folder.family(key)
        if known is not None:
            return Made(family=known, origins=tuple(origins.values()))
        family = self._write(table, sources, origins, paths)
        self._folder.keep_family(key, family)
        return Made(family=family, origins=tuple(origins.values()))

    def _count(self, path: str, sha256: str) -> int:
        sql = f"SELECT num_rows FROM parquet_file_metadata({quoted(self._folder.file(sha256))})"  # noqa: S608
        return int(self._execute(sql, {sha256: path}).fetchone()[0])

    def _read(self, sources: Sequence[Source]) -> str:
        distinct = dict.fromkeys(
            source.sha256 for source in sources
        )  # equal files are read once and joined with each place
        files = ", ".join(quoted(self._folder.file(sha256)) for sha256 in distinct)
        return f"read_parquet([{files}], union_by_name = true, filename = true, file_row_number = true)"

    def _load_origins(self, table: Table, sources: Sequence[Source], paths: Mapping[str, str]) -> None:
        """List which file reports which versions, in the table ``origin``."""
        version = "version" if "version" in table.identity else "NULL"
        self._execute(
            f"CREATE OR REPLACE TEMP TABLE reported AS SELECT filename, {version}::VARCHAR AS row_version "  # noqa: S608
            f"FROM {self._read(sources)} GROUP BY ALL",
            paths,
        )

    def _origins(self, name: str, sources: Sequence[Source]) -> Mapping[tuple[int, str | None], Origin]:
        versions: dict[str, list[str | None]] = {}
        for file, version in self._connection.execute("SELECT * FROM reported ORDER BY ALL").fetchall():
            versions.setdefault(file, []).append(version)
        found: dict[tuple[int, str | None], Origin] = {}
        for number, source in enumerate(sources):
            place = place_of(source.path)
            for version in versions.get(str(self._folder.file(source.sha256)), ()):
                found[number, version] = origin_of(
                    place, name, version, self._facts.sidecars.get(place), self._facts.id
                )
        return found

    def _key(self, table: Table, sources: Sequence[Source], origins: Mapping[tuple[int, str | None], Origin]) -> str:
        told = [
            FORM,
            repr(table),
            [(source.path, source.sha256) for source in sources],
            [(number, version, origin.build.id, origin.grade) for (number, version), origin in origins.items()],
            repr(sorted(systems().items())),
            self._facts.graded,
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def _check(self, table: Table, sources: Sequence[Source], made: Path) -> None:
        """Refuse rows that cannot be: held to what came out, for what a file says of its least and greatest values can hide one."""
        for condition, reason in _faults(table):
            sql = f"SELECT source, row FROM read_parquet({quoted(made)}) WHERE {condition} ORDER BY ALL LIMIT 1"  # noqa: S608
            row = self._connection.execute(sql).fetchone()
            if row is not None:
                raise InputError(
                    f"{sources[row[0]].path}, row {row[1]}: {reason}",
                    hint="Mend the row, or take its file out of the tree.",
                )

    def _write(
        self,
        table: Table,
        sources: tuple[Source, ...],
        origins: Mapping[tuple[int, str | None], Origin],
        paths: Mapping[str, str],
    ) -> Family:
        self._fill_origins(sources, origins)
        temporary = self._scratch / f"{table.name}.parquet"
        try:
            self._execute(
                f"COPY ({_select(table, self._read(sources), graded=self._facts.graded)}) TO {quoted(temporary)} "
                "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960)",
                paths,
            )
            self._check(table, sources, temporary)
            return self._family(table, sources, temporary)
        finally:
            temporary.unlink(missing_ok=True)

    def _fill_origins(self, sources: Sequence[Source], origins: Mapping[tuple[int, str | None], Origin]) -> None:
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE origin (filename VARCHAR, row_version VARCHAR, source UINTEGER, system VARCHAR, "
            "family VARCHAR, engine VARCHAR, dir_version VARCHAR, build VARCHAR, best VARCHAR, devices VARCHAR[])"
        )
        facts = systems()
        rows = []
        for (number, version), origin in origins.items():
            file, place = str(self._folder.file(sources[number].sha256)), origin.place
            devices = list(facts[place.system].devices) if place.system in facts else []
            of = (place.system, place.family, place.engine, place.version)
            rows.append((file, version, number, *of, origin.build.id, origin.grade, devices))
        if rows:
            self._connection.executemany(f"INSERT INTO origin VALUES ({', '.join('?' * 10)})", rows)  # noqa: S608

    def _family(self, table: Table, sources: tuple[Source, ...], made: Path) -> Family:
        file = f"read_parquet({quoted(made)})"
        columns = tuple((str(r[0]), str(r[1])) for r in self._connection.execute(f"DESCRIBE FROM {file}").fetchall())
        count = int(self._connection.execute(f"SELECT count(*) FROM {file}").fetchone()[0])  # noqa: S608
        if count != sum(source.rows for source in sources):
            raise IntegrityError(f"{table.name} came out with {count} rows", hint="Report this; no row may be lost.")
        lane = ["engine", *table.lane, "op_name", "kernel_label"]
        told = ", ".join(f"coalesce(\"{c}\"::VARCHAR, '-')" for c in lane)
        lanes = self._connection.execute(
            f"SELECT concat_ws('/', {told}), substitution, count(*) FROM {file} GROUP BY ALL ORDER BY ALL"  # noqa: S608
        ).fetchall()
        return Family(
            table=table.name,
            sha256=self._folder.keep_rows(made),
            rows=count,
            columns=columns,
            lane=table.lane,
            shape=table.shape,
            axes=table.axes,
            sources=sources,
            lanes=tuple(_lane(f"{table.name}/{title}", rows, what or "") for title, what, rows in lanes),
        )

    def _execute(self, sql: str, paths: Mapping[str, str]) -> Any:  # noqa: ANN401
        import duckdb  # noqa: PLC0415  (connect has loaded it)

        try:
            return self._connection.execute(sql)
        except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException):
            raise  # a fault of ours, not of a file
        except duckdb.Error as error:
            damaged = next((path for sha256, path in paths.items() if not self._readable(sha256)), None)
            if damaged is None and not isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException):
                damaged = next(iter(paths.values())) if len(paths) == 1 else f"one of {len(paths)} files of a table"
            if damaged is None:
                raise RemoteError(
                    f"the rows cannot be written: {error}",
                    hint="Free some space and memory, and import again; it goes on.",
                ) from error
            raise InputError(
                f"{damaged} is not a readable Parquet file", hint="Fetch the tree again; this file is damaged."
            ) from error

    def _readable(self, sha256: str) -> bool:
        import duckdb  # noqa: PLC0415  (connect has loaded it)

        try:
            self._connection.execute(f"SELECT max(hash(t)) FROM read_parquet({quoted(self._folder.file(sha256))}) t")  # noqa: S608
        except duckdb.Error:
            return False
        return True


def _lane(title: str, rows: int, substitution: str) -> Lane:
    return Lane(id=hashlib.sha256(title.encode()).hexdigest()[:16], title=title, rows=rows, substitution=substitution)


def _faults(table: Table) -> Iterator[tuple[str, str]]:
    """Give conditions on rows that no measurement meets, and what each says."""
    for column in table.measured:
        yield f"NOT isfinite({column.name}) OR {column.name} < 0", f"{column.column} is negative or not a number"
        if column.name == LATENCY:
            yield f"{LATENCY} IS NULL", f"{column.column} has no value"
    for name in table.needed:
        yield f'"{name}" IS NULL', f"{name} has no value"
    total = " + ".join(table.sum_us)
    if total:
        same = f"abs({LATENCY} - ({total})) <= {_TOLERANCE} * ({total})"
        yield f"NOT coalesce({same}, false)", f"latency is in another unit than {total} say"


def _select(table: Table, source: str, *, graded: bool) -> str:
    """Write the SELECT that turns the tree's rows into ours, sorted."""
    has = set(table.identity)
    text = {c: f't."{c}"' if c in has else "NULL::VARCHAR" for c in ("version", "framework", "device")}
    measured = [f't."{c.column}"::DOUBLE * {c.factor!r} AS {c.name}' for c in table.measured]
    if not any(c.name == LATENCY for c in table.measured):
        measured.insert(0, f"NULL::DOUBLE AS {LATENCY}")
    wrong = f"(len(o.devices) > 0 AND NOT coalesce(list_contains(o.devices, {text['device']}), false))"
    swapped = "regexp_extract(t.kernel_source, '_([a-z0-9]+)_as_([a-z0-9]+)$', ['of', 'by'])"
    best = "t.own_grade" if graded else "CASE WHEN t.own_grade = 'D' THEN 'D' ELSE o.best END"
    best = best if "own_grade" in table.derived else "o.best"
    columns = [
        "o.system, o.family, o.engine, o.dir_version",
        f"{text['version']} AS row_version, {text['framework']} AS framework, {text['device']} AS device",
        "t.op_name, t.kernel_source AS kernel_label",
        *(f't."{c}"' for c in (*table.lane, *table.shape, *table.derived)),
        *measured,
        "o.build",
        f"CASE WHEN {wrong} OR {swapped}.by <> '' THEN 'D' ELSE {best} END AS grade",
        f"CASE WHEN {swapped}.by <> '' THEN {swapped}.by || '_for_' || {swapped}.of END AS substitution",
        "o.source, t.file_row_number::UINTEGER AS row",
    ]
    fixed = [c for c in table.shape if c not in table.axes]
    order = ["o.source", "t.op_name", "t.kernel_source"]  # sources are in the order of system, engine and version
    order += [f't."{c}"' for c in (*table.lane, *fixed, *table.axes)] + ["t.file_row_number"]
    return (
        f"SELECT {', '.join(columns)} FROM {source} t JOIN origin o ON t.filename = o.filename "  # noqa: S608
        f"AND {text['version']} IS NOT DISTINCT FROM o.row_version ORDER BY {', '.join(order)}"
    )
