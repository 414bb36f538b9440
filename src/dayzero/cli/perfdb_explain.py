"""``dayzero perfdb explain``: one latency, with the rows behind it and a bar."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, Evidence, ImportId, Keys, Where, opened_title, trusted
from dayzero.core.verdict import Undecided
from dayzero.perfdb.explain import Answer, Outcome
from dayzero.perfdb.lane_index import LaneIndex
from dayzero.perfdb.predicate import parse_terms
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_explain import Explainer, RawRow
from dayzero.wiring.perfdb_retract import standings_in

_WIDE, _INDENT = 132, " " * 9


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

    Each row is shown as it came, in its own columns and units, with the line of a run that it was made from, where it is one.
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
    rows = explainer.raw_rows(index, outcome) if isinstance(outcome, Answer) else ()
    if output_format == "json":
        print_json({"schema": SCHEMA, "kind": "explain", "import": opened.made.id, **_document(index, outcome, rows)})
    else:
        print(opened_title(opened))
        print(f"{table}: {' '.join(str(term) for term in index.terms)}")
        _print(outcome, rows)
    return PROVEN if isinstance(outcome, Answer) else UNDECIDED


def _print(outcome: Outcome, rows: Sequence[RawRow]) -> None:
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
    print(f"by hand  {_by_hand(outcome)}")
    print(
        f"bar      noise x{outcome.noise:.3f}, interpolation x{outcome.interpolation:.3f} ({outcome.residuals} left-out points), "
        f"other build x{outcome.transfer:.3f}"
    )
    for row in rows:
        used = row.used
        print(
            f"row      {used.latency_us:.2f} us, {used.label}, {used.build}, grade {used.grade}, {row.file}, row {used.row}"
        )
        columns = " ".join(f"{name}={value}{_unit(row, name)}" for name, value in row.columns.items())
        print(textwrap.fill(columns, _WIDE, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False))
        print(f"{_INDENT}kept as files/{row.sha256}")
        if row.line_file:
            print(f"{_INDENT}made from {row.line_file}")
            print(row.line)  # not broken up, so that its digest can be worked out


def _unit(row: RawRow, name: str) -> str:
    """Say in which unit a file gives the latency, which the tree leaves out."""
    value = row.columns[name]
    if name != "latency" or not isinstance(value, float):
        return ""
    return {1: " us", 1000: " ms"}.get(round(row.used.latency_us / value), "")


def _by_hand(outcome: Answer) -> str:
    if not outcome.around:
        return f"the median of {len(outcome.used)} rows" if outcome.used[1:] else "the row as it is"
    (small, low), (large, high) = outcome.around
    return f"{low:.6g} us x ({high:.6g} / {low:.6g}) ^ (ln({outcome.size} / {small}) / ln({large} / {small}))"


def _document(index: LaneIndex, outcome: Outcome, raw: Sequence[RawRow]) -> dict[str, object]:
    lane = {term.column: term.value for term in index.terms}
    if isinstance(outcome, Undecided):
        return {"lane": lane, "verdict": "undecided", "reason": outcome.reason}
    rows = [
        {
            "latency_us": row.used.latency_us,
            "label": row.used.label,
            "build": row.used.build,
            "grade": row.used.grade,
            "file": row.file,
            "file_sha256": row.sha256,
            "row": row.used.row,
            "columns": dict(row.columns),
            **({"line_file": row.line_file, "line": row.line} if row.line_file else {}),
        }
        for row in raw
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
        "around": [{"size": size, "value_us": value} for size, value in outcome.around],
        "bar": {
            "noise": outcome.noise,
            "interpolation": outcome.interpolation,
            "transfer": outcome.transfer,
            "residuals": outcome.residuals,
        },
        "rows": rows,
    }
