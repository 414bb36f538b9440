"""A bar is never narrower than what a row says of its own samples; where an attempt failed, or nothing is known, it is said."""

import json
import math
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.perfdb.test_operator_records import record, write
from tests.perfdb.tree_samples import GEMM, KDA, gemm, kda, place
from tests.perfdb.worker_simulator import measured, simulator

from dayzero.collector.loop import summary
from dayzero.wiring.perfdb import open_database

CONV = "kimi-k3/vllm/kda/context/conv1d"
WHERE = ("--where", "num_v_heads=12", "--where", "batch_size=1")
ASKED = ("--table", "kda_perf", "--system", "h200_sxm", "--engine", "vllm", *WHERE)


def sampled(samples: list[float]) -> dict[str, object]:
    """Give the answer of a case with these samples, in microseconds."""
    return measured(latency_us=summary(samples), samples_us=samples, n_samples=len(samples))


@pytest.fixture
def imported_run(tmp_path, dayzero):
    """Collect one sequence of each length from a simulator, and import."""

    def make(answers, name="run") -> Path:
        python = simulator(tmp_path / f"sim-{name}", answers)
        words = (*WHERE, "--system", "h200_sxm", "-o", tmp_path / name, "--python", python)
        dayzero("perfdb", "collect", CONV, *words)
        code, out, err = dayzero("perfdb", "import", tmp_path / name, "-o", tmp_path / "db")
        assert code == 0, out + err
        return tmp_path / "db"

    return make


QUIET = [5.0, 5.01, 5.02, 5.0, 4.99, 5.0, 5.01, 5.0, 5.0, 5.03]
NOISY = [3.0, 9.0, 4.0, 8.0, 3.5, 5.0, 6.0, 2.5, 7.0, 12.0]


def test_nine_in_ten_samples_of_a_measured_point_lie_within_its_bar(imported_run, answer):
    db = imported_run({"seq_len=64": sampled(NOISY), "*": sampled(QUIET)})
    code, told = answer("perfdb", "explain", db, *ASKED, "--where", "seq_len=64")
    assert (code, told["value_us"]) == (0, 6.0)
    inside = [sample for sample in NOISY if told["low_us"] <= sample <= told["high_us"]]
    assert len(inside) >= 0.9 * len(NOISY)
    assert told["high_us"] / told["value_us"] == pytest.approx(told["value_us"] / told["low_us"])
    assert told["bar"]["noise"] == pytest.approx(6.0 / 2.5)
    _, quiet = answer("perfdb", "explain", db, *ASKED, "--where", "seq_len=32")
    assert quiet["bar"]["noise"] == pytest.approx(math.exp(0.04))  # of repeats, which are more than its samples differ


def test_repeats_that_differ_more_than_those_of_the_lane_widen_the_bar_of_their_own_point(imported, tmp_path, answer):
    rows = [gemm(m / 100 * f, m) for m in range(1, 41) for f in (1.0, 1.01, 1.02)]
    imported({place(GEMM): [*rows, *(gemm(f, 64) for f in (0.5, 1.0, 3.0))]})
    words = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm")
    _, odd = answer("perfdb", "explain", tmp_path / "db", *words, "--where", "m=64")
    assert (odd["value_us"], odd["bar"]["noise"]) == (1000.0, pytest.approx(3.0))
    assert odd["low_us"] <= 500.0
    assert odd["high_us"] * (1 + 1e-9) >= 3000.0
    _, usual = answer("perfdb", "explain", tmp_path / "db", *words, "--where", "m=20")
    assert usual["bar"]["noise"] < 1.05


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=300))
def test_what_a_row_keeps_of_its_samples_bounds_nine_in_ten_of_them(samples):
    told = summary(samples)
    ratio = max(
        told["mean"] / told["min"], told["p90"] / told["mean"]
    )  # as dayzero.perfdb.lane_index.spread_sql has it
    slack = 1 + 1e-4 / min(told["mean"], told["min"])  # the mean is kept to four digits
    inside = [s for s in samples if told["mean"] / ratio / slack <= s <= told["mean"] * ratio * slack]
    assert len(inside) >= math.floor(0.9 * len(samples))
    assert math.isclose(fmean(samples), told["mean"], abs_tol=1e-4, rel_tol=1e-9)


def test_between_rows_only_what_is_beyond_the_lanes_noise_widens_the_bar(answer, tmp_path, dayzero):
    curve = {
        f"seq_len={2**n},batch_size={b},num_v_heads={h}": sampled([s * (2**n) for s in QUIET])
        for n in range(16)
        for b in (1, 2, 4, 8)
        for h in (12, 24)
    }
    noisy = {"seq_len=256,batch_size=1,num_v_heads=12": sampled([s * 256 for s in NOISY])}
    answers = {}
    for name, more in (("quiet", {}), ("noisy", noisy)):
        python = simulator(tmp_path / f"sim-{name}", {**curve, **more})
        words = ("--where", "batch_size<=8", "--where", "num_v_heads<=24", "--system", "h200_sxm")
        assert dayzero("perfdb", "collect", CONV, *words, "-o", tmp_path / name, "--python", python)[0] == 0
        dayzero("perfdb", "import", tmp_path / name, "-o", tmp_path / name / "db")
        answers[name] = answer("perfdb", "explain", tmp_path / name / "db", *ASKED, "--where", "seq_len=300")[1]
    quiet, wide = answers["quiet"]["bar"], answers["noisy"]["bar"]
    assert (quiet["noise"], wide["interpolation"] >= quiet["interpolation"]) == (1.0, True)
    assert wide["noise"] == pytest.approx(6.0 / 2.5, rel=0.01)
    assert answers["noisy"]["high_us"] / answers["noisy"]["value_us"] >= 6.0 / 2.5 * 0.99


def test_the_page_draws_the_wider_bar(imported_run, tmp_path, dayzero):
    db = imported_run({"seq_len=64": sampled(NOISY), "*": sampled(QUIET)})
    assert dayzero("perfdb", "page", db, "-o", tmp_path / "page.json")[0] == 0
    curves = json.loads((tmp_path / "page.json").read_bytes())["curves"]
    points = [point for curve in curves for line in curve["lines"] for point in line["points"]]
    assert max(point["high_us"] / point["value_us"] for point in points) == pytest.approx(2.4, rel=0.01)


def test_a_point_that_was_tried_and_failed_is_not_filled_from_its_neighbours(imported_run, answer):
    wrong = {**measured(0.5), "state": "failed", "error": {"class": "OutOfMemory", "message": "no room"}}
    db = imported_run({"seq_len=64": wrong, "*": sampled(QUIET)})
    code, told = answer("perfdb", "explain", db, *ASKED, "--where", "seq_len=64")
    assert (code, told["verdict"]) == (3, "undecided")
    assert (
        "0.27.1 was tried at this very point: OutOfMemory (data/h200_sxm/kda/vllm/0.27.1/errors_kda_perf.json/0)"
        in told["reason"]
    )
    assert answer("perfdb", "explain", db, *ASKED, "--where", "seq_len=128")[0] == 0
    code, told = answer("perfdb", "explain", db, *ASKED, "--where", "seq_len=65")
    assert "was tried" not in told.get("reason", "")


def test_a_record_that_is_unsupported_is_not_filled_either(tmp_path, answer):
    sizes = [2**n for n in range(4, 14)]
    shape = {"n": 64, "k": 64, "dtype": "bf16"}
    results = [
        record({"m": m, **shape, "n": n}, metrics={"latency_us": m * 1.0}) for m in sizes for n in (64, 128, 256)
    ]
    results = [one for one in results if (one["op"]["args"]["m"], one["op"]["args"]["n"]) != (256, 64)]
    results.append(record({"m": 256, **shape}, status="unsupported"))
    answer("perfdb", "import", write(tmp_path / "a.json", *results), "-o", tmp_path / "db")
    asked = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm", "--where", "k=64", "--where", "n=64")
    code, told = answer("perfdb", "explain", tmp_path / "db", *asked, "--where", "m=256")
    assert (code, "was tried at this very point: unsupported" in told["reason"]) == (3, True)


def test_beyond_the_rows_it_is_said_how_far_they_go(imported, tmp_path, answer):
    imported({place(GEMM): [gemm(m / 100, m) for m in (16, 64, 256)]})
    words = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm")
    code, told = answer("perfdb", "explain", tmp_path / "db", *words, "--where", "m=512")
    assert (code, "m goes from 16 to 256, and nothing is told beyond" in told["reason"]) == (3, True)


def test_a_table_of_another_import_names_that_import_and_the_newest_of_several_says_so(imported, dayzero):
    first = imported({place(KDA): [kda(0.5)]}, name="one")
    imported({place(GEMM): [gemm(1.0)]}, name="two")
    opened = [open_database(first.folder.root), open_database(first.folder.root, first.made.id)]
    assert [one.unnamed for one in opened] == [2, 1]
    _, out, _ = dayzero("perfdb", "lint", first.folder.root)
    assert out.splitlines()[0].endswith("the newest of 2; --import names another")
    unheld = ({"kda_perf", "gemm_perf"} - {opened[0].made.families[0].table}).pop()
    words = ("--table", unheld, "--system", "h200_sxm", "--engine", "vllm")
    code, _, err = dayzero("perfdb", "explain", first.folder.root, *words)
    other = next(made.id for made in first.folder.imports() if made.id != opened[0].made.id)
    assert (code, f"Name import {other}, which has it." in err) == (2, True)
    _, out, _ = dayzero("perfdb", "explain", first.folder.root, *words, "--import", other)
    assert "newest of" not in out


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("--system", "h200", "--engine", "vllm"), "nothing with system=h200", "There is h200_sxm."),
        (("--system", "h200_sxm", "--engine", "VLLM"), "engine=VLLM beside system=h200_sxm", "There is vllm."),
        (("--system", "h200_sxm", "--engine", "sglang"), "engine=sglang", "There is vllm."),
        (
            ("--system", "h200_sxm", "--engine", "vllm", "--where", "gemm_dtype=fp8"),
            "gemm_dtype=fp8",
            "There is bfloat16",
        ),
        (
            ("--system", "h200_sxm", "--engine", "vllm", "--where", "m=²"),
            "does not name a point",
            "COLUMN=WHOLE NUMBER",
        ),
        (
            ("--system", "h200_sxm", "--engine", "vllm", "--where", "m=--5"),
            "does not name a point",
            "COLUMN=WHOLE NUMBER",
        ),
        (
            ("--system", "h200_sxm", "--engine", "vllm", "--where", "m=abc"),
            "does not name a point",
            "COLUMN=WHOLE NUMBER",
        ),
        (("--system", "h200_sxm", "--engine", "vllm", "--where", "latency_us>nan"), "latency_us is DOUBLE", "Write"),
    ],
)
def test_what_there_is_none_of_names_what_is_nearest(imported, dayzero, words, message, hint):
    database = imported({place(GEMM): [gemm(m / 100, m) for m in (16, 64, 256)]})
    code, out, err = dayzero("perfdb", "explain", database.folder.root, "--table", "gemm_perf", *words)
    assert (code, out) == (2, ""), err
    flat = " ".join(err.split())
    assert message in flat
    assert f"{hint}" in flat.partition("hint: ")[2]
    assert "Traceback" not in err
