"""``dayzero bench --read``: what did another tool measure, and what can be said of it? Runs of ours are exported again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from dayzero.bench import rows as bench_rows
from dayzero.bench.foreign.document import of_judged
from dayzero.bench.foreign.model import Comparison, Judged
from dayzero.bench.foreign.tools import read as read_foreign
from dayzero.bench.metrics import minimum_sample
from dayzero.cli.bench_export import export_run, wanted_formats, write_report
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.core.verdict import Refuted, Undecided

_ROWS: Final = "requests.jsonl"
_RECEIPT: Final = "receipt.json"
_SUFFIXES: Final = frozenset({".json", ".jsonl", ".txt", ".yaml"})
_MOST_BYTES: Final = 2 << 30
_SMALL: Final = 100
_TOO_SMALL: Final = "n too small"


def read(place: Path, *, export: str = "", output_format: OutputFormat = "text") -> int:
    """Read the files of a run.

    Of another tool: print each figure beside what its own records and our definitions give, what speaks against it, and a
    verdict. Exit 1: something does; 3: nothing does, but no file of another tool proves its figures.
    Of a run of ours: write ``report.html`` and the formats of ``export`` into its folder. Exit 0.

    Args:
        place: A file, or the folder of one run.
        export: Formats to write, joined with commas; for runs of ours only.
        output_format: How the result is written to stdout.

    Raises:
        InputError: Nothing is there, or no known tool wrote it.
        EvidenceError: The rows of a run of ours are damaged.
    """
    if place.is_dir() and (place / _ROWS).is_file():
        return _read_ours(place, export, output_format)
    if export:
        raise InputError(
            "only a run of dayzero's can be exported", hint="Give the folder of one, or leave --export out."
        )
    found = read_foreign(_files(place))
    if output_format == "json":
        print_json(of_judged(found))
    else:
        for judged in found:
            _print(Console(highlight=False, soft_wrap=True), judged)
    return FINDINGS if any(isinstance(judged.verdict, Refuted) for judged in found) else UNDECIDED


def _files(place: Path) -> dict[str, bytes]:
    if not place.exists():
        raise InputError(f"{place} does not exist", hint="Give a file that a benchmark wrote, or its folder.")
    found = [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.suffix in _SUFFIXES)
    size = sum(file.stat().st_size for file in found)
    if size > _MOST_BYTES:
        raise InputError(f"{place} holds {size} bytes", hint="Give the folder of one run.")
    root = place.parent if place.is_file() else place
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in found if file.is_file()}


def _read_ours(folder: Path, export: str, output_format: OutputFormat) -> int:
    names = wanted_formats(export)
    receipt = folder / _RECEIPT
    if not receipt.is_file():
        raise InputError(
            f"{folder} has no {_RECEIPT}: the run was not valid, or did not end",
            hint="Its rows stand in requests.jsonl; measure again for figures.",
        )
    document = json.loads(receipt.read_bytes())
    rows = bench_rows.read((folder / _ROWS).read_bytes()).rows
    written = (write_report(document, rows, folder), *export_run(document, rows, names, folder))
    if output_format == "json":
        print_json(document)
    else:
        print("\n".join(f"wrote {file}" for file in written))
    return PROVEN


def _print(console: Console, judged: Judged) -> None:
    reading = judged.reading
    console.print(f"{reading.tool} {reading.version or '(version not said)'} {reading.label}".rstrip(), markup=False)
    console.print(
        f"{reading.completed} requests, {reading.failed} failed; records of {len(reading.rows)}, stamps: {reading.stamps}",
        markup=False,
    )
    console.print(_table(judged.comparisons))
    console.print(_records(judged.comparisons), markup=False)
    missing: dict[str, list[str]] = {}
    for comparison in judged.comparisons:
        if isinstance(comparison.ours, Undecided) and not comparison.ours.reason.startswith(_TOO_SMALL):
            missing.setdefault(comparison.ours.reason, []).append(comparison.printed.name)
    for reason, names in missing.items():
        console.print(f"-: {reason} ({', '.join(dict.fromkeys(names))})", markup=False)
    for name, why in _differences(judged):
        console.print(f"{name}: {why}", markup=False)
    for finding in judged.findings:
        console.print(f"{'AGAINST' if finding.refutes else 'note'} {finding.rule}: {finding.sentence}", markup=False)
    word = "REFUTED: " if isinstance(judged.verdict, Refuted) else "UNDECIDED: "
    console.print(word + judged.verdict.reason, markup=False)


def _table(comparisons: Sequence[Comparison]) -> Table:
    """Give each of the tool's figures a line, and a line beneath it by our definition."""
    statistics = list(dict.fromkeys(comparison.printed.statistic for comparison in comparisons))
    table = Table(box=None, pad_edge=False)
    table.add_column("printed, and by our definition")
    for name in (*statistics, "unit"):
        table.add_column(name, justify="right")
    for name in dict.fromkeys(comparison.printed.name for comparison in comparisons):
        mine = {c.printed.statistic: c for c in comparisons if c.printed.name == name}
        first = next(iter(mine.values()))
        printed = [_number(mine[key].printed.value) if key in mine else "" for key in statistics]
        table.add_row(name, *printed, first.printed.unit)
        if first.definition.ours:
            ours = [_ours(mine[key]) if key in mine else "" for key in statistics]
            table.add_row(f"  {first.definition.ours}", *ours, "", style="dim")
    return table


def _ours(comparison: Comparison) -> str:
    if not isinstance(comparison.ours, Undecided):
        return _number(comparison.ours)
    if comparison.ours.reason.startswith(_TOO_SMALL):
        return f"n < {minimum_sample(float(comparison.printed.statistic.removeprefix('p')))}"
    return "-"


def _records(comparisons: Sequence[Comparison]) -> str:
    """Say how far the tool's own records were asked."""
    checked = sum(not isinstance(comparison.records, Undecided) for comparison in comparisons)
    return f"recomputed from its own records: {checked} of {len(comparisons)} printed figures"


def _differences(judged: Judged) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for comparison in judged.comparisons:
        definition = comparison.definition
        if definition.agreement != "same":
            found[definition.printed] = f"{definition.formula}. {definition.why[:1].upper()}{definition.why[1:]}."
    return list(found.items())


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < _SMALL else f"{value:,.1f}"
