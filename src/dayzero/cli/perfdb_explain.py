"""``dayzero perfdb explain``: one latency, with the rows behind it and a bar."""

from pathlib import Path

from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, Evidence, ImportId, Keys, Where, title, trusted
from dayzero.core.verdict import Undecided
from dayzero.perfdb.explain import Answer, Outcome
from dayzero.perfdb.lane_index import LaneIndex, Measurement
from dayzero.perfdb.predicate import parse_terms
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_explain import Explainer
from dayzero.wiring.perfdb_retract import standings_in


def explain_point(  # noqa: PLR0913  (each is an option of its own)
    database: Path,
    *,
    table: str,
    system: str,
    engine: str,
    label: str = "",
    where: Where = (),
    evidence: Evidence = None,
    key: Keys = (),
    import_id: ImportId = "",
    output_format: OutputFormat = "text",
) -> int:
    """Answer one point: its latency with a bar that holds nine in ten, its rows, their builds, and over which channel.

    Exit 0: answered; 3: nothing in the database carries an answer.

    Args:
        database: The database.
        table: Table of the operator, such as moe_perf.
        system: System, such as b300_sxm.
        engine: Engine, such as vllm.
        label: Version that is asked for; where it has no rows, others with the same kernel answer, and the answer says so.
        where: Equality on a lane or shape column, such as num_tokens=300.
        evidence: Folder that holds evidence/ with retractions; rows that were taken back do not answer.
        key: Public key whose retractions count.
        import_id: Which import.
        output_format: How the result is written to stdout.
    """
    terms = parse_terms((f"system={system}", f"engine={engine}", *where))
    opened = open_database(database, import_id, (table,) if evidence is None else ())
    explainer = Explainer(database=opened, standing=standings_in(opened, evidence, trusted(key)))
    index, outcome = explainer.answer(table, label, terms)
    if output_format == "json":
        print_json({"schema": SCHEMA, "kind": "explain", "import": opened.made.id, **_document(index, outcome)})
    else:
        print(title(opened.made))
        print(f"{table}: {' '.join(str(term) for term in index.terms)}")
        _print(index, outcome)
    return PROVEN if isinstance(outcome, Answer) else UNDECIDED


def _print(index: LaneIndex, outcome: Outcome) -> None:
    if isinstance(outcome, Undecided):
        print(f"undecided: {outcome.reason}")
        return
    print(f"{outcome.value_us:.2f} us, nine in ten within {outcome.low_us:.2f} to {outcome.high_us:.2f} us")
    how = (
        f"between rows along {outcome.axis}, {outcome.gap_octaves:.2f} octaves apart"
        if outcome.axis
        else "a row of this shape"
    )
    print(f"channel  {outcome.channel}, {how}")
    print(
        f"bar      repeats x{outcome.noise:.3f}, interpolation x{outcome.interpolation:.3f} ({outcome.residuals} left-out points), "
        f"other build x{outcome.transfer:.3f}"
    )
    for row in outcome.used:
        print(f"row      {row.latency_us:.2f} us, {row.label}, {row.build}, grade {row.grade}, {_place(index, row)}")


def _place(index: LaneIndex, row: Measurement) -> str:
    return f"{index.family.sources[row.source].path}, row {row.row}"


def _document(index: LaneIndex, outcome: Outcome) -> dict[str, object]:
    lane = {term.column: term.value for term in index.terms}
    if isinstance(outcome, Undecided):
        return {"lane": lane, "verdict": "undecided", "reason": outcome.reason}
    rows = [
        {
            "latency_us": row.latency_us,
            "label": row.label,
            "build": row.build,
            "grade": row.grade,
            "file": index.family.sources[row.source].path,
            "file_sha256": index.family.sources[row.source].sha256,
            "row": row.row,
        }
        for row in outcome.used
    ]
    return {
        "lane": lane,
        "verdict": "proven",
        "value_us": outcome.value_us,
        "low_us": outcome.low_us,
        "high_us": outcome.high_us,
        "channel": outcome.channel,
        "axis": outcome.axis,
        "gap_octaves": outcome.gap_octaves,
        "bar": {
            "noise": outcome.noise,
            "interpolation": outcome.interpolation,
            "transfer": outcome.transfer,
            "residuals": outcome.residuals,
        },
        "rows": rows,
    }
