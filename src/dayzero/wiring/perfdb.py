"""Open a performance database and the ledger of what was taken back from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from dayzero.adapters.perf_database.duck import DuckRows
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.core.errors import InputError
from dayzero.perfdb.model import Import
from dayzero.perfdb.ports import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One import of a database, open.

    Attributes:
        folder: The database.
        made: The import.
        rows: Its rows, as they were imported; nothing is taken out of them here.
        unnamed: How many imports it was taken from as the newest one; 1 where it was named.
    """

    folder: PerfFolder
    made: Import
    rows: Rows
    unnamed: int = 1


def open_database(path: Path, import_id: str = "", tables: Sequence[str] = (), *, absent: bool = False) -> Database:
    """Open an import of a database.

    Args:
        path: The database.
        import_id: The import, by the first digits of its id; the newest where none is named.
        tables: Tables that will be asked; all where none is named.
        absent: Whether the import may lack some of them.

    Raises:
        InputError: There is no such database, import or table.
        IntegrityError: A file of rows is gone, or not the one that was written.
    """
    folder = PerfFolder(path)
    imports = [made for made in folder.imports() if made.id.startswith(import_id)]
    if not imports:
        known = ", ".join(made.id for made in folder.imports())
        raise InputError(f"{path} holds no import {import_id}", hint=f"It holds {known}.")
    made = imports[-1]
    names = {family.table for family in made.families}
    unknown = next((table for table in tables if table not in names), None)
    if unknown is not None and not absent:
        other = next((one.id for one in imports[::-1] if any(f.table == unknown for f in one.families)), None)
        close = get_close_matches(unknown, sorted(names), n=3)
        hint = (
            f"There are {', '.join(close or sorted(names))}."
            if other is None
            else f"Name import {other}, which has it."
        )
        raise InputError(f"there is no table {unknown!r} in import {made.id}", hint=hint)
    views = [(f.table, folder.whole_rows(f)) for f in made.families if not tables or f.table in tables]
    return Database(folder=folder, made=made, rows=DuckRows(views), unnamed=1 if import_id else len(imports))
