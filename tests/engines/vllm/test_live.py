"""The real vLLM: what the plug-in says about it is what it does."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engines.vllm.builds import InstalledBuild
from tests.vllm_fixtures import VllmEndpoint

from dayzero.audit.model import FactTable
from dayzero.engines.vllm.engine import ENGINE
from dayzero.engines.vllm.logprobs import DIALECT as LOGPROBS
from dayzero.gates.exchange import Asked

pytestmark = pytest.mark.vllm

PARIS = 7042  # " Paris" in SmolLM2's vocabulary


def complete(endpoint: VllmEndpoint, **fields: object) -> Mapping[str, Any]:
    body = {"model": endpoint.model, "temperature": 0, "prompt": "The capital of France is", **fields}
    answer = httpx.post(f"{endpoint.base_url}/v1/completions", json=body, timeout=120)
    assert answer.status_code == httpx.codes.OK, answer.text
    return answer.json()


def stream(endpoint: VllmEndpoint, **fields: object) -> list[dict[str, Any]]:
    body = {
        "model": endpoint.model,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        **fields,
    }
    with httpx.stream("POST", f"{endpoint.base_url}/v1/completions", json=body, timeout=120) as answer:
        events = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    return [json.loads(event) for event in events]


def test_the_endpoint_is_recognised_and_says_which_build_answers(vllm_endpoint: VllmEndpoint):
    models = httpx.get(f"{vllm_endpoint.base_url}/v1/models", timeout=30).json()
    assert ENGINE.dialect.recognises(models)
    assert ENGINE.dialect.fingerprint(models, complete(vllm_endpoint, max_tokens=1)).startswith("vllm-0.32.0-")


def test_the_converted_weights_know_the_capital_of_france(vllm_endpoint: VllmEndpoint):
    assert complete(vllm_endpoint, max_tokens=1)["choices"][0]["text"] == " Paris"


def test_the_chat_template_travelled_with_the_weights(vllm_endpoint: VllmEndpoint):
    body = {
        "model": vllm_endpoint.model,
        "messages": [{"role": "user", "content": "Reply with one word: what is the capital of France?"}],
        "temperature": 0,
        "max_tokens": 16,
    }
    answer = httpx.post(f"{vllm_endpoint.base_url}/v1/chat/completions", json=body, timeout=120).json()
    assert "Paris" in answer["choices"][0]["message"]["content"]


def test_log_probabilities_come_by_token_id_and_as_many_as_asked(vllm_endpoint: VllmEndpoint):
    asked = Asked(model=vllm_endpoint.model, prompt="The capital of France is", tokens=2, k=20, salt="live")
    question = LOGPROBS.generate(asked)
    answer = httpx.post(f"{vllm_endpoint.base_url}{question.path}", json=question.body, timeout=120).json()
    first, second = LOGPROBS.generated(answer)
    assert first.chosen == first.candidates[0].token == f"id:{PARIS}"
    assert first.candidates[0].logprob == pytest.approx(-0.27, abs=0.02)
    assert (len(first.candidates), len(second.candidates)) == (20, 20)


def test_a_prompt_of_token_ids_is_counted_exactly_and_generates_exactly_what_was_asked(vllm_endpoint: VllmEndpoint):
    chunks = stream(vllm_endpoint, prompt=list(range(1000, 1123)), **ENGINE.dialect.length_fields(37))
    usages = [usage for usage in map(ENGINE.dialect.usage, chunks) if usage is not None]
    assert [(usage.prompt_tokens, usage.completion_tokens) for usage in usages] == [(123, 37)]


def test_the_length_fields_outlast_an_end_of_sequence_token(vllm_endpoint: VllmEndpoint):
    question = "<|im_start|>user\nSay hi.<|im_end|>\n<|im_start|>assistant\n"
    free = complete(vllm_endpoint, prompt=question, max_tokens=200)
    held = complete(vllm_endpoint, prompt=question, **ENGINE.dialect.length_fields(200))
    assert free["choices"][0]["finish_reason"] == "stop"
    assert held["usage"]["completion_tokens"] == 200


def test_the_metrics_are_served_under_the_names_the_dialect_gives(vllm_endpoint: VllmEndpoint):
    before = metric_values(vllm_endpoint)
    complete(vllm_endpoint, max_tokens=3)
    after = metric_values(vllm_endpoint)
    assert after["prompt_tokens"] - before["prompt_tokens"] == 5
    assert after["generated_tokens"] - before["generated_tokens"] == 3
    assert after["requests_running"] == after["requests_waiting"] == 0


def metric_values(endpoint: VllmEndpoint) -> dict[str, float]:
    lines = httpx.get(f"{endpoint.base_url}/metrics", timeout=30).text.splitlines()
    samples = {line.split("{")[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("vllm:")}
    return {ours: samples[theirs] for ours, theirs in ENGINE.dialect.metric_names.items()}


def test_the_registry_of_the_installed_build_shows_the_line_of_an_architecture(vllm_site_packages: Path):
    build = InstalledBuild(vllm_site_packages)
    facts = ENGINE.read_architectures(build)
    assert isinstance(facts, FactTable)
    assert facts.find("NewlabMoeForCausalLM") is None
    place = facts.find("LlamaForCausalLM")
    assert place is not None
    line = build.read(place.file).decode().splitlines()[int(place.position.removeprefix("line ")) - 1]
    assert line.strip() == place.quote == '"LlamaForCausalLM": ("llama", "LlamaForCausalLM"),'


def test_the_settings_read_from_the_files_are_those_of_the_real_parser(
    vllm_environment: Path, vllm_site_packages: Path
):
    script = (
        "import json\n"
        "from vllm.utils.argparse_utils import FlexibleArgumentParser\n"
        "from vllm.entrypoints.launchers.cli_args import make_arg_parser\n"
        "parser = make_arg_parser(FlexibleArgumentParser())\n"
        "print(json.dumps([word for action in parser._actions for word in action.option_strings]))\n"
    )
    ran = subprocess.run(
        [vllm_environment / "bin" / "python", "-c", script],
        check=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
    )
    facts = ENGINE.read_settings(InstalledBuild(vllm_site_packages))
    assert isinstance(facts, FactTable)
    assert {*facts.names(), "-h", "--help"} == set(json.loads(ran.stdout.splitlines()[-1]))
