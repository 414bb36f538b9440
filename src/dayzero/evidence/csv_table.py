"""Read a CSV file as a table with a header, strictly (RFC 4180: commas, double quotes, rows of one length)."""

import csv
from collections.abc import Iterator, Mapping

from dayzero.core.errors import EvidenceError

_HINT = "Point at a UTF-8 CSV file with commas, a header row, and rows of one length."


class CsvTable:
    """A CSV file, read once.

    Raises:
        EvidenceError: It is no such file.
    """

    def __init__(self, raw: bytes) -> None:
        try:
            rows = tuple(_rows(raw.decode("utf-8")))
        except (UnicodeDecodeError, csv.Error) as error:
            raise EvidenceError(f"not a CSV file: {error}", hint=_HINT) from error
        header = rows[0][1] if rows else ()
        if len(set(header)) != len(header) or not header:
            raise EvidenceError("not a CSV file with a header whose columns have each their name", hint=_HINT)
        ragged = next((line for line, cells in rows if len(cells) != len(header)), None)
        if ragged is not None:
            raise EvidenceError(f"the row on line {ragged} has another length than the header", hint=_HINT)
        self._columns = {name: index for index, name in enumerate(header)}
        self._rows = rows[1:]
        self._by_key: dict[str, Mapping[str, list[int]]] = {}

    def cell(self, key_column: str, key: str, column: str) -> tuple[str, int]:
        """Give a cell, and the line on which its row begins.

        Raises:
            EvidenceError: A column is not there, or the key stands in no row, or in more than one.
        """
        for name in (key_column, column):
            if name not in self._columns:
                raise EvidenceError(f"there is no column {name!r}", hint=f"The columns are {', '.join(self._columns)}.")
        if key_column not in self._by_key:
            self._by_key[key_column] = self._keys(self._columns[key_column])
        at = self._by_key[key_column].get(key, [])
        if len(at) != 1:
            raise EvidenceError(
                f"{key!r} stands in {len(at)} rows of the column {key_column!r}, not in one",
                hint="Name the row by a column that says each value once.",
            )
        line, cells = self._rows[at[0]]
        return cells[self._columns[column]], line

    def _keys(self, index: int) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, (_, cells) in enumerate(self._rows):
            found.setdefault(cells[index], []).append(number)
        return found


def _rows(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    lines = (f"{line}\n" for line in text.removesuffix("\n").split("\n"))
    reader = csv.reader(lines if text else (), strict=True)
    first = 1
    for cells in reader:
        yield first, tuple(cells)
        first = reader.line_num + 1
