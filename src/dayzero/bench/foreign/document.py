"""Write what another tool's files say as JSON, schema ``dayzero/bench-foreign/v1``. The format: docs/reference/other-tools.md."""

from collections.abc import Sequence
from typing import Final

from dayzero.bench.foreign.model import Comparison, Judged
from dayzero.core.verdict import Undecided, verdict_word

SCHEMA: Final = "dayzero/bench-foreign/v1"


def of_judged(found: Sequence[Judged]) -> dict[str, object]:
    """Write every benchmark that was read."""
    return {"schema": SCHEMA, "benchmarks": [_benchmark(judged) for judged in found]}


def _benchmark(judged: Judged) -> dict[str, object]:
    reading, asked = judged.reading, judged.reading.asked
    return {
        "tool": reading.tool,
        "version": reading.version,
        "label": reading.label,
        "verdict": verdict_word(judged.verdict),
        "because": judged.verdict.reason,
        "asked": {
            "concurrency": asked.concurrency,
            "input_tokens": asked.input_tokens,
            "output_tokens": asked.output_tokens,
            "warmup": asked.warmup,
            "seed": asked.seed,
        },
        "completed": reading.completed,
        "failed": reading.failed,
        "records": len(reading.rows),
        "stamps": reading.stamps,
        "clock": reading.clock,
        "figures": [_figure(comparison) for comparison in judged.comparisons],
        "findings": [
            {"rule": finding.rule, "refutes": finding.refutes, "sentence": finding.sentence}
            for finding in judged.findings
        ],
    }


def _figure(comparison: Comparison) -> dict[str, object]:
    printed, definition = comparison.printed, comparison.definition
    missing = {
        name: value.reason
        for name, value in (("from_records", comparison.records), ("ours", comparison.ours))
        if isinstance(value, Undecided)
    }
    return {
        "name": printed.name,
        "statistic": printed.statistic,
        "unit": printed.unit,
        "printed": printed.value,
        "from_records": None if isinstance(comparison.records, Undecided) else comparison.records,
        "ours": None if isinstance(comparison.ours, Undecided) else comparison.ours,
        "our_metric": definition.ours,
        "agreement": definition.agreement,
        "undecided": missing,
    }
