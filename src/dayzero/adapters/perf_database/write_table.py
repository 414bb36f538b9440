"""Write rows of a table as the Parquet file that a tree would hold."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.perf_database.duck import connect, quoted, written


def write_table(path: Path, kinds: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the file; the same rows give the same bytes.

    Args:
        path: Where.
        kinds: Type of each column, in order.
        rows: The rows; a column that one does not name has no value there.

    Raises:
        InputError: DuckDB is not installed.
        RemoteError: The disk refused.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with connect() as connection, written(path):
        listed = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE t ({listed})")
        marks = ", ".join("?" * len(kinds))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", [[row.get(name) for name in kinds] for row in rows])  # noqa: S608
        connection.execute("SET threads = 1")
        connection.execute(f"COPY t TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)")
