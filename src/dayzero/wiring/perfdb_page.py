"""Write what a catalog shows of a database into one file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from dayzero.adapters.disk import write_whole
from dayzero.perfdb.coverage import coverage, declared_lanes
from dayzero.perfdb.curves import curves
from dayzero.perfdb.page import page_document
from dayzero.perfdb.retraction import applied
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_retract import standings_in
from dayzero_verify.keys import PublicKey


def write_page(
    path: Path, target: Path, evidence: Path | None, trusted: Sequence[PublicKey], import_id: str
) -> Mapping[str, object]:
    """Write the declared lanes that the import has a table for, and give the document.

    Args:
        path: The database.
        target: The file; it is replaced whole.
        evidence: Folder that holds evidence/ with retractions, or ``None``.
        trusted: Keys whose retractions count.
        import_id: The import, by its first digits.

    Raises:
        InputError: There is no such database or import.
        IntegrityError: A file of rows or a record was changed.
        RemoteError: The disk is full or may not be written.
    """
    database = open_database(path, import_id)
    standing = standings_in(database, evidence, trusted)
    retracted = applied(standing)
    tables = {family.table for family in database.made.families}
    lanes = [lane for lane in declared_lanes() if lane.table in tables]
    asked = (database.made, database.rows, retracted)
    document = page_document(
        database.made,
        [coverage(lane, *asked) for lane in lanes],
        [curve for lane in lanes for curve in curves(lane, *asked)],
        standing,
    )
    write_whole(target, msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    return document
