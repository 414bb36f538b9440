"""Rows hold on another build only as far as their kernel is shown to be the same, from the files of both builds."""

from pathlib import Path

import pytest
from tests.perfdb.tree_samples import KDA, gemm, kda, place, write_tree
from tests.simulators.wheels import make_wheel

CONV = "vllm/model_executor/layers/mamba/ops/causal_conv1d.py"
LAYER = "vllm/models/kimi_k3/nvidia/kda.py"
FLASH = "vllm/_flashkda_C.abi3.so"
ARTIFACTS, LAUNCH = "flashinfer/artifacts.py", "flashinfer/data/csrc/trtllm_fused_moe.cu"
NVFP4 = "vllm/model_executor/layers/fused_moe/experts/trtllm_nvfp4_moe.py"
ORACLE = "vllm/model_executor/layers/fused_moe/oracle/nvfp4.py"
KERNEL = '''
import torch
from vllm.triton_utils import tl, triton
from vllm.v1.attention.backends.utils import PAD_SLOT_ID

@triton.jit()
def _kernel(x, BLOCK: tl.constexpr):
    tl.store(x, BLOCK)

def causal_conv1d_fn(x):
    """Convolve."""
    if current_platform.is_rocm():
        return other(x)
    return _kernel[(1,)](x, BLOCK=PAD_SLOT_ID)

def unrelated():
    return 1
'''
PADS = "PAD_SLOT_ID = -1\nOTHER = 5\n"
DISPATCH = """
def is_supported():
    return True

def resolve_kda_prefill_backend():
    return "flashkda" if is_supported() else ""
"""
PREFILL = DISPATCH + "\ndef _flashkda_prefill(x):\n    return torch.ops._flashkda_C.fwd(x)\n"
PINS = "class CheckSumHash:\n    TRTLLM_GEN_FMHA: str = 'aa'\n    TRTLLM_GEN_BMM: str = '{}'\n"


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """Make two wheels of vLLM and give what names them."""
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))
    whole = {CONV: KERNEL, LAYER: PREFILL, "vllm/v1/attention/backends/utils.py": PADS, FLASH: b"one"}

    def make(changed, requires=("torch==2.13.0",), versions=("0.27.0", "0.27.1")) -> tuple[object, ...]:
        new = {path: text for path, text in (whole | changed).items() if text is not None}
        first = make_wheel(tmp_path / "old", "vllm", versions[0], whole, requires=["torch==2.13.0"])
        second = make_wheel(tmp_path / "new", "vllm", versions[1], new, requires=list(requires))
        return "--from", first, "--to", second

    return make


@pytest.fixture
def database(tmp_path, answer):
    """Import a tree of rows that vLLM 0.27.0 was measured for."""

    def make(*rows: dict[str, object], version="0.27.0") -> Path:
        rows = rows or (row(),)
        tree = write_tree(tmp_path / "tree", {place(KDA, version=version): list(rows)})
        answer("perfdb", "import", tree, "-o", tmp_path / "db")
        return tmp_path / "db"

    return make


def row(**more: object) -> dict[str, object]:
    return kda(0.5, **({"version": "0.27.0"} | more))


def one(told, label="causal_conv1d_fn_qkv3"):
    return next(lane for lane in told["kernels"] if lane["kernel_label"] == label)


def changed(old: str, new: str) -> str:
    assert old in KERNEL
    return KERNEL.replace(old, new)


@pytest.mark.parametrize(
    ("change", "holding"),
    [
        ({}, "kernel-equal"),
        ({CONV: changed('"""Convolve."""', '"""Say it in other words."""')}, "kernel-equal"),
        ({CONV: changed("return 1", "return 2")}, "kernel-equal"),
        ({CONV: changed("return other(x)", "return another(x)")}, "kernel-equal"),
        ({CONV: "# moved down\n\n" + KERNEL}, "kernel-equal"),
        ({"vllm/v1/attention/backends/utils.py": PADS.replace("OTHER = 5", "OTHER = 6")}, "kernel-equal"),
        ({CONV: changed("tl.store(x, BLOCK)", "tl.store(x, BLOCK + 1)")}, "must re-collect"),
        ({CONV: changed("@triton.jit()", "@triton.jit(do_not_specialize=['x'])")}, "must re-collect"),
        ({CONV: changed("BLOCK=PAD_SLOT_ID", "BLOCK=1")}, "must re-collect"),
        ({"vllm/v1/attention/backends/utils.py": PADS.replace("-1", "-2")}, "must re-collect"),
        ({CONV: KERNEL.replace("causal_conv1d_fn", "renamed")}, "undecided"),
        ({CONV: "def causal_conv1d_fn(:\n"}, "undecided"),
    ],
)
def test_the_code_that_a_kernel_reaches_decides(builds, database, answer, change, holding):
    code, told = answer("perfdb", "rebase", database(), *builds(change))
    lane = one(told)
    assert lane["holding"] == holding, lane["reason"]
    assert code == {"kernel-equal": 0, "must re-collect": 1, "undecided": 3}[holding]
    assert told["rows"][holding] == 1
    assert [cell["holding"] for cell in lane["systems"]] == [holding]


def test_a_difference_is_shown_in_both_files_by_line(builds, database, dayzero):
    words = builds({CONV: changed("tl.store(x, BLOCK)", "tl.store(x, 7)")})
    code, out, _ = dayzero("perfdb", "rebase", database(), *words)
    assert code == 1
    assert "code of causal_conv1d_fn: _kernel differs" in out
    assert f"vllm 0.27.0: {CONV}:7" in out
    assert f"vllm 0.27.1: {CONV}:7" in out
    code, out, _ = dayzero("perfdb", "rebase", database(), *words, "--all")
    assert "not followed: vllm.triton_utils.tl, vllm.triton_utils.triton" in out


def test_the_same_source_under_another_compiler_is_undecided(builds, database, answer):
    for requires in (["torch==2.14.0"], ["torch>=2.13"], []):
        code, told = answer("perfdb", "rebase", database(), *builds({}, requires))
        assert (code, one(told)["holding"]) == (3, "undecided")
        assert "torch" in one(told)["reason"]


@pytest.mark.parametrize(
    ("change", "holding"),
    [
        ({}, "kernel-equal"),
        ({FLASH: b"two"}, "undecided"),
        ({FLASH: None}, "undecided"),
        ({LAYER: PREFILL.replace("return True", "return False")}, "must re-collect"),
        ({LAYER: PREFILL.replace("fwd(x)", "fwd(x, 1)")}, "must re-collect"),
        ({LAYER: None}, "undecided"),
    ],
)
def test_a_compiled_kernel_is_equal_only_in_the_same_library_with_the_same_dispatch(
    builds, database, answer, change, holding
):
    rows = database(row(kernel_source="flashkda_fwd"))
    _, told = answer("perfdb", "rebase", rows, *builds(change))
    assert one(told, "flashkda_fwd")["holding"] == holding, one(told, "flashkda_fwd")["reason"]


def test_rows_of_the_new_build_itself_are_measured_and_those_of_another_version_count_for_neither(
    tmp_path, builds, answer
):
    tables = {
        place(KDA, version="0.27.0"): [row(), row(seq_len=256, version="0.1.dev19262+gb6bbf29dd")],
        place(KDA, "b300_sxm", version="0.27.0"): [row(device="NVIDIA B300 SXM6 AC", version="0.1.dev1")],
        place(KDA, version="0.27.1"): [row(version="0.27.1")],
    }
    answer("perfdb", "import", write_tree(tmp_path / "tree", tables), "-o", tmp_path / "db")
    words = builds({CONV: changed("tl.store(x, BLOCK)", "tl.store(x, 7)")})
    code, told = answer("perfdb", "rebase", tmp_path / "db", *words)
    cells = {cell["system"]: cell for cell in one(told)["systems"]}
    assert (cells["h200_sxm"]["holding"], cells["h200_sxm"]["rows_of_new"]) == ("measured", 1)
    assert (cells["b300_sxm"]["holding"], cells["b300_sxm"]["rows_of_another_build"]) == ("no rows", 1)
    assert code == 0
    assert told["rows"] == {"measured": 1, "kernel-equal": 0, "must re-collect": 0, "undecided": 0}


def test_a_shape_that_only_the_old_build_has_is_not_covered_by_another_shape_of_the_new_one(tmp_path, builds, answer):
    tables = {
        place(KDA, version="0.27.0"): [row(), row(seq_len=256), row(seq_len=512)],
        place(KDA, version="0.27.1"): [row(version="0.27.1"), row(version="0.1.dev7", seq_len=512)],
    }
    answer("perfdb", "import", write_tree(tmp_path / "tree", tables), "-o", tmp_path / "db")
    code, told = answer("perfdb", "rebase", tmp_path / "db", *builds({CONV: changed("tl.store(x", "tl.put(x")}))
    (cell,) = one(told)["systems"]
    assert (code, cell["holding"], cell["rows_open"], cell["rows_of_new"]) == (1, "must re-collect", 2, 1)
    assert told["rows"] == {"measured": 1, "kernel-equal": 0, "must re-collect": 2, "undecided": 0}


def test_a_kernel_that_nobody_declared_is_undecided(builds, database, answer, dayzero):
    rows = database(row(kernel_source="somebody_elses"))
    code, told = answer("perfdb", "rebase", rows, *builds({}))
    assert (code, one(told, "somebody_elses")["holding"]) == (3, "undecided")
    code, out, _ = dayzero("perfdb", "rebase", rows, *builds({}))
    assert "undecided, nobody has declared which files make this kernel: 1\n" in out


def test_without_rows_of_either_build_nothing_passes(builds, database, dayzero):
    code, out, _ = dayzero("perfdb", "rebase", database(), *builds({}, versions=("0.30.0", "0.31.0")))
    assert code == 3
    assert "the import has no rows of vllm 0.30.0 or 0.31.0" in out


def test_a_label_of_the_tree_can_stand_for_a_build(builds, database, answer):
    rows = database(row(version="0.1.dev19262+gb6bbf29dd"), version="0.1.dev19262")
    words = builds({}, versions=("0.30.0", "0.31.0"))
    code, told = answer("perfdb", "rebase", rows, *words, "--from-label", "0.1.dev19262")
    assert (code, one(told)["holding"], told["from"]["label"]) == (0, "kernel-equal", "0.1.dev19262")


def test_retracted_rows_are_not_carried_over(tmp_path, builds, database, answer, dayzero):
    rows = database(row(), row(seq_len=256))
    dayzero("keys", "new", "lab", "-o", tmp_path)
    (tmp_path / "evidence").mkdir()
    words = ("--table", "kda_perf", "--where", "seq_len=256", "--cause", "instrument_artifact", "--why", "A floor.")
    code, _, err = dayzero("perfdb", "retract", "floor", rows, tmp_path, *words, "--sign", tmp_path / "lab.key.pem")
    assert code == 0, err
    _, told = answer("perfdb", "rebase", rows, *builds({}), "--evidence", tmp_path)
    (cell,) = one(told)["systems"]
    assert (cell["rows_of_old"], cell["retracted"]) == (1, 1)


def test_a_build_that_audit_refutes_never_passes(tmp_path, builds, database, answer):
    first, old, second, new = builds({}, ["torch==2.13.0", "transformers<5"])
    make_wheel(tmp_path / "new", "transformers", "5.3.0", {"transformers/__init__.py": ""})
    code, told = answer("perfdb", "rebase", database(), first, old, second, new.parent)
    assert (code, told["to"]["audit"], one(told)["holding"]) == (1, "refuted", "kernel-equal")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "0.27.0", "--to", "0.27.1"), "0.27.0 names no engine"),
        (("--from", "OLD", "--to", "OLD"), "both builds are the same version"),
        (("--from", "OLD", "--to", "OTHER"), "are two engines"),
    ],
)
def test_what_cannot_be_asked_is_bad_input(builds, database, dayzero, words, message):
    _, old, _, _ = builds({})
    other = make_wheel(old.parent.parent / "other", "sglang", "0.5.16", {"sglang/__init__.py": ""})
    named = {"OLD": old, "OTHER": other}
    code, _, err = dayzero("perfdb", "rebase", database(), *(named.get(word, word) for word in words))
    assert (code, message in err, "hint: " in err) == (2, True, True)


def moe_row(**more: object) -> dict[str, object]:
    label = "vllm_compressedtensorsw4a4nvfp4moe_flashinfer_trtllm_trtllmnvfp4expertsmodular"
    row: dict[str, object] = {"framework": "VLLM", "version": "0.27.0", "device": "NVIDIA H200", "op_name": "moe"}
    row |= {"kernel_source": label, "moe_dtype": "nvfp4", "num_tokens": 8, "hidden_size": 3584, "inter_size": 3072}
    row |= {"topk": 16, "num_experts": 896, "moe_tp_size": 8, "moe_ep_size": 1, "distribution": "balanced"}
    return row | {"latency": 0.5} | more


@pytest.mark.parametrize(
    ("change", "holding"),
    [
        ({}, "kernel-equal"),
        ({ARTIFACTS: PINS.format("two")}, "must re-collect"),
        ({LAUNCH: "launch(2);"}, "must re-collect"),
        ({ARTIFACTS: "class CheckSumHash:\n    TRTLLM_GEN_FMHA: str = 'aa'\n"}, "undecided"),
        ({ARTIFACTS: "class CheckSumHash(\n"}, "undecided"),
        ({ARTIFACTS: None}, "undecided"),
        ({LAUNCH: None}, "undecided"),
    ],
)
@pytest.mark.usefixtures("builds")
def test_binaries_that_are_fetched_are_compared_by_their_pins(tmp_path, answer, change, holding):
    path = "data/h200_sxm/moe/vllm/0.27.0/moe_perf.parquet"
    answer("perfdb", "import", write_tree(tmp_path / "tree", {path: [moe_row()]}), "-o", tmp_path / "db")
    engine = {NVFP4: "class TrtLlmNvFp4ExpertsModular:\n    pass\n"}
    engine |= {ORACLE: "def select_nvfp4_moe_backend():\n    return 1\n"}
    whole = {ARTIFACTS: PINS.format("one"), LAUNCH: "launch();"}
    for side, version, library in (("old", "0.27.0", whole), ("new", "0.27.1", whole | change)):
        make_wheel(tmp_path / side, "vllm", version, engine)
        there = {path: text for path, text in library.items() if text is not None}
        make_wheel(tmp_path / side, "flashinfer-python", "0.6.16", there)
    _, told = answer("perfdb", "rebase", tmp_path / "db", "--from", tmp_path / "old", "--to", tmp_path / "new")
    assert told["kernels"][0]["holding"] == holding, told["kernels"][0]["reason"]


def test_gemm_rows_of_another_engine_are_not_looked_at(tmp_path, builds, answer):
    path = "data/h200_sxm/gemm/sglang/0.27.0/gemm_perf.parquet"
    answer("perfdb", "import", write_tree(tmp_path / "tree", {path: [gemm(1.0)]}), "-o", tmp_path / "db")
    code, told = answer("perfdb", "rebase", tmp_path / "db", *builds({}))
    assert (code, told["kernels"]) == (3, [])
