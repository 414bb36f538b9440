"""``dayzero perfdb import``: a tree of rows into files that do not change."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, title
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.perfdb.model import Import
from dayzero.wiring.perfdb_import import import_tree
from dayzero.wiring.perfdb_import_records import import_records, is_records
from dayzero.wiring.perfdb_import_run import import_run, is_run


def import_rows(
    source: Path,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=("--output", "-o"))],
    sha256: str = "",
    output_format: OutputFormat = "text",
) -> int:
    """Import the rows of aiconfigurator-core, from its wheel or its folder 'systems', of a run of your own, or of operator records.

    What an import that was stopped had finished is not made again, and nothing is there half. Exit 2: a file is damaged, lacks a
    column, or measures in mixed units.

    Args:
        source: The wheel, the folder, the run that 'perfdb collect' wrote, or a file of records or a folder of them.
        output: The database, a folder; more imports can lie in it.
        sha256: Digest that the wheel has to have.
        output_format: How the result is written to stdout.
    """
    console, own = stderr_console(), is_run(source)
    if sha256 and (own or is_records(source)):
        what = "a run has" if own else "records have"
        raise InputError(f"{what} no digest to compare", hint="Leave --sha256 out, or give the wheel.")
    if own:
        done = import_run(source, output, console.print)
    elif is_records(source):
        done = import_records(source, output, console.print)
    else:
        done = import_tree(source, output, Sha256(sha256) if sha256 else None, console.print)
    if output_format == "json":
        print_json(_document(done.made, new=done.new))
        return PROVEN
    made = done.made
    lanes = sum(len(family.lanes) for family in made.families)
    print(f"{'imported' if done.new else 'there already'}: {title(made)}")
    print(f"{made.rows} rows in {len(made.families)} tables from {sum(len(f.sources) for f in made.families)} files")
    print(f"{lanes} lanes, {len(made.builds)} builds under {len({label.label for label in made.labels})} labels")
    print(f"{len(made.sidecars)} sidecars, {len(made.failures)} failed cases on record")
    return PROVEN


def _document(made: Import, *, new: bool) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": "import",
        "import": made.id,
        "new": new,
        "upstream": made.upstream,
        "version": made.version,
        "wheel_sha256": made.sha256,
        "imported_at": made.imported_at,
        "rows": made.rows,
        "tables": {family.table: family.rows for family in made.families},
        "builds": [
            {"id": build.id, "identity": build.identity, "engine": build.engine, "version": build.version}
            for build in made.builds
        ],
        "labels": [
            {
                "label": label.label,
                "build": label.build,
                "systems": list(label.systems),
                "valid_from": label.valid_from,
                "valid_to": label.valid_to,
            }
            for label in made.labels
        ],
        "failures": dict(Counter(failure.error for failure in made.failures)),
    }
