"""Figures out of a raw file: the definitions of bench, or a refusal."""

from dataclasses import replace
from typing import Any

import pytest
from tests.bench.sample_rows import row, rows

from dayzero.bench.model import Row, Usage
from dayzero.bench.rows import encode, read
from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.locator import LineLocator, Locator, PointerLocator, WholeFile
from dayzero.extractors.bench_rows import EXTRACTOR

LINE = LineLocator(line=1, sha256=Sha256("0" * 64))


def raw(*given: Row) -> bytes:
    return b"".join(map(encode, given))


TWENTY = rows(20)


def ask(raw_file: bytes, *, locator: Locator | None = None, **asked: str) -> str:
    parameters = {"cell": "c1", "metric": "ttft_ms", "statistic": "p50", "decimals": "1"} | asked
    return EXTRACTOR.extract(
        raw_file, locator or WholeFile(), tuple((name, text) for name, text in parameters.items() if text)
    )


@pytest.mark.parametrize(
    ("metric", "statistic", "decimals", "value"),
    [
        ("ttft_ms", "p50", "1", "50.0"),
        ("ttft_ms", "mean", "0", "50"),
        ("itl_ms", "p50", "2", "15.00"),
        ("itl_ms", "mean", "1", "15.0"),
        ("chunk_gap_ms", "mean", "1", "15.0"),
        ("tpot_ms", "p50", "1", "15.0"),
        ("e2e_ms", "p50", "1", "90.0"),
        ("output_tok_s", "total", "3", "33.333"),
        ("ttfo_ms", "p50", "1", "50.0"),
        ("requests", "count", "0", "20"),
        ("requests", "count", "", "20"),
        ("failed", "count", "", "0"),
    ],
)
def test_a_figure_is_what_bench_computes_printed_with_the_decimals(
    metric: str, statistic: str, decimals: str, value: str
):
    assert ask(raw(*TWENTY), metric=metric, statistic=statistic, decimals=decimals) == value


def test_only_the_measured_phase_of_the_cell_enters():
    slow = {"content_ns": (900_000_000,), "end_ns": 990_000_000}
    others = (row(phase="warmup", **slow), *(row(cell="c8", index=index, **slow) for index in range(20)))
    assert ask(raw(*others, *TWENTY)) == "50.0"
    assert ask(raw(*others, *TWENTY), metric="requests", statistic="count") == "20"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"error": "http 500"}, "1 of 20 requests failed"),
        ({"usage": None}, "the server reports no usage"),
        ({"usage": Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=0)}, "8 prompt tokens were planned"),
        ({"usage": Usage(prompt_tokens=8, completion_tokens=2, cached_tokens=0)}, "3 output tokens were asked"),
        ({"usage": Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=8)}, "prefix cache"),
    ],
)
def test_rows_that_speak_against_their_figures_give_none(changes: dict[str, Any], complaint: str):
    spoilt = raw(*TWENTY[:-1], replace(TWENTY[-1], **changes))
    with pytest.raises(EvidenceError, match=complaint):
        ask(spoilt)


V1 = b"".join(
    b'{"schema":"dayzero/bench-row/v1","cell":"c1","phase":"measured","index":%d,"input_tokens":8,"output_tokens":3,'
    b'"sent_ns":%d,"first_byte_ns":140,"content_ns":[%d,%d],"end_ns":%d,"status":200,'
    b'"usage":{"prompt_tokens":8,"completion_tokens":3,"cached_tokens":0},"error":""}\n'
    % (at, at * 50_000_000 + 1, at * 50_000_000 + 2, at * 50_000_000 + 3, at * 50_000_000 + 90_000_001)
    for at in range(20)
)


def test_the_rate_of_an_old_file_stays_what_it_was_and_a_new_one_leaves_out_the_tail():
    assert ask(V1, metric="output_tok_s", statistic="total", decimals="3") == "57.692"  # 60 tokens in 1.04 s
    again = b"".join(encode(row) for row in read(V1).rows)
    assert ask(again, metric="output_tok_s", statistic="total", decimals="3") == "60.000"  # 57 tokens in 0.95 s


def test_a_run_that_was_interrupted_within_the_cell_has_latencies_and_no_rate():
    first, second, *rest = rows(700)
    resumed = raw(first, replace(second, hole_ns=2_000_000_000), *rest)
    with pytest.raises(EvidenceError, match=r"interrupted for 2\.0 s and resumed, so it has no rate"):
        ask(resumed, cell="c1", metric="output_tok_s", statistic="total", decimals="1")
    latency = {"cell": "c1", "metric": "ttft_ms", "statistic": "p99", "decimals": "3"}
    assert ask(resumed, **latency) == ask(raw(first, second, *rest), **latency)


def test_an_interruption_before_the_cell_began_leaves_its_rate_alone():
    first, *rest = rows(700)
    rate = {"cell": "c1", "metric": "output_tok_s", "statistic": "total", "decimals": "1"}
    assert ask(raw(replace(first, hole_ns=2_000_000_000), *rest), **rate) == ask(raw(first, *rest), **rate)


def test_failures_can_still_be_counted():
    spoilt = raw(*TWENTY[:-1], replace(TWENTY[-1], error="http 500"))
    assert ask(spoilt, metric="failed", statistic="count") == "1"


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"cell": "c9"}, "no measured row of cell 'c9'"),
        ({"statistic": "p99"}, "p99 needs 662 requests, there are 20"),
        ({"statistic": "p75"}, "knows no 'p75' of 'ttft_ms'"),
        ({"statistic": "total"}, "knows no 'total' of 'ttft_ms'"),
        ({"metric": "speed"}, "knows no 'p50' of 'speed'"),
        ({"metric": "output_tok_s"}, "output_tok_s has no 'p50'"),
        ({"metric": "requests"}, "requests has no 'p50'"),
        ({"metric": ""}, "needs the parameter 'metric'"),
        ({"decimals": ""}, "needs the parameter 'decimals'"),
        ({"decimals": "7"}, "decimals must be 0 to 6"),
        ({"decimals": "-1"}, "decimals must be 0 to 6"),
        ({"extra": "1"}, "does not know what to do with extra"),
    ],
)
def test_what_is_not_there_or_not_known_is_named(asked: dict[str, str], complaint: str):
    with pytest.raises(EvidenceError, match=complaint):
        ask(raw(*TWENTY), **asked)


def test_a_parameter_given_twice_is_refused():
    twice = (("cell", "c1"), ("cell", "c2"), ("metric", "requests"), ("statistic", "count"))
    with pytest.raises(EvidenceError, match="given twice"):
        EXTRACTOR.extract(raw(*TWENTY), WholeFile(), twice)


@pytest.mark.parametrize("locator", [LINE, PointerLocator(pointer="/a")])
def test_one_line_is_not_enough(locator: Locator):
    with pytest.raises(EvidenceError, match="reads the whole file"):
        ask(raw(*TWENTY), locator=locator)


def test_a_file_that_a_crash_cut_off_gives_no_figure():
    with pytest.raises(EvidenceError, match="the run ended early"):
        ask(raw(*TWENTY)[:-1])


def test_a_line_that_is_no_row_is_named():
    with pytest.raises(EvidenceError, match="line 21 is not a"):
        ask(raw(*TWENTY) + b"{}\n")


def test_its_name_and_version_are_those_that_claims_cite():
    assert (EXTRACTOR.name, EXTRACTOR.version) == ("bench-rows", 1)
