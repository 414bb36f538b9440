"""Each rule of lint against small tables of rows: what it has to match, and what it has to leave alone."""

import pytest
from tests.perfdb.tree_samples import GEMM, KDA, NCCL, gemm, kda, nccl, place

from dayzero.core.errors import InputError
from dayzero.perfdb.lint import RULES, chosen, lint
from dayzero.perfdb.model import Match

FLOOR = [kda(0.9 + n / 1000, 2**n) for n in range(20)]
CLEAN = [kda(0.005 * 2**n, 2**n, framework="SGLang", version="0.5.16") for n in range(20)]
SGLANG = place(KDA, engine="sglang", version="0.5.16")


def batches(*factors: float) -> list[dict[str, object]]:
    """Give a row of one sequence for each factor, and one of two that takes so many times as long."""
    ones = [kda(0.01 + n / 1000, 2**n) for n in range(len(factors))]
    twos = [one | {"batch_size": 2, "latency": one["latency"] * f} for one, f in zip(ones, factors, strict=True)]
    return [*ones, *twos]


CASES = [
    ("version-differs", {place(GEMM): [gemm(1.0), gemm(1.0, 256, version="0.25.0")]}, 1),
    ("version-differs", {place(GEMM, version="0.1.dev7"): [gemm(1.0, version="0.1.dev7+gabc")]}, 0),
    ("version-differs", {place(GEMM): [gemm(1.0, version="0.24.0+cu130")]}, 1),
    ("version-differs", {place(GEMM): [gemm(1.0), gemm(1.0, 256, version=None)]}, 1),
    ("duplicate-key", {place(GEMM): [gemm(1.0), gemm(1.1), gemm(1.2), gemm(2.0, 256)]}, 2),
    ("duplicate-key", {place(GEMM): [gemm(1.0), gemm(1.0, kernel_source="triton"), gemm(1.0, gemm_dtype="fp8")]}, 0),
    ("duplicate-key", {place(GEMM): [gemm(1.0)], place(GEMM, version="0.25.0"): [gemm(1.0, version="0.25.0")]}, 0),
    ("wrong-device", {place(GEMM): [gemm(1.0), gemm(1.0, 256, device="NVIDIA H100"), gemm(1.0, 512, device=None)]}, 2),
    ("wrong-device", {place(GEMM, system="unheard_of"): [gemm(1.0, device="whatever")]}, 0),
    ("label-case", {place(GEMM): [gemm(1.0), gemm(1.0, 512), gemm(1.0, 256, framework="vLLM")]}, 1),
    ("backend-floor", {place(KDA): FLOOR, SGLANG: CLEAN}, 20),
    ("backend-floor", {place(KDA): FLOOR[:19], SGLANG: CLEAN}, 0),
    ("backend-floor", {place(KDA): FLOOR, SGLANG: [row | {"kernel_source": "another"} for row in CLEAN]}, 0),
    ("backend-floor", {place(KDA): [row | {"latency": row["latency"] / 20} for row in FLOOR], SGLANG: CLEAN}, 0),
    ("batch-step", {place(KDA): batches(*[2.6] * 20)}, 20),
    ("batch-step", {place(KDA): batches(*[2.6] * 18, 1.9, 1.9)}, 18),
    ("batch-step", {place(KDA): batches(*[2.6] * 17, 1.9, 1.9, 1.9)}, 0),
    ("batch-step", {place(KDA): batches(*[2.6] * 19)}, 0),
    ("batch-step", {place(KDA): batches(*[1.99] * 20)}, 0),
    (
        "batch-step",
        {place(KDA): [row | {"phase": "verify"} for row in batches(*[1.5] * 40)] + batches(*[3.0] * 20)},
        20,
    ),
    ("flat-in-size", {place(GEMM): [gemm(1.0 + m / 1e6, 4**m) for m in range(7)]}, 7),
    ("flat-in-size", {place(GEMM): [gemm(1.0 * 1.1**m, 4**m) for m in range(7)]}, 0),
    ("not-monotone", {place(GEMM): [gemm(1.0, 128), gemm(0.4, 256), gemm(0.5, 512)]}, 1),
    ("not-monotone", {place(GEMM): [gemm(1.0, 128), gemm(0.6, 256)]}, 0),
    ("not-monotone", {place(GEMM): [gemm(1.0, 128), gemm(0.1, 256, n=64)]}, 0),
    ("below-bound", {place(GEMM): [gemm(1e-4, 128), gemm(1.0, 256)]}, 1),
    ("below-bound", {place(GEMM): [gemm(1e-4, 128, gemm_dtype="int4_wo")]}, 0),
    ("faster-than-link", {place(NCCL): [nccl(0.59), nccl(0.60, op_name="alltoall")]}, 1),
    ("faster-than-link", {place(NCCL): [nccl(0.30, nccl_dtype="int8"), nccl(0.29, 2**27, nccl_dtype="bfloat16")]}, 1),
    ("faster-than-link", {place(NCCL): [nccl(1.04, num_gpus=8), nccl(1.05, num_gpus=8, op_name="all_gather")]}, 1),
    ("faster-than-link", {place(NCCL, system="unheard_of"): [nccl(0.001)]}, 0),
    ("substituted", {place(GEMM): [gemm(1.0), gemm(1.0, 512), gemm(1.0, 256, kernel_source="marlin_situ_as_silu")]}, 1),
    ("zero-latency", {place(GEMM): [gemm(0.0), gemm(1.0, 256)]}, 1),
]


@pytest.mark.parametrize(("rule", "tables", "matched"), CASES)
def test_a_rule_matches_what_it_is_there_for_and_nothing_else(imported, rule, tables, matched):
    database = imported(tables)
    found = lint(database.made, database.rows, (rule,))
    assert sum(finding.match.rows for finding in found) == matched
    assert all(finding.rule.startswith(f"{rule}@") for finding in found)


def test_every_rule_has_a_case_that_it_catches():
    assert {rule for rule, _, matched in CASES if matched} == {rule.name.split("@")[0] for rule in RULES}


def test_a_finding_names_its_rows_so_that_they_can_be_taken_back(imported):
    database = imported({place(KDA): FLOOR, SGLANG: CLEAN})
    (finding,) = lint(database.made, database.rows, ("backend-floor",))
    assert finding.where == (
        "system=h200_sxm",
        "engine=vllm",
        "dir_version=0.24.0",
        "kernel_label=causal_conv1d_fn_qkv3",
    )
    assert finding.example == f"{place(KDA)}, row 0"
    assert finding.value.startswith("180 times")


def test_the_hash_of_a_finding_does_not_depend_on_order_and_does_on_every_value(imported):
    rows = [gemm(1.0, m, framework="vLLM") for m in (128, 256, 512)]

    def found(tables, name) -> Match:
        database = imported(tables, name=name)
        return lint(database.made, database.rows, ("label-case",))[0].match

    one = found({place(GEMM): rows}, "one")
    assert found({place(GEMM): rows[::-1]}, "other") == one
    changed = found({place(GEMM): [*rows[:2], rows[2] | {"latency": 1.0000001}]}, "changed")
    assert (changed.rows, changed.hash == one.hash) == (one.rows, False)
    twice = found({place(GEMM): [*rows, *rows[:1], *rows[:1]]}, "twice")
    assert twice.hash not in {one.hash, changed.hash}


def test_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="no rule 'nonsense'"):
        chosen(("nonsense",))
