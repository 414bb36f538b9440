"""Ask DuckDB over the rows of one import. It is loaded on first use only."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.perfdb.ports import Value

THREADS, MEMORY = 2, "900MB"
_BELIEVING = "compressed_materialization,join_filter_pushdown,statistics_propagation"


def connect(scratch: Path | None = None, *, foreign: bool = False) -> Any:  # noqa: ANN401  (the library comes without types of its own here)
    """Open a connection that reads local files, and takes two cores and less than a gibibyte.

    Args:
        scratch: Where it may put what does not fit; nowhere without one.
        foreign: Whether it reads files of others: what these say of their least and greatest values is not believed, for rows that
            lie outside would come out as others.

    Raises:
        InputError: DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415  (heavy, and optional)
    except ImportError as error:
        raise InputError(
            "a performance database needs DuckDB, which is not installed", hint="Run 'pip install dayzero[parquet]'."
        ) from error
    return duckdb.connect(
        config={
            "threads": THREADS,
            "memory_limit": MEMORY,
            "temp_directory": str(scratch) if scratch else "",
            "autoinstall_known_extensions": False,
            "disabled_optimizers": _BELIEVING if foreign else "",
        }
    )


def quoted(path: Path | str) -> str:
    """Write a path as a SQL literal."""
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def written(target: Path) -> Iterator[None]:
    """Turn what DuckDB says of a disk that refused into an error that names the file.

    Raises:
        RemoteError: It could not be written.
    """
    import duckdb  # noqa: PLC0415  (connect has loaded it)

    try:
        yield
    except duckdb.IOException as error:
        raise RemoteError(
            f"{target} cannot be written: {error}", hint="Free some space, or choose another folder."
        ) from error


class DuckRows:
    """Implements ``perfdb.ports.Rows``: one view a table, made when the database is opened."""

    def __init__(self, views: Iterable[tuple[str, Path]]) -> None:
        """Open the views.

        Args:
            views: Name of each table, and the file with its rows.
        """
        self._connection = connect()
        for name, path in views:
            self._connection.execute(f'CREATE VIEW "{name}" AS SELECT * FROM read_parquet({quoted(path)})')  # noqa: S608  (our own path)

    def ask(self, sql: str) -> Sequence[tuple[Value, ...]]:
        """Answer one SELECT over the views.

        Raises:
            IntegrityError: A file of rows cannot be read.
            RemoteError: It takes more memory than there is.
        """
        import duckdb  # noqa: PLC0415  (connect has loaded it)

        try:
            rows: list[tuple[Value, ...]] = self._connection.execute(sql).fetchall()
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise IntegrityError(f"the rows cannot be read: {error}", hint="Import the tree again.") from error
        except duckdb.OutOfMemoryException as error:
            raise RemoteError(
                f"the rows take more memory than {MEMORY}", hint="Ask for one rule or one table at a time."
            ) from error
        return rows
