"""The JSON of a reading, and the page that describes the definitions."""

import json
from pathlib import Path

from dayzero.bench.foreign.definition_map import definition_map
from dayzero.bench.foreign.document import of_judged
from dayzero.bench.foreign.tools import TOOLS, read

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "other-tools.md"


def test_the_document_carries_each_figure_with_what_stands_beside_it(sample):
    document = json.loads(json.dumps(of_judged(read(sample("vllm-0.32.0-role-chunk"))), allow_nan=False))
    (benchmark,) = document["benchmarks"]
    assert document["schema"] == "dayzero/bench-foreign/v1"
    assert benchmark["verdict"] == "refuted"
    first = benchmark["figures"][0]
    assert (first["name"], first["statistic"], first["our_metric"], first["agreement"]) == (
        "ttft",
        "mean",
        "ttft_ms",
        "differs",
    )
    assert first["ours"] > 2 * first["printed"]
    p99 = next(found for found in benchmark["figures"] if found["statistic"] == "p99")
    assert p99["ours"] is None
    assert p99["undecided"]["ours"].startswith("n too small")


def test_the_map_of_definitions_on_the_page_is_what_the_readers_declare():
    begin, end = "<!-- definitions: begin -->\n", "<!-- definitions: end -->"
    content = PAGE.read_text(encoding="utf-8")
    assert content[content.index(begin) + len(begin) : content.index(end)].strip() == definition_map(TOOLS).strip()
