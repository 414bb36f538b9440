"""Read the table that aiperf and its forerunner genai-perf print: one object a figure, with its unit, average and percentiles."""

from collections.abc import Mapping, Sequence
from typing import Final

from dayzero.bench.foreign.fields import Object, at, number, text
from dayzero.bench.foreign.model import Definition, Printed

_PERCENTILES: Final = ("p50", "p90", "p95", "p99")


def printed_figures(
    summary: Object, definitions: Sequence[Definition], units: Mapping[str, str]
) -> tuple[Printed, ...]:
    """Give each figure of the table that is there; one without a median is a total.

    Args:
        summary: The tool's summary.
        definitions: The figures that it may hold.
        units: The tool's spelling of a unit and ours; others stay as they are.
    """
    found: list[Printed] = []
    for definition in definitions:
        figure = at(summary, definition.printed)
        single = number(figure, "p50") is None
        unit = text(figure, "unit")
        wanted = (("total" if single else "mean", "avg"), *((name, name) for name in _PERCENTILES))
        found += [
            Printed(name=definition.printed, statistic=statistic, value=value, unit=units.get(unit, unit))
            for statistic, key in wanted
            if (value := number(figure, key)) is not None
        ]
    return tuple(found)
