"""Two builds are compared where both measured the same, and a verdict is never finer than the noise."""

import pytest
from tests.perfdb.tree_samples import GEMM, gemm, place

from dayzero.perfdb.diff import Change, verdict


@pytest.mark.parametrize(
    ("shapes", "quantiles", "change"),
    [
        (19, (2.0, 2.0, 2.0), Change.UNTOLD),
        (20, (0.98, 1.0, 1.02), Change.SAME),
        (20, (1.2, 1.5, 2.0), Change.SLOWER),
        (20, (0.5, 0.7, 0.9), Change.FASTER),
        (20, (0.74, 1.0, 1.63), Change.MIXED),
        (20, (0.74, 1.5, 1.63), Change.MIXED),
        (20, (0.97, 1.0, 1.63), Change.MIXED),
    ],
)
def test_a_verdict_by_its_quantiles(shapes, quantiles, change):
    assert verdict(shapes, quantiles, 1.06) is change


@pytest.mark.parametrize(
    "case",
    [(1.01, "cutlass", 0, "same within noise"), (1.5, "triton", 1, "slower"), (0.5, "cutlass", 1, "faster")],
)
def test_labels_of_one_import_are_compared_also_across_a_change_of_kernel(imported, tmp_path, answer, case):
    factor, kernel, code, change = case
    rows = [gemm(m / 1000, m) for m in range(1, 41)]
    later = [r | {"latency": r["latency"] * factor, "kernel_source": kernel, "version": "0.25.0"} for r in rows]
    imported({place(GEMM): rows, place(GEMM, version="0.25.0"): later})
    db = tmp_path / "db"
    got, told = answer("perfdb", "diff", db, db, "--label", "vllm/0.24.0", "--other", "vllm/0.25.0")
    (one,) = told["differences"]
    assert (got, one["change"], one["kernels"], one["shapes"]) == (code, change, ["cutlass", kernel], 40)
    assert one["p50"] == pytest.approx(factor)


def test_two_imports_are_compared_version_by_version(imported, tmp_path, answer, dayzero):
    rows = [gemm(m / 1000, m) for m in range(1, 41)]
    first = imported({place(GEMM): rows}, name="one").made.id
    second = imported({place(GEMM): [r | {"latency": r["latency"] * 2} for r in rows]}, name="two").made.id
    db = tmp_path / "db"
    code, told = answer("perfdb", "diff", db, db, "--import-id", first, "--other-import", second)
    assert (code, [d["change"] for d in told["differences"]]) == (1, ["slower"])
    code, told = answer("perfdb", "diff", db, db, "--import-id", first, "--other-import", first)
    assert (code, told["untouched"], told["differences"]) == (0, ["gemm_perf"], [])
    code, _, err = dayzero("perfdb", "diff", db, db, "--label", "vllm/0.24.0")
    assert (code, "both sides need a label" in err) == (2, True)
    code, _, _ = dayzero("perfdb", "diff", db, db, "--label", "vllm/9", "--other", "vllm/8")
    assert code == 3


def test_the_noise_of_both_sides_counts(imported, tmp_path, answer):
    quiet = [gemm(m / 1000, m) for m in range(1, 41) for _ in range(2)]
    factors = (0.5, 2.0)
    noisy = [gemm(m / 1000 * f * 1.3, m, version="0.25.0") for m in range(1, 41) for f in factors]
    imported({place(GEMM): quiet, place(GEMM, version="0.25.0"): noisy})
    words = ("perfdb", "diff", tmp_path / "db", tmp_path / "db")
    for first, second in (("vllm/0.24.0", "vllm/0.25.0"), ("vllm/0.25.0", "vllm/0.24.0")):
        code, told = answer(*words, "--label", first, "--other", second)
        assert (code, [one["change"] for one in told["differences"]]) == (0, ["same within noise"])


def test_a_label_that_is_none_names_those_that_are_near(imported, tmp_path, dayzero):
    imported({place(GEMM): [gemm(1.0)]})
    words = ("perfdb", "diff", tmp_path / "db", tmp_path / "db", "--label", "vllm/0.24.0", "--other", "vllm/0.25")
    code, out, _ = dayzero(*words)
    assert (code, "has no label vllm/0.25; it has vllm/0.24.0" in out) == (3, True)


def test_single_rows_of_few_shapes_tell_nothing(imported, tmp_path, answer):
    rows = [gemm(m / 1000, m) for m in range(1, 4)]
    later = [row | {"latency": row["latency"] * 9, "version": "0.25.0"} for row in rows]
    imported({place(GEMM): rows, place(GEMM, version="0.25.0"): later})
    words = ("perfdb", "diff", tmp_path / "db", tmp_path / "db", "--label", "vllm/0.24.0", "--other", "vllm/0.25.0")
    code, told = answer(*words)
    assert (code, [one["change"] for one in told["differences"]]) == (3, ["too few to tell"])
