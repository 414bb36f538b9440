"""Each tool's real files give its own figures again, and what is wrong with them is found."""

import json
import re
from pathlib import Path

import pytest

from dayzero.bench.foreign.model import Asked
from dayzero.bench.foreign.tools import TOOLS, read
from dayzero.core.errors import InputError
from dayzero.core.verdict import Refuted, Undecided

ROLE = "vllm-0.32.0-role-chunk"
FOUR = "vllm-0.32.0-four-tokens-a-chunk"
GENUINE = ("aiperf-0.13.0", "guidellm-0.8.1", ROLE, FOUR, "genai-perf-0.0.16")
ALL = (*GENUINE, "mlperf-endpoints-by-hand")


def one(files):
    (judged,) = read(files)
    return judged


def figure(judged, name, statistic):
    return next(
        found for found in judged.comparisons if (found.printed.name, found.printed.statistic) == (name, statistic)
    )


def rules(judged):
    return {finding.rule for finding in judged.findings}


@pytest.mark.parametrize("name", ALL)
def test_what_a_tool_printed_follows_from_its_own_records(sample, name):
    judged = one(sample(name))
    checked = [found for found in judged.comparisons if not isinstance(found.records, Undecided)]
    assert len(checked) >= 8
    assert all(found.records == pytest.approx(found.printed.value, rel=1e-6, abs=1e-6) for found in checked)
    assert "records-contradict" not in rules(judged)


@pytest.mark.parametrize("name", ALL)
def test_no_file_of_another_tool_is_proven(sample, name):
    assert isinstance(one(sample(name)).verdict, Undecided | Refuted)


@pytest.mark.parametrize(
    ("name", "tool", "version", "asked"),
    [
        (
            "aiperf-0.13.0",
            "aiperf",
            "0.13.0",
            Asked(concurrency=4, input_tokens=64, output_tokens=16, warmup=0, seed=1),
        ),
        (
            "guidellm-0.8.1",
            "guidellm",
            "0.8.1",
            Asked(concurrency=4, input_tokens=64, output_tokens=16, warmup=0, seed=42),
        ),
        (ROLE, "vllm bench serve", "", Asked(concurrency=4)),
        (
            "mlperf-endpoints-by-hand",
            "MLPerf Endpoints",
            "0.1.0",
            Asked(concurrency=4, output_tokens=16, warmup=0, seed=42),
        ),
    ],
)
def test_the_tool_its_version_and_its_load_are_read(sample, name, tool, version, asked):
    reading = one(sample(name)).reading
    assert (reading.tool, reading.version, reading.asked) == (tool, version, asked)


@pytest.mark.parametrize("name", ["aiperf-0.13.0", "guidellm-0.8.1", "genai-perf-0.0.16"])
def test_our_time_to_first_token_of_the_same_records_is_the_servers(sample, name):
    """The server answers after 20 ms, with the role chunk after 5."""
    printed = "time_to_first_token_ms" if name.startswith("guidellm") else "time_to_first_token"
    assert 20 < figure(one(sample(name)), printed, "mean").ours < 25


def test_a_role_chunk_that_vllm_took_for_the_first_token_is_found_and_left_out_of_ours(sample):
    judged = one(sample(ROLE))
    first, per_token = figure(judged, "ttft", "mean"), figure(judged, "tpot", "mean")
    assert 5 < first.printed.value < 10
    assert 20 < first.ours < 25
    assert per_token.printed.value > 5.9
    assert per_token.ours == pytest.approx(5.0, abs=0.05)
    assert "role-chunk" in rules(judged)
    assert isinstance(judged.verdict, Refuted)


def test_gaps_between_chunks_of_several_tokens_that_vllm_calls_itl_are_refuted(sample):
    judged = one(sample(FOUR))
    assert "256 tokens came in 64 chunks" in judged.verdict.reason
    assert isinstance(judged.verdict, Refuted)
    assert figure(judged, "tpot", "mean").ours == pytest.approx(5.0, abs=0.05)
    assert figure(judged, "tpot", "mean").printed.value == pytest.approx(4.0, abs=0.05)


def test_guidellm_time_per_output_token_is_shown_beside_the_one_without_the_first_token(sample):
    judged = one(sample("guidellm-0.8.1"))
    found = figure(judged, "time_per_output_token_ms", "mean")
    assert found.printed.value == pytest.approx(6.07, abs=0.01)
    assert found.ours == pytest.approx(5.02, abs=0.01)
    assert {"tpot-includes-ttft", "wall-clock", "own-warning", "in-flight-below-asked"} <= rules(judged)


def test_a_percentile_that_the_sample_cannot_certify_is_named_and_not_recomputed_as_ours(sample):
    judged = one(sample("aiperf-0.13.0"))
    (finding,) = (finding for finding in judged.findings if finding.rule == "percentile-not-certified")
    assert finding.sentence == ("16 requests do not certify p90, p95, p99: p90 needs 64, p95 needs 130, p99 needs 662")
    assert isinstance(figure(judged, "time_to_first_token", "p99").ours, Undecided)
    assert isinstance(figure(judged, "time_to_first_token", "p50").ours, float)


def test_prompts_of_other_lengths_than_asked_no_warm_up_and_a_fixed_seed_are_named(sample):
    judged = one(sample("aiperf-0.13.0"))
    assert {"prompt-length", "no-warm-up", "fixed-seed", "connect-in-latency"} <= rules(judged)


def test_a_printed_figure_that_its_records_contradict_refutes_the_file(sample):
    def flatter(document) -> None:
        document["time_to_first_token"]["p50"] = 12.5

    judged = one(sample("aiperf-0.13.0", profile_export_aiperf=flatter))
    assert isinstance(judged.verdict, Refuted)
    assert judged.verdict.reason == (
        "aiperf printed time_to_first_token p50 12.5 ms; from its own records it is 20.8332"
    )


def test_a_mean_that_divides_by_failed_requests_is_refuted(sample):
    def spoil(document) -> None:
        values = document["ttfts"]
        document["errors"][3] = "connection reset"
        document["completed"], document["failed"] = 15, 1
        document["mean_ttft_ms"] = sum(value for place, value in enumerate(values) if place != 3) / 16 * 1000

    judged = one(sample(ROLE, result=spoil))
    assert {"mean-over-failed", "requests-failed"} <= rules(judged)


def test_failures_that_are_left_out_of_the_mean_are_named_but_refute_nothing(sample):
    def fail(document) -> None:
        (benchmark,) = document["benchmarks"]
        request = benchmark["requests"]["successful"].pop()
        request["info"]["status"], request["info"]["error"] = "errored", "boom"
        benchmark["requests"]["errored"].append(request)
        benchmark["metrics"]["request_totals"] |= {"successful": 15, "errored": 1}

    judged = one(sample("guidellm-0.8.1", out=fail))
    assert "requests-failed" in rules(judged)
    assert "mean-over-failed" not in rules(judged)
    assert sum(not row.ok for row in judged.reading.rows) == 1


def test_guidellm_counts_a_request_in_its_mean_gap_as_often_as_it_has_gaps(sample):
    def short(document: dict) -> None:
        (benchmark,) = document["benchmarks"]
        first, *others = benchmark["requests"]["successful"]
        first |= {"output_tokens": 2, "inter_token_latency_ms": 100.0}
        gaps = 100.0 + 15 * sum(other["inter_token_latency_ms"] for other in others)
        benchmark["metrics"]["inter_token_latency_ms"]["successful"]["mean"] = gaps / (1 + 15 * len(others))

    found = figure(one(sample("guidellm-0.8.1", out=short)), "inter_token_latency_ms", "mean")
    assert found.records == pytest.approx(found.printed.value)


def test_records_that_are_a_sample_of_the_requests_are_not_compared(sample):
    def cut(document) -> None:
        document["benchmarks"][0]["requests"]["successful"] = document["benchmarks"][0]["requests"]["successful"][:4]

    judged = one(sample("guidellm-0.8.1", out=cut))
    assert "records-sampled" in rules(judged)
    assert all(isinstance(found.records, Undecided) for found in judged.comparisons)


def test_a_result_without_its_details_can_be_read_and_not_checked(sample):
    def drop(document) -> None:
        for key in (
            "ttfts",
            "itls",
            "input_lens",
            "output_lens",
            "start_times",
            "latencies",
            "errors",
            "generated_texts",
        ):
            document.pop(key)

    judged = one(sample(ROLE, result=drop))
    assert judged.reading.stamps == "none"
    assert all(
        isinstance(found.records, Undecided) and isinstance(found.ours, Undecided) for found in judged.comparisons
    )
    assert isinstance(judged.verdict, Undecided)


def test_the_report_text_of_mlperf_endpoints_says_what_its_summary_says(sample):
    files = sample("mlperf-endpoints-by-hand")
    summary = one({name: raw for name, raw in files.items() if name != "report.txt"})
    report = one({name: raw for name, raw in files.items() if name != "result_summary.json"})
    shown = {(found.printed.name, found.printed.statistic): found.printed.value for found in report.comparisons}
    exact = {(found.printed.name, found.printed.statistic): found.printed.value for found in summary.comparisons}
    # The text calls p50 its median, among the percentiles as well.
    assert shown.keys() == exact.keys()
    assert all(shown[key] == pytest.approx(exact[key], abs=0.006) for key in exact)


def test_tokens_that_mlperf_endpoints_did_not_count_are_missed(sample):
    assert "tokens-missing" in rules(one(sample("mlperf-endpoints-by-hand")))


def test_samples_issued_before_the_tracked_window_are_no_records(sample):
    assert len(one(sample("mlperf-endpoints-by-hand")).reading.rows) == 16


@pytest.mark.parametrize(
    "files",
    [{}, {"a.json": b"{}"}, {"a.json": b"[" * 100_000}, {"a.json": b"\xff"}, {"notes.txt": b"nothing"}],
)
def test_files_of_no_known_tool_are_refused(files):
    with pytest.raises(InputError, match="no known tool wrote"):
        read(files)


def test_records_that_are_cut_off_in_the_last_line_are_read_up_to_it(sample):
    files = sample("aiperf-0.13.0")
    files["profile_export.jsonl"] = files["profile_export.jsonl"][:-200]
    assert len(one(files).reading.rows) == 15


def test_records_that_are_damaged_before_the_last_line_are_refused(sample):
    files = sample("aiperf-0.13.0")
    files["profile_export.jsonl"] = files["profile_export.jsonl"].replace(b'{"metadata"', b'"metadata"', 1)
    with pytest.raises(InputError, match=r"profile_export.jsonl, line 1, is not JSON"):
        read(files)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("junk", [None, "x", -1, [], {}, float("nan")])
def test_a_field_of_another_type_is_absent_and_never_a_crash(sample, name, junk):
    files = sample(name)
    for path, raw in files.items():
        if path.endswith(".json"):
            document = json.loads(raw)
            for key in document:
                read_or_refuse({**files, path: json.dumps({**document, key: junk}).encode()})


def read_or_refuse(files):
    try:
        read(files)
    except InputError:
        return


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_definition_says_how_it_maps_to_ours(tool):
    for definition in tool.definitions:
        assert definition.formula
        assert (definition.agreement == "none") == (definition.ours == "")
        assert definition.agreement == "same" or definition.why


@pytest.mark.parametrize("name", ALL)
def test_every_printed_figure_has_a_definition(sample, name):
    judged = one(sample(name))
    tool = next(tool for tool in TOOLS if tool.name == judged.reading.tool)
    assert {printed.name for printed in judged.reading.printed} <= {known.printed for known in tool.definitions}


def test_the_samples_are_small_and_name_no_place_of_the_machine_that_made_them():
    folder = Path(__file__).parent / "samples"
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    for file in files:
        content = file.read_text(encoding="utf-8")
        assert len(content) < 60_000
        assert not re.search(r"/(tmp|work|root|home)\b", content)
