"""The six states of a lane on a system, counted from rows; a lane without rows says how it would be measured."""

import json

from tests.perfdb.tree_samples import DEVICES, GEMM, gemm, place, write_tree

MOE = "data/{system}/moe/{engine}/{version}/moe_perf.parquet"
ERRORS = "data/l40s/moe/vllm/0.24.0/errors_moe.json"


def moe(system: str, **more: object) -> dict[str, object]:
    row: dict[str, object] = {"framework": "VLLM", "version": "0.24.0", "device": DEVICES[system], "op_name": "moe"}
    row |= {"kernel_source": "marlin", "moe_dtype": "w4a16_mxfp4", "num_tokens": 8, "hidden_size": 3584}
    row |= {"inter_size": 3072, "topk": 16, "num_experts": 896, "moe_tp_size": 8, "moe_ep_size": 1}
    return row | {"distribution": "balanced", "latency": 0.5} | more


def test_each_state_has_its_rows(tmp_path, answer, dayzero):
    swapped = moe("h200_sxm", kernel_source="marlin_situ_as_silu")
    case = {"num_experts": 896, "hidden_size": 3584, "num_tokens": 8}
    failed = [{"op": "moe", "error_type": "RuntimeError", "case": case}]
    failed += [{"op": "moe", "error_type": "RuntimeError", "case": case | {"num_experts": 8}}]
    tree = write_tree(
        tmp_path / "tree",
        {place(MOE, "b300_sxm"): [moe("b300_sxm")], place(MOE): [swapped], place(GEMM): [gemm(1.0)]},
        {ERRORS: json.dumps(failed)},
    )
    answer("perfdb", "import", tree, "-o", tmp_path / "db")
    code, told = answer("perfdb", "coverage", tmp_path / "db", "kimi-k3/vllm/moe/w4a16")
    assert code == 1
    (lane,) = told["lanes"]
    states = {cell["system"]: cell["state"] for cell in lane["systems"]}
    assert lane["systems_with_rows"] == 2
    assert {system for system, state in states.items() if state == "not attempted"} == set(states) - {
        "b300_sxm",
        "h200_sxm",
        "l40s",
    }
    assert (states["b300_sxm"], states["h200_sxm"], states["l40s"]) == ("measured", "substituted", "failed")
    assert next(cell["failed"] for cell in lane["systems"] if cell["system"] == "l40s") == 1
    code, told = answer("perfdb", "coverage", tmp_path / "db", "kimi-k3/vllm/moe/w4a8")
    (lane,) = told["lanes"]
    assert (code, lane["rows"], lane["systems_with_rows"]) == (1, 0, 0)
    assert {cell["state"] for cell in lane["systems"] if cell["system"] in {"h100_sxm", "h200_sxm"}} == {"unsupported"}
    assert {cell["state"] for cell in lane["systems"] if cell["system"] == "gb300"} == {"not attempted"}
    assert "--moe-backend deep_gemm_mega_moe" in lane["recipe"]
    assert "dev- and the first 12" in lane["label"]
    assert "@sha256:" in lane["image"]
    for word in ("expert parallel", "SiTU", "latent MoE", "grouped top-k"):
        assert any(word in check for check in lane["checks"])
    _, out, _ = dayzero("perfdb", "coverage", tmp_path / "db", "kimi-k3/vllm/moe/w4a8")
    assert "to check       the router is grouped top-k" in out


def test_a_lane_of_ones_own_is_counted_on_every_known_system(tmp_path, answer, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0), gemm(2.0, 256)]})
    answer("perfdb", "import", tree, "-o", tmp_path / "db")
    words = ("perfdb", "coverage", tmp_path / "db", "--table", "gemm_perf")
    code, told = answer(*words, "--engine", "vllm", "--where", "m>=256")
    assert (code, told["lanes"][0]["rows"]) == (1, 1)
    code, _, err = dayzero(*words)
    assert (code, "needs a table and an engine" in err) == (2, True)
    code, _, err = dayzero("perfdb", "coverage", tmp_path / "db", "nonsense")
    assert (code, "no lane is declared" in err) == (2, True)
    code, _, err = dayzero("perfdb", "coverage", tmp_path / "nowhere")
    assert (code, "holds no import" in err) == (2, True)


def test_an_import_without_a_declared_lanes_table_says_that_nobody_measured_it(tmp_path, answer, dayzero):
    answer("perfdb", "import", write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]}), "-o", tmp_path / "db")
    code, told = answer("perfdb", "coverage", tmp_path / "db", "kimi-k3/vllm/moe/w4a16")
    (lane,) = told["lanes"]
    assert (code, lane["rows"], {cell["state"] for cell in lane["systems"]}) == (1, 0, {"not attempted"})
    code, out, err = dayzero("perfdb", "coverage", tmp_path / "db", "--table", "moe_perf", "--engine", "vllm")
    assert (code, out, "there is no table 'moe_perf'" in err) == (2, "", True)
