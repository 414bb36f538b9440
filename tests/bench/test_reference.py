"""The reference page names what the code knows."""

from pathlib import Path

from dayzero.bench.document import SCHEMA as REPORT_SCHEMA
from dayzero.bench.metrics import DEFINITIONS, METRICS, RATES, STATISTICS, Definition, minimum_sample
from dayzero.bench.model import Row, Usage
from dayzero.bench.reads import SCHEMA as READS_SCHEMA
from dayzero.bench.reads import Kind
from dayzero.bench.receipt import SCHEMA as RECEIPT_SCHEMA
from dayzero.bench.rows import SCHEMA as ROW_SCHEMA
from dayzero.bench.rows import SCHEMA_V1
from dayzero.bench.validity import RULES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "bench.md").read_text(encoding="utf-8")


def line_of(name: str) -> list[str]:
    """The cells of the table row that begins with a name."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    return [cell.strip() for cell in line.replace(" <!-- not-a-claim: a rule -->", "").strip("|").split("|")]


def test_every_definition_stands_there_word_for_word():
    entries: tuple[Definition, ...] = (*METRICS, *RATES)
    for entry in entries:
        stamps = ", ".join(f"`{stamp}`" for stamp in entry.stamps)
        assert line_of(entry.name) == [f"`{entry.name}`", entry.unit, entry.formula, stamps]


def test_every_rule_stands_there_word_for_word():
    for rule in RULES:
        assert line_of(rule.id) == [f"`{rule.id}`", rule.sentence, rule.bound]


def test_every_field_of_a_row_and_all_schemas_stand_there():
    schemas = (ROW_SCHEMA, SCHEMA_V1, REPORT_SCHEMA, RECEIPT_SCHEMA, READS_SCHEMA, DEFINITIONS)
    for name in (*Row.__dataclass_fields__, *Usage.__dataclass_fields__, *schemas):
        assert f"`{name}`" in PAGE


def test_every_kind_of_record_stands_there():
    for kind in Kind:
        assert f"| {kind.value} `{kind.name}` |" in PAGE


def test_the_smallest_samples_stand_there():
    for statistic in STATISTICS[:-1]:
        assert f"**{minimum_sample(float(statistic[1:])):,}** for {statistic}" in " ".join(PAGE.split())
