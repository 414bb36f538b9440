"""``dayzero perfdb retract``, ``reinstate``, ``retractions``: take rows back, for good and on the record."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, ImportId, Keys, Where, opened_title, trusted
from dayzero.evidence.row_model import RowRetraction
from dayzero.perfdb.retraction import Effect, Standing
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_retract import Wanted, Written, reinstate_rows, retract_rows, standings_in

_OPEN = frozenset({Effect.STALE, Effect.UNTRUSTED})


def retract(  # noqa: PLR0913  (each is an option of its own)
    slug: str,
    database: Path,
    root: Path = Path(),
    *,
    table: str,
    where: Where,
    cause: str,
    why: str,
    line: Annotated[tuple[str, ...], cyclopts.Parameter(name="--line", negative=())] = (),
    sign: Path | None = None,
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """Take rows back by what their columns say, signed. Without --sign it is only shown what would be written.

    The record keeps how many rows matched and a hash of which; an import in which the same conditions match other rows is not
    changed by it, and the record is shown as stale.

    Args:
        slug: Handle of the retraction.
        database: The database that holds the rows.
        root: Folder that holds evidence/.
        table: Table of the rows.
        where: A condition that they meet; all have to hold.
        cause: What kind of reason, such as instrument_artifact.
        why: The reason; it is published.
        line: A line of a file in the tree that shows it, as PATH:LINE; can be given again.
        sign: Private key that signs it.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    wanted = Wanted(slug=slug, table=table, where=where, cause=cause, why=why, evidence=line)
    return _show(retract_rows(open_database(database, import_id, (table,)), root, wanted, sign), output_format)


def reinstate(
    slug: str, root: Path = Path(), *, why: str, sign: Path | None = None, output_format: OutputFormat = "text"
) -> int:
    """Say that a retraction of rows no longer holds, signed. Without --sign it is only shown what would be written.

    Args:
        slug: Handle of the retraction.
        root: Folder that holds evidence/.
        why: The reason; it is published.
        sign: Private key that signs it.
        output_format: How the result is written to stdout.
    """
    return _show(reinstate_rows(root, slug, why, sign), output_format)


def retractions(
    database: Path,
    root: Path = Path(),
    *,
    key: Keys = (),
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """List the retractions of rows, and what each does to an import. Exit 1: one is stale, or signed by another key.

    Args:
        database: The database.
        root: Folder that holds evidence/.
        key: Public key whose records count.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    opened = open_database(database, import_id)
    standing = standings_in(opened, root, trusted(key))
    if output_format == "json":
        entries = [_entry(one) for one in standing]
        print_json({"schema": SCHEMA, "kind": "retractions", "import": opened.made.id, "retractions": entries})
    else:
        print(opened_title(opened))
        for one in standing:
            print_standing(one)
        print(f"retractions of rows: {len(standing)}")
    return FINDINGS if any(one.effect in _OPEN for one in standing) else PROVEN


def print_standing(one: Standing) -> None:
    """Print a retraction and what it does."""
    record = one.record
    print(f"{record.slug}: {one.effect}; {record.cause}: {record.why} (line {one.line} of the ledger)")
    print(f"  {record.table}  {' '.join(record.where)}")
    print(f"  matched {record.matched_rows} rows {record.matched_hash} in {record.upstream}")
    if one.effect is Effect.STALE:
        print(f"  matches {one.found.rows} rows {one.found.hash} here: look at them, then reinstate and retract anew")


def _show(written: Written, output_format: OutputFormat) -> int:
    for path in written.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    record = written.record
    if output_format == "json":
        print_json({"schema": SCHEMA, "kind": "record", "record": asdict(record), "written_at": written.where})
        return PROVEN
    word = "retracts" if isinstance(record, RowRetraction) else "reinstates"
    print(f"{record.slug} {word if written.where else 'would ' + word.removesuffix('s')}: {record.why}")
    if isinstance(record, RowRetraction):
        print(f"  {record.matched_rows} rows {record.matched_hash} of {record.upstream}, {record.table}")
        print(f"  {' '.join(record.where)}")
        for line in record.evidence:
            print(f"  seen at {line.file}:{line.line} ({line.sha256})")
    print(f"  written to {written.where}" if written.where else "  not written; give --sign KEY.pem")
    return PROVEN


def _entry(one: Standing) -> dict[str, object]:
    found = {"rows": one.found.rows, "hash": one.found.hash}
    return {"record": asdict(one.record), "line": one.line, "effect": one.effect, "found": found}
