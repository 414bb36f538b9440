"""``dayzero perfdb diff``: what became faster or slower, beyond noise?"""

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, title
from dayzero.perfdb.diff import Change, Difference
from dayzero.wiring.perfdb import Database
from dayzero.wiring.perfdb_diff import Compared, compare_databases


def diff_rows(  # noqa: PLR0913  (each is an option of its own)
    first: Path,
    second: Path,
    *,
    label: str = "",
    other: str = "",
    table: Annotated[tuple[str, ...], cyclopts.Parameter(name="--table", negative=())] = (),
    import_id: str = "",
    other_import: str = "",
    output_format: OutputFormat = "text",
) -> int:
    """Compare two databases, or two builds of one, lane by lane, with the noise of repeats in view.

    Exit 0: everything that both measured is the same within noise; 1: something became faster or slower; 3: nothing was comparable.

    Args:
        first: Database that is compared with.
        second: Database that is compared; the same one, to compare two labels.
        label: Label of the first side, as ENGINE/VERSION.
        other: Label of the second side.
        table: A table to compare; all without one, can be given again.
        import_id: Import of the first side.
        other_import: Import of the second side.
        output_format: How the result is written to stdout.
    """
    compared = compare_databases((first, second), (label, other), (import_id, other_import), table)
    if output_format == "json":
        print_json(_document(compared))
    else:
        _print(compared)
        _print_unknown((compared.first, label), (compared.second, other))
    if not compared.differences:
        return PROVEN if compared.untouched and not compared.alone else UNDECIDED
    told = {one.change for one in compared.differences} - {Change.UNTOLD}
    if not told:
        return UNDECIDED
    return PROVEN if told == {Change.SAME} else FINDINGS


def _print(compared: Compared) -> None:
    print(f"{title(compared.first.made)} -> {title(compared.second.made)}")
    for one in compared.differences:
        first, second = one.kernels
        kernels = first if first == second else f"{first} -> {second}"
        print(f"{one.table}  {one.system}  {one.engine}  {kernels}")
        print(f"    {one.change}: {_quantiles(one)}, noise x{one.noise:.3f}, {one.shapes} shapes")
    for text, names in (("the same rows on both sides", compared.untouched), ("on one side only", compared.alone)):
        if names:
            print(f"{text}: {', '.join(names)}")
    if not compared.differences and not compared.untouched:
        print("nothing that both sides measured")


def _print_unknown(*sides: tuple[Database, str]) -> None:
    """Say of a label that an import does not have which ones it has that are near."""
    for opened, label in sides:
        known = sorted({one.label for one in opened.made.labels})
        if label and label not in known:
            near = get_close_matches(label, known, n=5, cutoff=0.4) or known
            print(f"import {opened.made.id} has no label {label}; it has {', '.join(near)}")


def _quantiles(one: Difference) -> str:
    return f"p10 x{one.p10:.3f}, p50 x{one.p50:.3f}, p90 x{one.p90:.3f}"


def _document(compared: Compared) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": "diff",
        "first": compared.first.made.id,
        "second": compared.second.made.id,
        "untouched": list(compared.untouched),
        "alone": list(compared.alone),
        "differences": [
            {
                "table": one.table,
                "system": one.system,
                "engine": one.engine,
                "kernels": list(one.kernels),
                "shapes": one.shapes,
                "p10": one.p10,
                "p50": one.p50,
                "p90": one.p90,
                "noise": one.noise,
                "change": one.change,
            }
            for one in compared.differences
        ],
    }
