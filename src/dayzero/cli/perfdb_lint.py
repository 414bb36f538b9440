"""``dayzero perfdb lint``: which rows should not be taken as they are?"""

from collections import Counter
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, ImportId, opened_title
from dayzero.perfdb.lint import chosen, lint
from dayzero.perfdb.model import Finding, Import
from dayzero.wiring.perfdb import open_database

_SHOWN = 8


def lint_rows(
    database: Path,
    *,
    rule: Annotated[tuple[str, ...], cyclopts.Parameter(name="--rule", negative=())] = (),
    every: Annotated[bool, cyclopts.Parameter(name="--all", negative=())] = False,
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """Hold all rows to the rules. Exit 0: no finding but notes; 1: there are warnings or errors.

    Each finding says how many rows it is about and a hash of which, and the conditions that 'dayzero perfdb retract' takes.

    Args:
        database: The database.
        rule: A rule to hold them to; all without one, can be given again.
        every: Print every finding, not the first of each rule.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    rules = chosen(rule)
    opened = open_database(database, import_id)
    found = lint(opened.made, opened.rows, rule)
    if output_format == "json":
        print_json({"schema": SCHEMA, "kind": "lint", "import": opened.made.id, "findings": [_entry(f) for f in found]})
    else:
        print(opened_title(opened))
        for one in rules:
            _print(one.name, one.question, [f for f in found if f.rule == one.name], _SHOWN if not every else None)
        _sum(opened.made, found)
    return FINDINGS if any(f.severity != "note" for f in found) else PROVEN


def _print(name: str, question: str, found: list[Finding], shown: int | None) -> None:
    rows = sum(f.match.rows for f in found)
    if not found:
        print(f"\n{name}: nothing. {question}")
        return
    print(f"\n{name}: {found[0].severity}, {rows} rows in {len(found)} findings. {question}")
    print(f"  held against: {found[0].threshold}")
    for one in sorted(found, key=lambda f: -f.match.rows)[:shown]:
        print(f"  {one.table}  {one.match.rows} rows  {one.match.hash}  {' '.join(one.where)}")
        print(f"      {one.value + '; ' if one.value else ''}the first is {one.example}")
    if shown is not None and len(found) > shown:
        print(f"  and {len(found) - shown} more; --all prints them")


def _sum(made: Import, found: tuple[Finding, ...]) -> None:
    count = Counter(f.severity for f in found)
    told = ", ".join(f"{count[word]} {word}s" for word in ("error", "warning", "note"))
    print(f"\n{made.rows} rows, {len(found)} findings: {told}")


def _entry(one: Finding) -> dict[str, object]:
    return {
        "rule": one.rule,
        "severity": one.severity,
        "table": one.table,
        "where": list(one.where),
        "matched_rows": one.match.rows,
        "matched_hash": one.match.hash,
        "value": one.value,
        "threshold": one.threshold,
        "example": one.example,
    }
