"""The memory of vLLM's ranks beside what its runs printed, and the laws that hold for any plan."""

import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.vllm.memory.models import QWEN3_8B, checkpoint, dense, kimi_k3, tensor

from dayzero.core.errors import InputError
from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven, Refuted
from dayzero.engines.vllm.memory.budget import budget
from dayzero.fit.check import fit
from dayzero.fit.checkpoint import Basis, Checkpoint, Unknown
from dayzero.fit.model import Budget, Component, Figure, FitPlan, State

GIB = 1024**3


def plan(model: Checkpoint, system: str = "1xh200", flags: str = "", **changed: object) -> FitPlan:
    return replace(
        FitPlan(
            checkpoint=model,
            system=parse_system(system),
            parallelism=Parallelism(),
            version="0.27.1",
            flags=tuple(flags.split()),
        ),
        **changed,
    )


def sized(asked: FitPlan) -> Budget:
    answer = budget(asked)
    assert isinstance(answer, Budget), answer
    return answer


def gib(answer: Budget, component: Component, rank: int = 0) -> float:
    return answer.ranks[rank].figure(component).size.count / GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run on one H200 printed."""

    model: Checkpoint
    version: str
    flags: str
    weights: float
    cache: float
    tokens: int
    concurrency: float


K3 = "--max-model-len 40960 --block-size 128"
RUNS = {
    "Qwen3-8B": Run(
        model=dense(),
        version="0.26.0",
        flags="--max-model-len 40960 --load-format dummy --gpu-memory-utilization 0.85",
        weights=15.27,
        cache=102.05,
        tokens=743_120,
        concurrency=18.14,
    ),
    "Kimi-K3, 5 layers": Run(
        model=kimi_k3(5),
        version="0.27.1",
        flags=f"{K3} --language-model-only --enforce-eager --gpu-memory-utilization 0.9 --attention-backend TRITON_MLA",
        weights=69.46,
        cache=51.14,
        tokens=28_245_333,
        concurrency=689.58,
    ),
    "Kimi-K3, 4 layers, eager": Run(
        model=kimi_k3(4),
        version="0.27.1",
        flags=K3
        + ' --enforce-eager --gpu-memory-utilization 0.9 --limit-mm-per-prompt {"image":0,"video":0} --moe-backend marlin',
        weights=53.63,
        cache=67.0,
        tokens=40_367_941,
        concurrency=985.55,
    ),
    "Kimi-K3, 4 layers, graphs": Run(
        model=kimi_k3(4),
        version="0.27.1",
        flags=f"{K3} --language-model-only --max-num-seqs 256 --gpu-memory-utilization 0.6 --attention-backend TRITON_MLA",
        weights=53.63,
        cache=25.54,
        tokens=15_389_789,
        concurrency=375.73,
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_printed_is_predicted(name: str):
    run = RUNS[name]
    answer = budget(plan(run.model, flags=run.flags, version=run.version))
    assert isinstance(answer, Budget)
    assert gib(answer, Component.WEIGHTS) == pytest.approx(run.weights, rel=0.002)
    assert gib(answer, Component.KV_CACHE) == pytest.approx(run.cache, rel=0.005)
    assert answer.kv_tokens == pytest.approx(run.tokens, rel=0.005)
    assert answer.max_concurrency == pytest.approx(run.concurrency, rel=0.005)


def test_activations_and_graphs_of_the_runs_lie_in_their_intervals():
    for name, activations, graphs in (("Qwen3-8B", 1.29, 1.00), ("Kimi-K3, 4 layers, graphs", 1.68, 0.66)):
        run = RUNS[name]
        rank = sized(plan(run.model, flags=run.flags, version=run.version)).ranks[0]
        for component, printed in ((Component.ACTIVATIONS, activations), (Component.GRAPHS, graphs)):
            figure = rank.figure(component)
            assert figure.low.count / GIB <= printed <= figure.high.count / GIB
            assert figure.size.count / GIB == pytest.approx(printed, rel=0.03)


def test_what_ran_out_of_memory_after_its_cache_was_sized_is_refuted_and_what_served_is_not():
    ran_out, eager, served = (
        fit(budget(plan(run.model, flags=run.flags, version=run.version, explain=True)))
        for name, run in RUNS.items()
        if name.startswith("Kimi")
    )
    assert isinstance(ran_out.verdict, Refuted)
    assert "allocates" in ran_out.verdict.reason
    assert eager.headroom < 0, "it ran out as well, by a smaller amount"
    assert not isinstance(eager.verdict, Proven)
    assert isinstance(served.verdict, Proven)
    split = next(f for f in ran_out.ranks[0].formulas if f.name == "split-decode workspace")
    assert split.value == Bytes(1024 * 96 * 128 * 513 * 4), "24 GiB that profiling does not see"


def test_kimi_k3_needs_more_than_eight_b200_have_and_fits_on_eight_b300():
    spread = Parallelism(tp=8, ep=True)
    small = fit(budget(plan(kimi_k3(), "8xb200", "--block-size 128", parallelism=spread, context=40960)))
    assert isinstance(small.verdict, Refuted)
    assert small.state is State.COMPUTED_DOES_NOT_FIT
    assert small.ranks[0].figure(Component.WEIGHTS).low.count / GIB >= 175.40, "what was allocated when it ran out"
    large = fit(budget(plan(kimi_k3(), "8xb300", "--block-size 128", parallelism=spread, context=40960)))
    assert isinstance(large.verdict, Proven)
    assert large.state is State.COMPUTED_FITS
    assert large.kv_tokens is not None


def test_offloading_changes_nothing_and_an_advisory_says_so():
    spread = Parallelism(tp=8, ep=True)
    without = sized(plan(kimi_k3(), "8xb200", parallelism=spread))
    offloaded = sized(plan(kimi_k3(), "8xb200", "--cpu-offload-gb 20", parallelism=spread))
    assert offloaded.ranks == without.ranks
    assert any("--cpu-offload-gb" in advice for advice in offloaded.advisories)


MEASURED = Figure(
    component=Component.WEIGHTS,
    size=Bytes(100 * GIB),
    low=Bytes(100 * GIB),
    high=Bytes(100 * GIB),
    source="line 25 of a log",
    basis="measured",
)


def test_a_measured_figure_stands_in_for_the_computed_one():
    answer = sized(plan(dense(), measured=(MEASURED,)))
    assert answer.ranks[0].figure(Component.WEIGHTS) == MEASURED
    assert gib(answer, Component.KV_CACHE) < gib(sized(plan(dense())), Component.KV_CACHE) - 80


SPREADS = st.builds(
    Parallelism, tp=st.sampled_from([1, 2, 4, 8]), pp=st.integers(1, 4), dp=st.sampled_from([1, 2, 4]), ep=st.booleans()
)
SMALL_K3 = kimi_k3(13)
MODELS = {
    "dense": dense(num_hidden_layers=6),
    "tied": dense(num_hidden_layers=6, tie_word_embeddings=1),
    "experts": SMALL_K3,
}


@given(st.sampled_from(sorted(MODELS)), SPREADS)
@settings(deadline=None)
def test_all_ranks_together_hold_what_is_stored_what_is_repeated_and_what_is_added(name: str, spread: Parallelism):
    answer = sized(plan(MODELS[name], "64x8xh200", parallelism=spread))
    held = sum(rank.count * rank.figure(Component.WEIGHTS).size.count for rank in answer.ranks)
    assert held == answer.stored.count + answer.replicated.count + answer.added
    assert sum(rank.count for rank in answer.ranks) == spread.ranks
    if spread.ranks == 1:
        assert answer.replicated == Bytes(0)
    if name != "experts" and spread.tp <= 8:
        norms = answer.replicated.count < answer.stored.count / 100
        assert norms or spread.dp > 1 or (name == "tied" and spread.pp > 1)


@given(st.sampled_from(sorted(MODELS)), SPREADS, st.sampled_from(["tp", "pp", "dp"]))
@settings(deadline=None)
def test_more_gpus_never_hold_more_weights_each(name: str, spread: Parallelism, degree: str):
    number = getattr(spread, degree)
    if (degree, number) in {("tp", 8), ("pp", 4)}:
        return
    wider = replace(spread, **{degree: number + 1 if degree == "pp" else 2 * number})

    def heaviest(parallelism: Parallelism) -> int:
        answer = sized(plan(MODELS[name], "64x8xh200", parallelism=parallelism))
        return max(rank.figure(Component.WEIGHTS).size.count for rank in answer.ranks)

    moved = MODELS[name].config.get("vocab_size", 0)  # a tied head is held a second time from the second stage on
    slack = moved * QWEN3_8B["hidden_size"] * 2 if name == "tied" and degree == "pp" else 0
    assert heaviest(wider) <= heaviest(spread) + slack


@given(st.sampled_from(sorted(MODELS)), SPREADS, st.integers(1, 1 << 20), st.integers(1, 1 << 20))
@settings(deadline=None)
def test_a_longer_context_never_takes_less(name: str, spread: Parallelism, one: int, other: int):
    short, long = (
        sized(plan(MODELS[name], "64x8xh200", parallelism=spread, context=context)).ranks
        for context in sorted((one, other))
    )
    for before, after in zip(short, long, strict=True):
        assert before.request.size <= after.request.size
        assert before.needed <= after.needed


@pytest.mark.parametrize(
    ("system", "flags", "changed", "message"),
    [
        ("1xh200", "", {"parallelism": Parallelism(tp=2)}, "2 ranks on the 1 GPUs"),
        ("8xh200", "", {"parallelism": Parallelism(tp=3)}, "32 attention heads cannot be split over tp 3"),
        ("64xh200", "", {"parallelism": Parallelism(pp=40)}, "40 pipeline stages for 36 layers"),
        ("8xh200", "-tp 4", {"parallelism": Parallelism(tp=8)}, "tensor-parallel-size 4"),
        ("1xh200", "--max-model-len 8192", {"context": 4096}, "context of 4096 tokens"),
        ("1xh200", "--gpu-memory-utilization 1.5", {}, "gpu-memory-utilization is '1.5'"),
        ("1xh200", "--max-num-seqs many", {}, "max-num-seqs is 'many'"),
        ("1xh200", "--kv-cache-dtype int3", {}, "a cache in 'int3'"),
        ("1xh200", "--dtype fp7", {}, "dtype is 'fp7'"),
        ("1xh200", "8192", {}, "is no flag"),
        ("1xh200", "--eplb-config [1] --enable-eplb", {}, "eplb-config is not a JSON object"),
        ("1xh200", "", {"version": "main"}, "not a version of vLLM"),
        ("1xh200", "", {"env": {"VLLM_PP_LAYER_PARTITION": "1,x"}}, "VLLM_PP_LAYER_PARTITION"),
        ("1xh200", "", {"env": {"VLLM_PP_LAYER_PARTITION": "35"}}, "35 layers on 1 stages"),
    ],
)
def test_what_the_engine_would_refuse_is_refused(system: str, flags: str, changed: dict[str, object], message: str):
    with pytest.raises(InputError, match=message) as refused:
        budget(plan(dense(), system, flags, **changed))
    assert refused.value.hint


def test_a_model_that_is_not_modelled_is_unknown_with_the_place():
    new = checkpoint({**QWEN3_8B, "layer_types": ["hyena"] * 36}, dense().tensors)
    answer = budget(plan(new))
    assert isinstance(answer, Unknown)
    indexed = replace(dense(), basis=Basis.INDEX)
    assert isinstance(budget(plan(indexed)), Unknown)


def test_a_missing_field_is_named():
    config = {key: value for key, value in QWEN3_8B.items() if key != "vocab_size"}
    with pytest.raises(InputError, match="vocab_size is missing"):
        budget(plan(checkpoint(config, dense().tensors)))


def test_a_tensor_of_an_unknown_module_widens_the_interval_and_is_named():
    odd = checkpoint(QWEN3_8B, (*dense().tensors, tensor("model.layers.0.self_attn.zeta.weight", 1 << 14, 1 << 14)))
    answer = sized(plan(odd, "8xh200", parallelism=Parallelism(tp=8)))
    figure = answer.ranks[0].figure(Component.WEIGHTS)
    assert figure.size.count - figure.low.count == (1 << 29) * 7 // 8
    assert any("zeta" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", 0.92),
        ("--gpu-memory-utilization 0.5", 0.5),
        ("--gpu-memory-utilization=0.5", 0.5),
        ("--gpu_memory_utilization 0.5", 0.5),
    ],
)
def test_the_budget_is_the_stated_part_of_all_memory(flags: str, expected: float):
    rank = sized(plan(dense(), flags=flags)).ranks[0]
    assert rank.budget.count == pytest.approx(parse_system("1xh200").memory.count * expected, rel=1e-6)


def test_a_stated_cache_is_taken_whatever_the_utilisation():
    answer = sized(plan(dense(), flags="--kv-cache-memory-bytes 20G --gpu-memory-utilization 0.1"))
    assert gib(answer, Component.KV_CACHE) == pytest.approx(20, rel=0.001)
    assert isinstance(fit(answer).verdict, Proven)
    assert isinstance(fit(budget(plan(dense(), flags="--kv-cache-memory-bytes 130G"))).verdict, Refuted)


def test_flags_with_dots_and_json_say_the_same():
    written = f"--eplb-config {json.dumps({'num_redundant_experts': 8}).replace(' ', '')} --enable-eplb"
    dotted = "--eplb-config.num_redundant_experts 8 --enable-eplb"
    spread = {"parallelism": Parallelism(tp=8, ep=True)}
    one, other = (sized(plan(SMALL_K3, "8xh200", flags, **spread)) for flags in (written, dotted))
    assert one.ranks == other.ranks
    assert gib(one, Component.WEIGHTS) > gib(sized(plan(SMALL_K3, "8xh200", **spread)), Component.WEIGHTS)


@pytest.mark.parametrize(("stages", "in_flight"), [(1, 2 * 8192), (2, 3 * 8192)])
def test_a_window_holds_what_is_in_flight_beside_it(stages: int, in_flight: int):
    model = dense(layer_types=["sliding_attention", "full_attention"] * 18, sliding_window=128)
    rank = sized(plan(model, "2xh200", parallelism=Parallelism(pp=stages))).ranks[0]
    blocks = 40960 // 16 + -(-(127 + in_flight) // 16) + 1
    assert rank.request.size == Bytes(blocks * 18 // stages * 16 * 4096)
