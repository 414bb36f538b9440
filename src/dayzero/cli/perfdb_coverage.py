"""``dayzero perfdb coverage``: what is known of each lane on each system."""

from pathlib import Path

from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, Evidence, ImportId, Keys, Where, opened_title, trusted
from dayzero.core.errors import InputError
from dayzero.perfdb.coverage import Coverage, DeclaredLane, coverage, declared_lanes
from dayzero.perfdb.model import Import
from dayzero.perfdb.retraction import applied
from dayzero.perfdb.tables import systems
from dayzero.wiring.perfdb import Database, open_database
from dayzero.wiring.perfdb_retract import standings_in


def show_coverage(  # noqa: PLR0913  (each is an option of its own)
    database: Path,
    lane: str = "",
    *,
    table: str = "",
    engine: str = "",
    where: Where = (),
    evidence: Evidence = None,
    key: Keys = (),
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """Count, from the rows, on which systems a lane is measured, failed, unsupported, not attempted, substituted or retracted.

    Exit 0: every system has rows that count; 1: a system has none.

    Args:
        database: The database.
        lane: A declared lane, or the beginning of its name; all declared lanes without it.
        table: Table of a lane of your own, with --engine and --where in place of a declared lane.
        engine: Its engine.
        where: A condition that its rows meet.
        evidence: Folder that holds evidence/ with retractions.
        key: Public key whose retractions count.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    own = bool(table or engine or where)
    lanes = _own(table, engine, where) if own else _declared(lane)
    asked = sorted({one.table for one in lanes}) if evidence is None else ()
    opened = open_database(database, import_id, asked, absent=not own)
    standing = standings_in(opened, evidence, trusted(key))
    found = tuple(coverage(one, opened.made, opened.rows, applied(standing)) for one in lanes)
    if output_format == "json":
        print_json(_document(opened.made, found))
    else:
        _print(opened, found)
    return PROVEN if all(one.with_rows == len(one.cells) for one in found) else FINDINGS


def _declared(name: str) -> tuple[DeclaredLane, ...]:
    known = declared_lanes()
    lanes = tuple(lane for lane in known if lane.title.startswith(name))
    if not lanes:
        raise InputError(f"no lane is declared as {name!r}", hint=f"There are {', '.join(one.title for one in known)}.")
    return lanes


def _own(table: str, engine: str, where: tuple[str, ...]) -> tuple[DeclaredLane, ...]:
    if not table or not engine:
        raise InputError("a lane of your own needs a table and an engine", hint="Give --table and --engine.")
    title_ = f"{table}/{engine}" + "".join(f" {word}" for word in where)
    return (DeclaredLane(title=title_, table=table, engine=engine, where=where, systems=tuple(systems())),)


def _print(opened: Database, found: tuple[Coverage, ...]) -> None:
    print(opened_title(opened))
    for one in found:
        print(f"\n{one.lane.title}: {one.with_rows} of {len(one.cells)} systems, {one.rows} rows")
        if one.lane.source:
            print(f"  asked for by  {one.lane.source}")
        for cell in one.cells:
            counts = {"measured": cell.measured, "substituted": cell.substituted, "retracted": cell.retracted}
            told = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
            told += f"  ({', '.join(cell.builds)})" if cell.builds else ""
            print(f"  {cell.system:<20} {cell.state:<14} {told}".rstrip())
        if not one.rows and one.lane.recipe:
            _print_recipe(one.lane)


def _print_recipe(lane: DeclaredLane) -> None:
    told = (("to measure it", lane.recipe), ("on", lane.image), *(("to check", check) for check in lane.checks))
    for word, text in (*told, ("to label it", lane.label)):
        if text:
            print(f"  {word:<13}  {text.strip()}")


def _document(made: Import, found: tuple[Coverage, ...]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": "coverage",
        "import": made.id,
        "lanes": [
            {
                "lane": one.lane.title,
                "table": one.lane.table,
                "engine": one.lane.engine,
                "where": list(one.lane.where),
                "recipe": one.lane.recipe.strip(),
                "image": one.lane.image.strip(),
                "checks": list(one.lane.checks),
                "label": one.lane.label.strip(),
                "systems_with_rows": one.with_rows,
                "rows": one.rows,
                "systems": [
                    {
                        "system": cell.system,
                        "state": cell.state,
                        "measured": cell.measured,
                        "substituted": cell.substituted,
                        "retracted": cell.retracted,
                        "failed": cell.failed,
                        "builds": list(cell.builds),
                    }
                    for cell in one.cells
                ],
            }
            for one in found
        ],
    }
