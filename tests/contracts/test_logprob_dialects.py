"""The suite that every way of asking for log-probabilities passes: recorded answers of real engines, and a known model's."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.simulators.logprob_server import LogprobServer, Model, Planted, log_softmax

from dayzero.gates.exchange import Asked, Question, UnreadableError
from dayzero.gates.openai_logprobs import DIALECT as ANY_ENGINE
from dayzero.gates.ports import LogprobDialect
from dayzero.wiring.gate import logprob_dialects

DIALECTS = {**dict(logprob_dialects()), "openai": ANY_ENGINE}
ENGINES = Path(__file__).parents[1] / "engines"
PROMPT = (5, 9, 70, 33, 21, 64)


@pytest.fixture(params=sorted(DIALECTS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def dialect(name: str) -> LogprobDialect:
    return DIALECTS[name]


def asked(tokens: int, *, prompt: tuple[int, ...] | str = PROMPT, temperature: float = 0) -> Asked:
    return Asked(model="small", prompt=prompt, tokens=tokens, k=7, salt="mine", temperature=temperature)


def answered(name: str, question: Question) -> Mapping[str, Any]:
    status, answer = LogprobServer(Planted(words=name)).answer(question.path, json.loads(json.dumps(question.body)))  # type: ignore[arg-type]
    assert status == 200, answer
    found: Mapping[str, Any] = json.loads(json.dumps(answer))
    return found


def test_what_is_generated_is_what_the_model_says(name: str, dialect: LogprobDialect):
    context, truth = list(PROMPT), Model(7)
    readings = dialect.generated(answered(name, dialect.generate(asked(3))))
    assert len(readings) == 3
    for reading in readings:
        values = log_softmax(truth.logits(context))
        token = int(values.argmax())
        assert reading.candidates[0].logprob == pytest.approx(values[token])
        assert [one.logprob for one in reading.candidates] == pytest.approx(sorted(values, reverse=True)[:7])
        assert reading.chosen == reading.candidates[0].token
        context.append(token)


def test_a_prompts_own_positions_are_those_of_its_tokens_but_the_first(name: str, dialect: LogprobDialect):
    question = dialect.score(asked(1))
    if question is None:
        return
    truth = Model(7)
    readings = dialect.scored(answered(name, question))
    assert len(readings) == len(PROMPT) - 1
    for end, reading in enumerate(readings, 1):
        values = log_softmax(truth.logits(PROMPT[:end]))
        assert reading.candidates[0].logprob == pytest.approx(values.max())
        own = next(one for one in reading.candidates if one.token == reading.chosen)
        assert own.logprob == pytest.approx(values[PROMPT[end]])


def test_the_temperature_is_the_one_that_is_asked_for(dialect: LogprobDialect):
    body = dialect.generate(asked(1, temperature=2)).body
    sampling = body.get("sampling_params", body)
    assert isinstance(sampling, Mapping)
    assert (sampling["temperature"], sampling["top_p"]) == (2, 1)


def test_text_is_sent_where_ids_are_not_taken(dialect: LogprobDialect):
    body = dialect.generate(asked(1, prompt="some words")).body
    assert "some words" in (body.get("prompt"), body.get("text"))


@pytest.mark.parametrize("own", ["llamacpp", "vllm"])  # no answer of SGLang was recorded: it starts on a GPU only
def test_recorded_answers_are_read_by_token_id(own: str):
    answer = json.loads((ENGINES / own / "answers" / "completion.json").read_text())
    readings = DIALECTS[own].generated(answer)
    assert readings
    for reading in readings:
        assert len(reading.candidates) > 1
        assert all(one.token.startswith("id:") and one.logprob <= 0 for one in reading.candidates)


@pytest.mark.parametrize("other", sorted(dict(logprob_dialects())))
def test_a_dialect_recognises_its_own_engine_only(name: str, dialect: LogprobDialect, other: str):
    models = {"data": [{"id": "m", "owned_by": other}]}
    assert dialect.recognises(models) == (name in {other, "openai"})


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {}}]},
        {"choices": [{"logprobs": {"tokens": ["a"]}}]},
        {"choices": [{"logprobs": {"tokens": ["a"], "top_logprobs": []}}]},
        {"choices": [{"logprobs": {"tokens": ["token_id:1"], "top_logprobs": [{"token_id:1": None}]}}]},
        {"choices": [{"logprobs": {"tokens": ["token_id:1"], "top_logprobs": [{"token_id:1": "-1"}]}}]},
        {"choices": [{"logprobs": {"tokens": ["token_id:1"], "top_logprobs": [{}]}}]},
        {"choices": [{"logprobs": {"content": None}}]},
        {"choices": [{"logprobs": {"content": [{"token": "a"}]}}]},
        {"choices": [{"logprobs": {"content": [{"id": -1, "logprob": -1, "top_logprobs": []}]}}]},
        {"choices": [{"logprobs": {"content": [{"id": 1, "logprob": 0.5, "top_logprobs": []}]}}]},
        {"meta_info": {}},
        {"meta_info": {"output_token_logprobs": [[-1, 2, None]], "output_top_logprobs": None}},
        {"meta_info": {"output_token_logprobs": [[-1]], "output_top_logprobs": [[[-1, 2]]]}},
        {"meta_info": {"output_token_logprobs": [], "output_top_logprobs": [[]]}},
    ],
)
def test_an_answer_without_what_was_asked_for_is_unreadable(dialect: LogprobDialect, answer: Mapping[str, object]):
    with pytest.raises(UnreadableError):
        dialect.generated(answer)


@pytest.mark.parametrize("own", ["llamacpp", "vllm"])
def test_candidates_named_by_text_are_refused_where_the_engine_has_ids(own: str):
    legacy = {"tokens": [" Paris"], "top_logprobs": [{" Paris": -0.27}]}
    chat = {"content": [{"token": " Paris", "logprob": -0.27, "top_logprobs": [{"token": " Paris", "logprob": -0.27}]}]}
    with pytest.raises(UnreadableError, match="named by their text"):
        DIALECTS[own].generated({"choices": [{"logprobs": legacy if own == "vllm" else chat}]})


def test_each_question_is_kept_out_of_the_cache_in_its_engines_own_way():
    assert DIALECTS["vllm"].generate(asked(1)).body["cache_salt"] == "mine"
    assert DIALECTS["llamacpp"].generate(asked(1)).body["cache_prompt"] is False
    assert DIALECTS["sglang"].generate(asked(1)).body["logprob_start_len"] == 0
    assert not ANY_ENGINE.bypasses_cache
