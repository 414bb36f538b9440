"""The reference page names what the code knows."""

from pathlib import Path

from dayzero.bench.document import SCHEMA as REPORT_SCHEMA
from dayzero.bench.metrics import METRICS, STATISTICS, minimum_sample
from dayzero.bench.model import Row, Usage
from dayzero.bench.rows import SCHEMA as ROW_SCHEMA

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "bench.md").read_text(encoding="utf-8")


def test_every_metric_stands_there_with_its_stamps():
    for metric in METRICS:
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{metric.name}` |"))
        assert all(f"`{stamp}`" in line for stamp in metric.stamps), line


def test_every_field_of_a_row_and_both_schemas_stand_there():
    for name in (*Row.__dataclass_fields__, *Usage.__dataclass_fields__, ROW_SCHEMA, REPORT_SCHEMA):
        assert f"`{name}`" in PAGE


def test_the_smallest_samples_stand_there():
    for statistic in STATISTICS[:-1]:
        assert f"**{minimum_sample(float(statistic[1:]))}** " in PAGE
