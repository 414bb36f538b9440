"""A package for GPUs: its filed run decides, its pinned configuration is sized, and without either nothing is claimed."""

import json
from pathlib import Path

import pytest

from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.cli.main import run
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.ledger import file_records
from dayzero.evidence.locator import WholeFile
from dayzero.evidence.model import Claim, Extraction, RawFile
from dayzero.evidence.subject import recipe_digest
from dayzero.fit.model import State
from dayzero.wiring.definitions import package
from dayzero.wiring.fit import Question, answer

COMMIT = "c" * 40
CAME_UP = b"""\
(EngineCore pid=9) INFO 11-29 22:46:38 [core.py:116] Initializing a V1 LLM engine (v0.27.1) with config: model='m'
(Worker pid=9) INFO 11-29 22:47:07 [model_runner.py:305] Model loading took 15.27 GiB and 2.1 seconds
(Worker pid=9) INFO 11-29 22:47:47 [gpu_worker.py:560] Available KV cache memory: 99.00 GiB
(EngineCore pid=9) INFO 11-29 22:47:48 [kv_cache_utils.py:2177] GPU KV cache size: 720,896 tokens
(EngineCore pid=9) INFO 11-29 22:47:48 [kv_cache_utils.py:2178] Maximum concurrency for 40,960 tokens per request: 17.60x
(APIServer pid=9) INFO:     Application startup complete.
"""
RAN_OUT = CAME_UP.rsplit(b"\n", 2)[0] + (
    b"\n(EngineCore pid=9) ERROR 11-29 22:47:58 [core.py:900] torch.OutOfMemoryError: CUDA out of memory."
    b" Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 1.00 GiB is free.\n"
)
QWEN3_8B = {
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


def definition(folder: Path, weights: int = 16_381_470_720) -> Path:
    """Write a package that pins its model on a hub."""
    config = json.dumps(QWEN3_8B).encode()
    file = folder / "packages" / "qwen3-8b" / "package.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"""
schema = "dayzero/package/v1"
name = "qwen3-8b"
version = "1.0.0"
title = "Qwen3 8B on one H200"
summary = "For tests."
tier = "open"
technique = ""
[model]
name = "Qwen3-8B"
architecture = "Qwen3ForCausalLM"
tensor_types = ["bf16"]
weights_format = "safetensors"
parameters = 8_190_735_360
licence = "Apache-2.0"
[model.hub]
repository = "Qwen/Qwen3-8B"
revision = "{COMMIT}"
[[model.files]]
path = "model.safetensors"
sha256 = "{"a" * 64}"
size_bytes = {weights}
[[model.files]]
path = "config.json"
sha256 = "{Sha256.of(config).hex}"
size_bytes = {len(config)}
[engine]
engine = "vllm"
distribution = "vllm"
version = "0.27.1"
[[engine.wheels]]
filename = "vllm-0.27.1-py3-none-any.whl"
sha256 = "{"b" * 64}"
[system]
name = "1xh200"
accelerator = "h200"
accelerators = 1
memory_bytes = 150_000_000_000
[serving]
name = "m"
port = 8000
flags = ["--max-model-len", "40960"]
start_budget_s = 600
stop_budget_s = 10
[workload]
seed = 1
[[workload.cells]]
name = "c1"
concurrency = 1
warmup_requests = 1
requests = 4
input_tokens = 8
output_tokens = 4
[[not_measured]]
topic = "everything"
why = "It is for tests."
[[changes]]
version = "1.0.0"
date = "2026-11-29"
kind = "added"
text = "First."
""",
        encoding="utf-8",
    )
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return definition(tmp_path)


def put_config(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(QWEN3_8B), encoding="utf-8")


def file_run(
    file: Path, log: bytes, *, at: str = "2026-11-29T22:00:00Z", subject: Sha256 | None = None, what: str = "weights"
) -> Path:
    """File a log of the package's recipe with a claim that rests on it."""
    evidence = EvidenceFolder(file.parents[2] / "evidence")
    digest = evidence.raw.put(log)
    raw = RawFile(sha256=digest, name="engine.log", size=Bytes(len(log)), captured_at=at, command="vllm serve m")
    claim = Claim(
        slug=f"qwen3-8b/{what}",
        label="weights on the GPU",
        value="15.27",
        unit="GiB",
        raw=digest,
        locator=WholeFile(),
        extraction=Extraction(extractor="text-line@1", parameters=()),
        subject=subject or recipe_digest(package(str(file)).recipe),
    )
    file_records(evidence.ledger, lambda _: (raw, claim))
    return evidence.raw.path / digest.hex


def test_without_its_files_nothing_is_claimed_and_what_to_give_is_said(home: Path):
    found = answer(Question(target=str(home)))
    assert (found.report.state, found.report.ranks) == (State.UNKNOWN, ())
    assert "config.json" in found.report.verdict.reason


@pytest.mark.parametrize("where", ["beside", "hub"])
def test_the_pinned_configuration_is_sized_where_it_lies(home: Path, where: str):
    hub = home.parents[2] / "hub" / "models--Qwen--Qwen3-8B" / "snapshots" / COMMIT
    put_config(home.parent if where == "beside" else hub)
    found = answer(Question(target=str(home)))
    assert (found.report.state, found.evidence) == (State.COMPUTED_FITS, "")
    assert found.plan is not None
    assert found.plan.checkpoint.size.count == pytest.approx(16_381_470_720, rel=0.001)
    assert not found.plan.checkpoint.notes


def test_pinned_weights_of_another_size_than_the_configuration_leads_to_are_told(tmp_path: Path):
    file = definition(tmp_path / "other", weights=9_000_000_000)
    put_config(file.parent)
    found = answer(Question(target=str(file)))
    assert found.plan is not None
    assert any("the pinned weights have" in note for note in found.plan.checkpoint.notes)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("log", "state"), [(CAME_UP, State.MEASURED_FITS), (RAN_OUT, State.MEASURED_DOES_NOT_FIT)])
def test_a_filed_run_of_the_recipe_decides_and_is_named(home: Path, log: bytes, state: State, *, known: bool):
    if known:
        put_config(home.parent)
    raw = file_run(home, log)
    found = answer(Question(target=str(home)))
    assert found.report.state is state
    assert str(raw) in found.evidence
    assert "qwen3-8b/weights" in found.evidence


def test_the_latest_run_decides(home: Path):
    file_run(home, CAME_UP, at="2026-11-29T21:00:00Z", what="cache")
    file_run(home, RAN_OUT, at="2026-11-29T20:00:00Z")
    assert answer(Question(target=str(home))).report.state is State.MEASURED_FITS


def test_a_run_of_another_recipe_or_a_question_about_another_plan_is_not_decided_by_it(home: Path):
    put_config(home.parent)
    file_run(home, RAN_OUT, subject=Sha256("d" * 64))
    assert answer(Question(target=str(home))).report.state is State.COMPUTED_FITS
    file_run(home, RAN_OUT + b"\n", at="2026-11-29T23:00:00Z")
    assert answer(Question(target=str(home))).report.state is State.MEASURED_DOES_NOT_FIT
    for other in (Question(target=str(home), context=8192), Question(target=str(home), flags=("--enforce-eager",))):
        assert answer(other).report.state is State.COMPUTED_FITS


def test_a_filed_log_that_was_changed_is_refused(home: Path, capsys: pytest.CaptureFixture[str]):
    raw = file_run(home, CAME_UP)
    raw.chmod(0o644)
    raw.write_bytes(RAN_OUT)
    assert run(["fit", str(home)]) == 4
    assert "was changed" in capsys.readouterr().err


def test_the_answer_says_where_the_run_is_filed(home: Path, capsys: pytest.CaptureFixture[str]):
    put_config(home.parent)
    file_run(home, CAME_UP)
    assert run(["fit", str(home)]) == 0
    text = capsys.readouterr().out
    assert "measured-fits" in text
    assert "filed with qwen3-8b/weights" in text
    assert run(["fit", str(home), "--output-format", "json"]) == 0
    assert "engine.log" in json.loads(capsys.readouterr().out)["evidence"]
