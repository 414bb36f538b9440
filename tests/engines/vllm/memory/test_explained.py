"""Every formula that is written comes to the figure beside it, and the placements add up to the weights."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.vllm.memory.models import dense, kimi_k3

from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.engines.sglang.memory import MODEL as SGLANG
from dayzero.engines.vllm.engine import ENGINE as VLLM
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Checkpoint
from dayzero.fit.model import Budget, Component, FitPlan, RankBudget
from dayzero.fit.ports import MemoryModel

ENGINES: dict[str, tuple[MemoryModel, str]] = {"vllm": (VLLM, "0.27.1"), "sglang": (SGLANG, "0.5.18")}
MODELS = {"dense": dense(), "kimi": kimi_k3()}
_FACTOR = {"MiB": "*1048576"}


def came_to(expression: str) -> float:
    """Work a written formula out: words are units, ``x`` multiplies."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", expression).replace(" x ", " * ")
    text = re.sub(r"\b(?!max\b)[A-Za-z][\w'-]*", lambda word: _FACTOR.get(word[0], ""), text)
    return float(eval(text, {"__builtins__": {}, "max": max}))  # noqa: S307 - digits and operators of our own formulas


def ranks(engine: str, of: Checkpoint, system: str, degrees: Parallelism, flags: str = "") -> tuple[RankBudget, ...]:
    model, version = ENGINES[engine]
    plan = FitPlan(
        checkpoint=of,
        system=parse_system(system),
        parallelism=degrees,
        version=version,
        flags=tuple(flags.split()),
        explain=True,
    )
    answer = model.budget(plan)
    assert isinstance(answer, Budget), answer
    return answer.ranks


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("of", MODELS)
@pytest.mark.parametrize("degrees", [Parallelism(tp=8), Parallelism(tp=4, pp=2, ep=True), Parallelism(tp=16)])
def test_every_formula_comes_to_its_value(engine: str, of: str, degrees: Parallelism):
    for rank in ranks(engine, MODELS[of], "2x8xb300", degrees):
        assert len(rank.formulas) > 5
        for formula in rank.formulas:
            assert came_to(formula.expression) == pytest.approx(formula.value.count, rel=1e-6, abs=2), formula
            assert formula.source


def test_a_token_is_worked_out_as_it_is_said():
    token = next(one for one in ranks("vllm", dense(), "1xh200", Parallelism())[0].formulas if one.name == "a token")
    assert (token.expression, token.value.count) == ("2 x 36 layers x 8 heads / 1 ranks x 128 x 2 B", 147_456)


@settings(max_examples=40, deadline=None)
@given(
    engine=st.sampled_from(sorted(ENGINES)),
    of=st.sampled_from(sorted(MODELS)),
    tp=st.sampled_from((1, 2, 4, 8)),
    pp=st.sampled_from((1, 2, 4)),
    ep=st.booleans(),
)
def test_the_placements_of_a_rank_add_up_to_its_weights(engine: str, of: str, tp: int, pp: int, *, ep: bool):
    for rank in ranks(engine, MODELS[of], "4x8xb300", Parallelism(tp=tp, pp=pp, ep=ep)):
        assert sum(row.held.count for row in rank.placements) == rank.figure(Component.WEIGHTS).low.count
        assert all(row.how and row.source for row in rank.placements)


def test_attention_that_is_data_parallel_adds_up_too():
    degrees = Parallelism(tp=2, dp=4, ep=True)
    for rank in ranks("sglang", kimi_k3(tower=False), "8xb300", degrees, "--enable-dp-attention"):
        assert sum(row.held.count for row in rank.placements) == rank.figure(Component.WEIGHTS).low.count
        assert {row.how for row in rank.placements if row.name.startswith("embed_tokens")} == {"whole"}


def test_a_plan_that_does_not_ask_is_given_no_formulas():
    model, version = ENGINES["vllm"]
    plan = FitPlan(checkpoint=dense(), system=parse_system("1xh200"), parallelism=Parallelism(), version=version)
    answer = model.budget(plan)
    assert isinstance(answer, Budget)
    assert not answer.ranks[0].formulas
    assert model.budget(replace(plan, explain=False)) == answer


@pytest.mark.parametrize("version", ["0.10.1", "0.26.0", "0.27.1"])
def test_what_the_experts_need_is_explained_once_wherever_a_version_counts_it(version: str):
    model = checkpoint_of(
        {
            "architectures": ["Qwen3MoeForCausalLM"],
            "model_type": "qwen3_moe",
            "vocab_size": 1024,
            "hidden_size": 256,
            "intermediate_size": 512,
            "moe_intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 64,
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "max_position_embeddings": 1024,
            "torch_dtype": "bfloat16",
        }
    )
    assert isinstance(model, Checkpoint)
    asked = FitPlan(
        checkpoint=model, system=parse_system("1xh200"), parallelism=Parallelism(), version=version, explain=True
    )
    found = VLLM.budget(asked)
    assert isinstance(found, Budget)
    rank = found.ranks[0]
    told = {formula.name.partition(",")[0]: formula.value for formula in rank.formulas}
    assert told["activations"] == rank.figure(Component.ACTIVATIONS).size
    assert told["other"] == rank.figure(Component.OTHER).size
    assert not any(" + -" in formula.expression for formula in rank.formulas)
