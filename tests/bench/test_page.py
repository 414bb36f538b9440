"""What the report of a run shows: the verdict, no figure that is not decided, and plots that say what they draw."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench import measured_run

from dayzero.bench import plot
from dayzero.bench.metrics import STATISTICS, TTFT, percentile, sample
from dayzero.bench.page import FileView, page
from dayzero.bench.page_plots import plots

ROWS = measured_run.rows()
FILES = (FileView(name="requests.jsonl", sha256="ab" * 32, size=1234),)


def view(rows=ROWS, **changes: Any):
    return page(measured_run.document(rows, **changes), rows, FILES)


def drawn(title, rows=ROWS):
    return next(found for found in plots("c4", rows, streams=4) if found.title == title)


def test_a_run_that_is_not_valid_gives_its_reasons_first():
    shown = view(reasons=("c4: 3 of 64 requests failed",))
    assert (shown.valid, shown.reasons) == (False, ("c4: 3 of 64 requests failed",))


def test_a_figure_that_is_undecided_is_a_dash_with_its_reason():
    first = view().cells[0].figures[0]
    assert first.name == "ttft_ms"
    assert len(first.figures) == len(STATISTICS)
    known = dict(zip(STATISTICS, first.figures, strict=True))
    assert all(re.fullmatch(r"5\d\.\d\d", known[name]) for name in ("p50", "p90", "mean"))
    assert (known["p95"], known["p99"], known["p99.9"]) == ("-", "-", "-")
    assert any(reason.startswith("n too small: p99") for reason in first.reasons)


def test_only_metrics_that_are_shown_are_defined():
    names = [name for name, _, _ in view().definitions]
    assert "ttft_ms" in names
    assert "output_tok_s" in names
    assert "goodput_per_s" not in names


def test_the_cost_of_measuring_is_told_field_by_field():
    assert ("lag_ms p99", "0.31") in view().client
    assert ("lag_ms max", "unknown") in view().client


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (None, ", 4 in flight, "),
        ({"kind": "ClosedLoop"}, ", 4 in flight, "),
        ({"kind": "Poisson", "rate_per_s": 2.5}, ", 2.5 a second as a Poisson process, at most 4 in flight, "),
        ({"kind": "Ramp", "start_per_s": 0, "end_per_s": 8}, ", 0 to 8 a second, at most 4 in flight, "),
        ({"kind": "Replay", "requests": 9, "speed": 1.0}, ", at the times of a trace, at most 4 in flight, "),
    ],
)
def test_the_cap_of_an_open_loop_is_not_called_its_load(load, words):
    document: Any = measured_run.document(ROWS)
    if load is not None:
        document["cells"][0]["load"] = load
    assert words in page(document, ROWS, FILES).cells[0].load


def test_what_the_server_said_and_what_the_engine_decided_are_told():
    document = measured_run.document(ROWS) | {
        "server": {"c4": {"counted": {"prompt_tokens": 2048.0}, "restarted": False}},
        "dispatched": [
            {"what": "block_size", "asked": "16", "resolved": "64", "differs": True, "source_line": "engine.log:4"},
            {"what": "backend", "asked": "", "resolved": "FLASH", "differs": False, "source_line": "engine.log:2"},
        ],
        "start_phases": [{"name": "weights", "seconds": 31.5}],
    }
    shown = page(document, ROWS, FILES)
    assert shown.server == (("c4", (("counted prompt_tokens", "2,048"), ("restarted", "no"))),)
    assert shown.start == (
        ("block_size", "64, asked 16 (engine.log:4)"),
        ("backend", "FLASH (engine.log:2)"),
        ("start: weights", "31.5 s"),
    )
    assert (view().server, view().start) == ((), ())


def test_the_distribution_marks_the_percentiles_that_the_sample_certifies_and_no_other():
    marks = drawn("Time to first token").marks
    labels = [mark.label for mark in marks if mark.kind == "rule"]
    values = sample(TTFT, [row for row in ROWS if row.phase == "measured"]).values
    assert labels == [f"p50 {percentile(values, 50):.2f}", f"p90 {percentile(values, 90):.2f}"]


def test_a_mark_stands_where_its_value_is_on_the_axis():
    shown = drawn("Time to first token")
    p50 = next(mark for mark in shown.marks if mark.label.startswith("p50"))
    ticks = {float(tick.label): tick.at for tick in shown.x_ticks}
    low, high = min(ticks), max(ticks)
    expected = ticks[low] + (float(p50.label.split()[1]) - low) / (high - low) * (ticks[high] - ticks[low])
    assert p50.x == pytest.approx(expected, abs=0.5)


def test_labels_that_would_touch_stand_on_lines_of_their_own():
    late = ROWS[-1]  # one far behind the others draws their percentiles together
    late = replace(
        late, content_ns=tuple(at + 3_000_000_000 for at in late.content_ns), end_ns=late.end_ns + 3_000_000_000
    )
    for rows, lines in ((ROWS, [0, 0]), ((*ROWS[:-1], late), [0, 1])):
        marks = [mark for mark in drawn("Time to first token", rows).marks if mark.kind == "rule"]
        assert (abs(marks[0].x - marks[1].x) > 100) == (lines == [0, 0])
        assert [mark.row for mark in marks] == lines


def test_a_cell_without_kernel_stamps_has_no_plot_of_lag():
    without = [replace(row, lag_ns=-1) for row in ROWS]
    assert "Client lag" not in {found.title for found in plots("c4", without, streams=4)}


def test_requests_that_all_failed_give_a_page_without_latency_plots():
    rows = tuple(measured_run.failed(row) for row in ROWS)
    titles = [found.title for found in view(rows, reasons=("all failed",)).cells[0].plots]
    assert titles == ["Requests in flight", "Client lag"]


def test_the_requests_in_flight_are_those_that_were_open():
    """Four streams, each with a request nearly always open: the mean of every slice while the load is full is close to four."""
    shown = drawn("Requests in flight")
    top = next(tick.at for tick in shown.y_ticks if tick.label == "4")
    heights = [float(found) for found in re.findall(r"V([0-9.]+)", shown.marks[-1].path)]
    full = heights[len(heights) // 4 : len(heights) // 2]
    assert all(abs(height - top) < 12 for height in full)


def test_every_path_stays_inside_the_picture():
    for found in plots("c4", ROWS, streams=4):
        for mark in found.marks:
            for x in re.findall(r"[MHL]([0-9.-]+)", mark.path):
                assert plot.LEFT <= float(x) <= plot.WIDTH - plot.RIGHT
            for y in re.findall(r"V([0-9.-]+)", mark.path):
                assert plot.TOP <= float(y) <= plot.HEIGHT - plot.BOTTOM


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_inside_their_axis_in_order_and_not_too_many(low, span):
    ticks = plot.x_scale(low, low + span).ticks()
    places = [tick.at for tick in ticks]
    assert places == sorted(places)
    assert len(ticks) <= 7
    assert all(plot.LEFT <= at <= plot.WIDTH - plot.RIGHT for at in places)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=2000))
def test_a_thinned_distribution_keeps_its_ends_and_rises(values):
    points = plot.thinned(sorted(values))
    assert len(points) <= 400
    assert (points[0][0], points[-1]) == (min(values), (max(values), 1.0))
    assert list(points) == sorted(points)


@given(st.lists(st.floats(-10, 110), max_size=200), st.integers(1, 60))
def test_a_histogram_counts_every_value_once(values, bins):
    _, counts = plot.binned(sorted(values), 0, 100, bins)
    assert sum(counts) == len(values)
