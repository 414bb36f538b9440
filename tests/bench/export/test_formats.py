"""Each format is what its readers take, and says nothing that the run does not."""

import csv
import io
import json
from typing import Any

import pytest
from tests.bench import measured_run

from dayzero.bench.export.formats import FORMATS
from dayzero.bench.export.llmd_report import llmd_report
from dayzero.bench.export.model import MeasuredRun
from dayzero.bench.export.openmetrics import openmetrics
from dayzero.bench.export.vllm_result import vllm_result
from dayzero.bench.foreign.tools import read

ROWS = measured_run.rows()


def run(rows=ROWS, **changes: Any) -> MeasuredRun:
    return MeasuredRun(document=measured_run.document(rows, **changes), rows=rows, version="0.1.0")


def files(name, of=None):
    (known,) = (known for known in FORMATS if known.name == name)
    return dict(known.files(of or run()))


def table(raw):
    return list(csv.DictReader(io.StringIO(raw.decode())))


def test_a_request_has_its_stamps_as_they_were_taken_and_its_latencies():
    lines = table(files("csv")["requests.csv"])
    assert len(lines) == len(ROWS)
    first, row = lines[0], ROWS[0]
    assert (first["phase"], int(first["sent_ns"]), int(first["chunks"])) == ("warmup", row.sent_ns, 16)
    assert float(first["ttft_ms"]) == pytest.approx((row.content_ns[0] - row.sent_ns) / 1e6)


def test_a_failed_request_has_no_latency_and_its_error_with_every_comma_of_it():
    rows = (measured_run.failed(ROWS[0], 'reset, "by peer"'), *ROWS[1:])
    first = table(files("csv", run(rows))["requests.csv"])[0]
    assert (first["ttft_ms"], first["e2e_ms"], first["error"]) == ("", "", 'reset, "by peer"')


def test_a_figure_that_is_undecided_is_empty_with_its_reason():
    lines = table(files("csv")["figures.csv"])
    p99 = next(line for line in lines if (line["metric"], line["statistic"]) == ("ttft_ms", "p99"))
    assert p99["value"] == ""
    assert p99["undecided"].startswith("n too small")
    mean = next(line for line in lines if (line["metric"], line["statistic"]) == ("ttft_ms", "mean"))
    assert 50 < float(mean["value"]) < 52


def test_what_is_written_for_vllm_is_read_back_as_a_vllm_result_with_the_same_figures():
    (judged,) = read(files("vllm"))
    assert judged.reading.tool == "vllm bench serve"
    assert judged.reading.completed == 64
    shown = {(found.printed.name, found.printed.statistic): found for found in judged.comparisons}
    for name in ("ttft", "tpot"):
        found = shown[name, "mean"]
        assert found.records == pytest.approx(found.printed.value, rel=1e-6)
    assert not any(finding.refutes for finding in judged.findings)


def test_gaps_between_chunks_of_several_tokens_are_never_exported_as_itl():
    document = measured_run.document(ROWS)
    document["cells"][0]["metrics"]["itl_ms"] = {"unit": "ms", "p50": None, "mean": None, "n": 0}
    result = vllm_result(MeasuredRun(document=document, rows=ROWS, version="0.1.0"), document["cells"][0])
    assert result["mean_itl_ms"] is None
    report = llmd_report(MeasuredRun(document=document, rows=ROWS, version="0.1.0"), document["cells"][0])
    assert "inter_token_latency" not in report["results"]["request_performance"]["aggregate"]["latency"]


def test_the_llm_d_report_keeps_to_the_fields_and_units_of_its_schema():
    ((name, raw),) = files("llm-d").items()
    report = json.loads(raw)
    assert name == "benchmark_report-c4.json"
    assert set(report) == {"version", "run", "scenario", "results"}
    assert (report["version"], set(report["run"])) == ("0.2.1", {"uid", "time"})
    aggregate = report["results"]["request_performance"]["aggregate"]
    assert set(aggregate) == {"requests", "latency", "throughput"}
    units = {name: found["units"] for name, found in aggregate["latency"].items()}
    assert units == {
        "time_to_first_token": "ms",
        "time_per_output_token": "ms/token",
        "inter_token_latency": "ms/token",
        "request_latency": "ms",
    }
    assert aggregate["requests"] == {
        "total": 64,
        "failures": 0,
        "input_length": {"units": "count", "mean": 32},
        "output_length": {"units": "count", "mean": 16},
    }
    assert "p99" not in aggregate["latency"]["time_to_first_token"]
    assert set(report["scenario"]["load"]["standardized"]) >= {"tool", "tool_version", "source", "input_seq_len"}


def test_the_same_run_exports_to_the_same_bytes():
    for known in FORMATS:
        assert known.files(run()) == known.files(run())


def test_openmetrics_declares_each_family_once_counts_in_seconds_and_ends():
    lines = openmetrics(run()).splitlines()
    assert lines[-1] == "# EOF"
    declared = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(declared) == len(set(declared))
    (mean,) = (line for line in lines if 'ttft_seconds{cell="c4",statistic="mean"}' in line)
    assert 0.05 < float(mean.split()[-1]) < 0.052
    assert 'dayzero_bench_valid{model="tiny <model>"} 1' in lines


def test_openmetrics_of_a_run_that_is_not_valid_carries_no_latency():
    text = openmetrics(run(reasons=("c4: 1 of 64 requests failed",)))
    assert "dayzero_bench_valid" in text
    assert "} 0\n" in text
    assert "seconds" not in text


def test_a_label_cannot_break_out_of_its_quotes():
    document = {**measured_run.document(ROWS), "model": 'a"} 1\nb\\'}
    text = openmetrics(MeasuredRun(document=document, rows=ROWS, version="0.1.0"))
    assert 'model="a\\"} 1\\nb\\\\"' in text


def test_formats_without_a_place_for_reasons_are_marked():
    assert {known.name for known in FORMATS if known.figures} == {"vllm", "llm-d"}
