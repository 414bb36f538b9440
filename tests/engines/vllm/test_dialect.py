"""The dialect, against answers recorded from vLLM 0.32.0 on a CPU (folder ``answers``)."""

import json
from pathlib import Path
from typing import Any

import pytest

from dayzero.bench.model import Usage
from dayzero.engines.vllm.engine import ENGINE

ANSWERS = Path(__file__).parent / "answers"
DIALECT = ENGINE.dialect


def answer(name: str) -> dict[str, Any]:
    return json.loads((ANSWERS / name).read_text(encoding="utf-8"))


def test_the_recorded_models_are_recognised():
    assert DIALECT.recognises(answer("models.json"))


@pytest.mark.parametrize(
    "models",
    [
        {},
        {"data": []},
        {"data": [{"id": "m", "owned_by": "llamacpp"}]},
        {"data": [{"owned_by": "vllm"}, {"owned_by": "someone"}]},
        {"data": "vllm"},
        {"data": ["vllm"]},
    ],
)
def test_models_of_another_server_are_not_recognised(models: dict[str, object]):
    assert not DIALECT.recognises(models)


def test_the_counts_of_the_streamed_usage_chunk_are_read():
    assert DIALECT.usage(answer("usage_chunk.json")) == Usage(prompt_tokens=5, completion_tokens=3, cached_tokens=None)


@pytest.mark.parametrize(
    ("details", "cached"), [(None, None), ({}, None), ({"cached_tokens": None}, None), ({"cached_tokens": 4}, 4)]
)
def test_prompt_token_details_may_be_null(details: object, cached: int | None):
    chunk = {"usage": {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": details}}
    assert DIALECT.usage(chunk) == Usage(prompt_tokens=5, completion_tokens=3, cached_tokens=cached)


@pytest.mark.parametrize("chunk", [{}, {"usage": None}, {"usage": {"prompt_tokens": 5}}, {"choices": []}])
def test_a_chunk_without_counts_has_no_usage(chunk: dict[str, object]):
    assert DIALECT.usage(chunk) is None


def test_the_length_is_fixed_from_both_sides():
    assert DIALECT.length_fields(7) == {"max_tokens": 7, "min_tokens": 7, "ignore_eos": True}


def test_every_metric_name_was_served():
    served = {line.split()[0] for line in (ANSWERS / "metrics.txt").read_text(encoding="utf-8").splitlines()}
    assert set(DIALECT.metric_names.values()) <= served
    assert set(DIALECT.metric_names) == {"requests_running", "requests_waiting", "prompt_tokens", "generated_tokens"}


def test_the_fingerprint_is_the_one_that_the_completion_states():
    assert DIALECT.fingerprint(answer("models.json"), answer("completion.json")) == "vllm-0.32.0-a4f904ee"
    assert DIALECT.fingerprint(answer("models.json"), {"system_fingerprint": None}) == ""
