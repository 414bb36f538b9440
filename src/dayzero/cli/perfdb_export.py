"""``dayzero perfdb export``: the rows as another tool reads them, without what was taken back."""

from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, ImportId, Keys, opened_title, trusted
from dayzero.cli.perfdb_retract import print_standing
from dayzero.perfdb.retraction import Effect
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_retract import export_aic, standings_in
from dayzero.wiring.store import open_repository


def export_rows(  # noqa: PLR0913  (each is an option of its own)
    reader: Literal["aic"],
    database: Path,
    root: Path = Path(),
    *,
    output: Annotated[Path, cyclopts.Parameter(name=("--output", "-o"))],
    key: Keys = (),
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """Write a tree for 'aiconfigurator cli ... --systems-paths TREE': links to the files, and new ones without retracted rows.

    Exit 0: every retraction was applied, has nothing left to match, or was reinstated; 1: the tree was written without one that is
    stale or signed by another key.

    Args:
        reader: Who reads it: aic for aiconfigurator.
        database: The database.
        root: Folder that holds evidence/ with the retractions.
        output: New folder for the tree.
        key: Public key whose retractions count.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    del reader  # there is one
    opened = open_database(database, import_id)
    standing = standings_in(opened, root, trusted(key))
    done = export_aic(opened, output, standing, open_repository(root).ledger.head)
    if output_format == "json":
        effects = {one.record.slug: one.effect for one in standing}
        counts = {"files": done.files, "rewritten": done.rewritten, "rows_left_out": done.left_out}
        print_json({"schema": SCHEMA, "kind": "export", "import": opened.made.id, **counts, "retractions": effects})
    else:
        print(opened_title(opened))
        for one in standing:
            print_standing(one)
        print(f"{output}: {done.files} files, {done.rewritten} of them written anew without {done.left_out} rows")
        print(f"use it: aiconfigurator cli estimate ... --systems-paths {output}")
    return FINDINGS if any(one.effect in {Effect.STALE, Effect.UNTRUSTED} for one in standing) else PROVEN
