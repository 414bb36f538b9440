"""Read one row of the tree again as it came, and the line of a run or the record that stands under it."""

import json
from collections.abc import Mapping

from dayzero.adapters.perf_database.duck import connect, quoted
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.perfdb.model import Source
from dayzero.perfdb.ports import Value

_CHAIN = ".jsonl"


def row_as_it_came(folder: PerfFolder, source: Source, row: int) -> Mapping[str, Value]:
    """Read a row in its file's own columns, names and units; a value that JSON has no word for is text.

    Args:
        folder: The database that keeps the file.
        source: The file.
        row: Row in it, from 0.

    Raises:
        IntegrityError: The file is gone, or not the one that was imported.
    """
    folder.content(source.path, source.sha256)
    file = f"read_parquet({quoted(folder.file(source.sha256))}, file_row_number = true)"
    with connect(foreign=True) as connection:
        found = connection.execute(f"SELECT * EXCLUDE (file_row_number) FROM {file} WHERE file_row_number = {row}")  # noqa: S608  (our own path)
        names, values = [str(column[0]) for column in found.description], found.fetchone()
    return {
        name: value if isinstance(value, str | int | float | bool | None) else str(value)
        for name, value in zip(names, values, strict=True)
    }


def line_of(folder: PerfFolder, path: str, sha256: str, number: int) -> str:
    """Give a line of a run, or a record of a file of records, by its number from 1.

    Raises:
        IntegrityError: The file is gone, or not the one that was imported.
    """
    content = folder.content(path, sha256)
    if path.endswith(_CHAIN):
        return content.split(b"\n")[number - 1].decode("utf-8", "replace")
    return json.dumps(json.loads(content)["results"][number - 1], ensure_ascii=False)
