import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dayzero.bench.model import Usage
from dayzero.engines.llamacpp.dialect import LlamaCppDialect

ANSWERS = Path(__file__).parent / "answers"
DIALECT = LlamaCppDialect()


def answer(name: str) -> Mapping[str, Any]:
    recorded: Mapping[str, Any] = json.loads((ANSWERS / name).read_text())
    return recorded


def test_usage_is_read_from_the_last_chunk_with_the_tokens_that_came_from_the_cache():
    assert DIALECT.usage(answer("usage_chunk.json")) == Usage(prompt_tokens=6, completion_tokens=2, cached_tokens=2)


def test_usage_without_details_leaves_open_what_was_cached():
    chunk = {"usage": {"prompt_tokens": 6, "completion_tokens": 2}}
    assert DIALECT.usage(chunk) == Usage(prompt_tokens=6, completion_tokens=2, cached_tokens=None)


@pytest.mark.parametrize("chunk", [{}, {"usage": None}, {"usage": {"prompt_tokens": 6}}, answer("text_chunk.json")])
def test_a_chunk_without_counts_has_no_usage(chunk: Mapping[str, object]):
    assert DIALECT.usage(chunk) is None


def test_an_exact_length_is_asked_for_by_ignoring_the_end_of_text():
    assert DIALECT.length_fields(64) == {"max_tokens": 64, "ignore_eos": True}


@pytest.mark.parametrize(
    "models",
    [
        {},
        {"data": []},
        {"data": [{"id": "m", "owned_by": "vllm"}]},
        {"data": [{"owned_by": "llamacpp"}, {"owned_by": "x"}]},
    ],
)
def test_models_of_others_are_not_recognised(models: Mapping[str, object]):
    assert not DIALECT.recognises(models)


def test_the_fingerprint_names_the_build_and_the_kind_of_weights():
    assert DIALECT.fingerprint(answer("models.json"), answer("completion.json")) == "llama.cpp b0-unknown, MXFP4 MoE"


@pytest.mark.parametrize("completion", [{}, {"system_fingerprint": ""}, {"system_fingerprint": 7}])
def test_an_answer_that_does_not_say_which_build_it_is_has_no_fingerprint(completion: Mapping[str, object]):
    assert DIALECT.fingerprint(answer("models.json"), completion) == ""
