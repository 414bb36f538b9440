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
