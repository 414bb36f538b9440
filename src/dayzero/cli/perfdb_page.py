"""``dayzero perfdb page``: what a catalog shows of a database."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import Evidence, ImportId, Keys, trusted
from dayzero.wiring.perfdb_page import write_page


def page_rows(  # noqa: PLR0913  (each is an option of its own)
    database: Path,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=("--output", "-o"))],
    evidence: Evidence = None,
    key: Keys = (),
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """Write the coverage of the declared lanes, their curves and the retractions into a file for 'dayzero catalog build --perfdb'.

    Args:
        database: The database.
        output: The file.
        evidence: Folder that holds evidence/ with retractions.
        key: Public key whose retractions count.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    document = write_page(database, output, evidence, trusted(key), import_id)
    if output_format == "json":
        print_json(document)
    else:
        counts = {word: len(list(document[word])) for word in ("lanes", "curves", "retractions")}  # type: ignore[call-overload]
        print(f"{output}: " + ", ".join(f"{number} {word}" for word, number in counts.items()))
        print(f"use it: dayzero catalog build --perfdb {output} -o SITE")
    return PROVEN
