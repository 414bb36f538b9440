"""``dayzero fit`` as a tired engineer types it."""

# ruff: noqa: E501  (a log's lines stand as they are written)

import json
import re
from pathlib import Path

import pytest

from dayzero.cli.main import run

QWEN = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
SHARED = Path(__file__).parents[3] / "shared"
STAMP = "(EngineCore pid=6) INFO 11-29 14:20:54"
LOG = [
    "(APIServer pid=5) INFO 11-29 14:20:01 [api_utils.py:273] non-default args: {'model': '/models/q', 'max_model_len': 40960, 'gpu_memory_utilization': 0.85}",
    f"{STAMP} [core.py:116] Initializing a V1 LLM engine (v0.26.0) with config: model='/models/q', dtype=torch.bfloat16",
    f"{STAMP} [model_runner.py:305] Model loading took 15.27 GiB and 3.9 seconds",
    f"{STAMP} [gpu_worker.py:560] Available KV cache memory: 102.05 GiB",
    f"{STAMP} [kv_cache_utils.py:2177] GPU KV cache size: 743,120 tokens",
    f"{STAMP} [kv_cache_utils.py:2178] Maximum concurrency for 40,960 tokens per request: 18.14x",
    f"{STAMP} [model_runner.py:747] Graph capturing finished in 7 secs, took 1.00 GiB",
    f"{STAMP} [gpu_worker.py:857] Free memory on device (139.29/139.8 GiB) on startup. Desired GPU memory utilization is (0.85, 118.83 GiB). Actual usage is 15.27 GiB for weight, 1.29 GiB for peak activation, 0.22 GiB for non-torch memory, and 1.0 GiB for CUDAGraph memory.",
]
SERVES = "(APIServer pid=5) INFO:     Application startup complete."
RAN_OUT = "(EngineCore pid=6) ERROR 11-29 14:20:59 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 51.14 GiB."


def config(folder: Path, **changes: object) -> str:
    path = folder / "q" / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**QWEN, **changes}), encoding="utf-8")
    return str(path)


def log(folder: Path, *lines: str) -> str:
    path = folder / "engine.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = run(["fit", "--output-format", "json", *words])
    return code, json.loads(capsys.readouterr().out)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["fit", *words])
    return code, capsys.readouterr().out


def test_the_first_line_says_that_it_fits_with_the_margin_in_bytes_tokens_and_requests(tmp_path, capsys):
    code, text = told(capsys, config(tmp_path), "--system", "1xh200")
    assert code == 0
    assert re.match(
        r"FITS: TP 0 needs at most [\d.]+ GiB and may use [\d.]+ GiB: [\d.]+ GiB to spare; "
        r"[\d,]+ tokens of KV cache, [\d.]+ requests of 40,960 tokens at once\n",
        text,
    )
    assert "W weights" in text


def test_what_does_not_fit_says_what_would_and_every_change_was_sized_again(tmp_path, capsys):
    words = (config(tmp_path, max_position_embeddings=1 << 20), "--system", "1xh100")
    code, found = answer(capsys, *words)
    assert (code, found["verdict"], found["state"]) == (1, "does-not-fit", "computed-does-not-fit")
    remedies = found["remedies"]
    assert isinstance(remedies, list)
    assert remedies
    for remedy in remedies:
        again, sized = answer(capsys, *words, "--context", str(remedy["context_tokens"]), "--", *remedy["flags"])
        assert (again, sized["verdict"], sized["kv_tokens"]) == (0, "fits", remedy["kv_tokens"])
    smallest = found["smallest_system"]
    assert isinstance(smallest, dict)
    assert answer(capsys, words[0], "--system", str(smallest["system"]))[0] == 0


def test_the_json_gives_each_gpu_its_figures_and_each_figure_its_source(tmp_path, capsys):
    code, found = answer(capsys, config(tmp_path), "--system", "2xh200", "--context", "8192", "--explain")
    assert (code, found["schema"], found["context_tokens"]) == (0, "dayzero/fit/v2", 8192)
    (gpu,) = found["per_gpu"]  # type: ignore[misc]
    parts = ("weights", "kv_cache", "activations", "graphs", "other")
    assert gpu["count"] == 2
    for part in parts:
        low, high = gpu["interval_gib"][part]
        assert low <= gpu[f"{part}_gib"] <= high
        assert gpu["source"][part]
    assert {"free_gib", "headroom_gib"} <= gpu.keys()
    assert found["formulas"]


def test_the_engines_own_flags_say_the_spread_and_the_context(tmp_path, capsys):
    _, found = answer(
        capsys, config(tmp_path), "--system", "4xh200", "--", "--tensor-parallel-size", "4", "--max-model-len", "8k"
    )
    assert found["parallelism"] == {"tp": 4, "pp": 1, "dp": 1, "ep": False}
    assert found["context_tokens"] == 8000
    _, spread = answer(capsys, config(tmp_path), "--system", "4xh200", "--", "--enable-expert-parallel", "-pp", "2")
    assert spread["parallelism"] == {"tp": 2, "pp": 2, "dp": 1, "ep": True}


def test_a_log_is_enough_to_ask_and_what_was_measured_decides(tmp_path, capsys):
    path = log(tmp_path, *LOG, SERVES)
    code, found = answer(capsys, config(tmp_path), "--compare", path)
    assert code == 0
    assert (found["state"], found["system"], found["version"], found["kv_tokens"]) == (
        "measured-fits",
        "1xh200",
        "0.26.0",
        743_120,
    )
    comparison = found["comparison"]
    assert isinstance(comparison, dict)
    rows = {row["name"]: row for row in comparison["rows"]}
    assert rows["weights"] == {
        "name": "weights",
        "unit": "gib",
        "predicted": pytest.approx(15.27, rel=0.02),
        "actual": 15.27,
        "line": 3,
        "error_percent": pytest.approx(0, abs=2),
        "tolerance": pytest.approx(0.4581),
        "within": True,
    }
    (gpu,) = found["per_gpu"]  # type: ignore[misc]
    assert (gpu["basis"]["weights"], gpu["source"]["weights"]) == ("measured", f"{path}:3")


def test_a_log_without_a_model_still_answers(tmp_path, capsys):
    assert answer(capsys, "--compare", log(tmp_path, *LOG, SERVES))[1]["state"] == "measured-fits"
    code, found = answer(capsys, "--compare", log(tmp_path, *LOG, RAN_OUT))
    assert (code, found["verdict"], found["state"]) == (1, "does-not-fit", "measured-does-not-fit")
    code, found = answer(capsys, "--compare", log(tmp_path, *LOG))
    assert (code, found["verdict"], found["state"]) == (3, "undecided", "unknown")


def test_a_run_that_ran_out_of_memory_is_told_in_the_first_line(tmp_path, capsys):
    _, text = told(capsys, config(tmp_path), "--compare", log(tmp_path, *LOG, RAN_OUT))
    assert text.startswith("DOES NOT FIT: it ran out of memory: torch.OutOfMemoryError")


def test_a_log_of_another_recipe_is_compared_and_does_not_decide(tmp_path, capsys):
    _, found = answer(capsys, config(tmp_path), "--tp", "2", "--compare", log(tmp_path, *LOG, RAN_OUT))
    assert found["state"] == "computed-fits"
    assert found["differences"]


def test_a_prediction_that_is_off_exits_1(tmp_path, capsys):
    path = log(tmp_path, *(line.replace("15.27", "19.27") for line in LOG), SERVES)
    code, text = told(capsys, config(tmp_path), "--compare", path)
    assert code == 1
    assert "off by more than the tolerance: weights" in text


def test_the_sweep_lists_what_fits_by_cost(tmp_path, capsys):
    code = run(["fit", config(tmp_path), "--system", "4xh100", "--sweep", "--output-format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert (code, found["schema"]) == (0, "dayzero/fit-sweep/v1")
    assert {row["system"] for row in found["rows"]} == {"4xh100"}
    assert {(row["tp"], row["pp"], row["dp"]) for row in found["rows"]} >= {(4, 1, 1), (2, 2, 1), (1, 1, 4)}


def test_the_picture_goes_into_the_file(tmp_path, capsys):
    picture = tmp_path / "fit.svg"
    assert told(capsys, config(tmp_path), "--system", "1xh200", "-o", str(picture))[0] == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_an_engine_without_a_memory_model_is_undecided(tmp_path, capsys):
    code, found = answer(capsys, config(tmp_path), "--system", "1xh200", "--engine", "trtllm==1.2.0")
    assert (code, found["verdict"]) == (3, "undecided")


def test_an_architecture_that_nobody_described_is_undecided(tmp_path, capsys):
    made_up = config(tmp_path, architectures=["NewlabForCausalLM"], model_type="newlab")
    code, found = answer(capsys, made_up, "--system", "1xh200")
    assert (code, found["verdict"], found["per_gpu"]) == (3, "undecided", [])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--system", "8xh999"], "no GPU kind called 'h999'"),
        (["--system", "h200"], "not a system"),
        (["--system", "7xh200"], "tp 7"),
        (["--system", "8xh200", "--tp", "0"], "Invalid value"),
        (["--system", "1xh200", "--tp", "2"], "2 ranks on the 1 GPUs"),
        (["--system", "1xh200", "--engine", "vllm"], "not an engine's version"),
        (["--system", "1xh200", "--context", "9", "--", "--max-model-len", "8"], "--context is 9"),
        (["--system", "1xh200", "--", "stray"], "is no flag"),
        ([], "no system is given"),
    ],
)
def test_bad_input_is_named(tmp_path, capsys, words, says):
    assert run(["fit", config(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "hint: " in error


def test_bad_files_are_named(tmp_path, capsys):
    missing = {key: value for key, value in QWEN.items() if key != "hidden_size"}
    path = tmp_path / "config.json"
    for content, says in ((json.dumps(missing), "hidden_size"), ("{", "JSON"), ("[]", "object")):
        path.write_text(content, encoding="utf-8")
        assert run(["fit", str(path), "--system", "1xh200"]) == 2
        assert says in capsys.readouterr().err
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 1}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}),
        encoding="utf-8",
    )
    path.write_text(json.dumps(QWEN), encoding="utf-8")
    assert run(["fit", str(tmp_path), "--system", "1xh200"]) == 2
    assert "model-00001-of-00002.safetensors" in capsys.readouterr().err
    assert run(["fit", "nosuch", "--system", "1xh200"]) == 2


def test_kimi_k3_needs_b300(capsys):
    model = SHARED / "models" / "kimi-k3" / "config.json"
    if not model.is_file():
        pytest.skip("the shared model is not here")
    code, found = answer(capsys, str(model), "--system", "8xb200", "--tp", "8", "--ep", "--context", "40960")
    assert (code, found["verdict"]) == (1, "does-not-fit")
    (gpu,) = found["per_gpu"]  # type: ignore[misc]
    assert gpu["weights_gib"] > 175.40
    assert any("reports as allocated is close to the 175.75 GiB that were free" in note for note in found["notes"])  # type: ignore[attr-defined]
    assert answer(capsys, str(model), "--system", "8xb300", "--tp", "8", "--ep", "--context", "40960")[0] == 0
