"""The memory of SGLang's ranks beside what published runs printed, and the rules that decide about it."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.vllm.memory.models import kimi_k3

from dayzero.core.errors import InputError
from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven, Refuted
from dayzero.engines.sglang.memory import MODEL, budget
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.check import fit
from dayzero.fit.checkpoint import Basis, Checkpoint, Unknown
from dayzero.fit.model import Budget, Component, Figure, FitPlan, State

GIB = 1024**3


def model(**config: object) -> Checkpoint:
    found = checkpoint_of({"torch_dtype": "bfloat16", "tie_word_embeddings": False, **config}, "config.json")
    assert isinstance(found, Checkpoint), found
    return found


def dense(kind: str, name: str, sizes: tuple[int, int, int, int, int, int], **more: object) -> Checkpoint:
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    return model(
        architectures=[kind],
        model_type=name,
        num_key_value_heads=8,
        max_position_embeddings=sizes[5],
        **dict(zip(names, sizes, strict=False)),
        **more,
    )


QWQ_32B = dense("Qwen2ForCausalLM", "qwen2", (5120, 27648, 64, 40, 152064, 131072))
LLAMA_8B = dense("LlamaForCausalLM", "llama", (4096, 14336, 32, 32, 128256, 131072), head_dim=128)
QWEN3_32B = dense("Qwen3ForCausalLM", "qwen3", (5120, 25600, 64, 64, 151936, 40960), head_dim=128)
QWEN3_235B_FP8 = model(
    architectures=["Qwen3MoeForCausalLM"],
    model_type="qwen3_moe",
    hidden_size=4096,
    intermediate_size=12288,
    moe_intermediate_size=1536,
    num_hidden_layers=94,
    num_attention_heads=64,
    num_key_value_heads=4,
    head_dim=128,
    num_experts=128,
    num_experts_per_tok=8,
    vocab_size=151936,
    max_position_embeddings=40960,
    decoder_sparse_step=1,
    mlp_only_layers=[],
    quantization_config={"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
)
GPT_OSS_20B = model(
    architectures=["GptOssForCausalLM"],
    model_type="gpt_oss",
    hidden_size=2880,
    intermediate_size=2880,
    num_hidden_layers=24,
    num_attention_heads=64,
    num_key_value_heads=8,
    head_dim=64,
    num_local_experts=32,
    num_experts_per_tok=4,
    vocab_size=201088,
    max_position_embeddings=131072,
    sliding_window=128,
    layer_types=["sliding_attention", "full_attention"] * 12,
    quantization_config={"quant_method": "mxfp4"},
)


def plan(of: Checkpoint, system: str = "1xh100", words: str = "", **changed: object) -> FitPlan:
    """Give a plan as the command line makes it: degrees and context out of the flags."""
    named, flags = MODEL.spread_in(tuple(words.split()))
    context = named.get("context")
    degrees = Parallelism(
        tp=named.get("tp", 1), pp=named.get("pp", 1), dp=named.get("dp", 1), ep=bool(named.get("ep", 0))
    )
    asked = FitPlan(
        checkpoint=of,
        system=parse_system(system),
        parallelism=degrees,
        version="0.5.18",
        flags=flags,
        context=context,
        explain=True,
    )
    return replace(asked, **changed)


def sized(asked: FitPlan) -> Budget:
    answer = budget(asked)
    assert isinstance(answer, Budget), answer
    return answer


def gib(answer: Budget, component: Component) -> float:
    return answer.ranks[0].figure(component).size.count / GIB


def measured(component: Component, size: float) -> Figure:
    found = Bytes(round(size * GIB))
    return Figure(component=component, size=found, low=found, high=found, source="a log", basis="measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one published run printed: weights of a rank in GiB where it did, and ``max_total_num_tokens``."""

    of: Checkpoint
    version: str
    system: str
    words: str
    weights: float | None
    tokens: int


RUNS = {
    "QwQ 32B on four L4, settings by default": Run(
        of=QWQ_32B, version="0.4.3", system="4xl4", words="--tp 4", weights=15.54, tokens=46_611
    ),
    "Llama 3.1 8B on one H100, settings by default": Run(
        of=LLAMA_8B, version="0.4.1", system="1xh100", words="", weights=15.09, tokens=444_500
    ),
    "Llama 3.1 8B on one RTX 4090 with 22.4 GiB free": Run(
        of=LLAMA_8B,
        version="0.4.9",
        system="1xrtx-4090",
        words="--mem-fraction-static 0.84",
        weights=15.02,
        tokens=38_141,
    ),
    "Qwen3 32B on one H100": Run(
        of=QWEN3_32B, version="0.5.19", system="1xh100", words="--mem-fraction-static 0.9", weights=61.07, tokens=39_078
    ),
    "Qwen3 235B A22B FP8 on four H100 (github.com/vllm-project/vllm/issues/21348)": Run(
        of=QWEN3_235B_FP8,
        version="0.4.9",
        system="4xh100",
        words="--tp 4 --mem-fraction-static 0.93",
        weights=None,
        tokens=367_404,
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_published_runs_printed_is_predicted(name: str):
    run = RUNS[name]
    answer = sized(plan(run.of, run.system, run.words, version=run.version))
    assert answer.kv_tokens == pytest.approx(run.tokens, rel=0.1)
    if run.weights is not None:
        assert gib(answer, Component.WEIGHTS) == pytest.approx(run.weights, rel=0.03)


@pytest.mark.parametrize(
    ("version", "system", "words", "fraction"),
    [
        ("0.4.6", "1xh100", "", 0.88),
        ("0.4.6", "4xl4", "--tp 4", 0.85),
        ("0.4.9", "1xrtx-4090", "", 0.879),
        ("0.4.9", "8xh200", "--tp 8", 0.888),
        ("0.5.10", "1xl4", "", 0.822),
        ("0.5.18", "1xh100", "", 0.828),
        ("0.5.18", "1xh100", "--mem-fraction-static 0.7", 0.7),
        ("0.5.18", "1xh100", "--chunked-prefill-size 2048 --disable-cuda-graph", 0.874),
        ("0.5.18", "8xb300", "--tp 8", 0.898),
    ],
)
def test_the_fraction_by_default_is_that_of_the_version(version: str, system: str, words: str, fraction: float):
    rank = sized(plan(LLAMA_8B, system, words, version=version)).ranks[0]
    assert rank.budget.count / rank.free.count == pytest.approx(fraction, abs=0.004)


@pytest.mark.parametrize(
    ("of", "words", "token", "how"),
    [
        (LLAMA_8B, "", 131_072, "2 x 32 layers x 8 heads x 128 x 2 B"),
        (LLAMA_8B, "--tp 2", 65_536, "2 x 32 layers x 8 heads / 2 ranks x 128 x 2 B"),
        (LLAMA_8B, "--kv-cache-dtype fp8_e4m3", 65_536, "2 x 32 layers x 8 heads x 128 x 1 B"),
        (QWEN3_235B_FP8, "--tp 8", 48_128, "2 x 94 layers x 1 repeated head x 128 x 2 B"),
        (GPT_OSS_20B, "", 44_236, "2 x 12 layers x 8 heads x 64 x 2 B + 0.8 of a token x 12 window layers x 2048 B"),
        (kimi_k3(tower=False), "--tp 8", 27_648, "24 layers x (576 x 2 B)"),
    ],
)
def test_a_token_takes_what_the_formula_says(of: Checkpoint, words: str, token: int, how: str):
    formulas = {formula.name: formula for formula in sized(plan(of, "8xh200", words)).ranks[0].formulas}
    assert (formulas["a token"].value.count, formulas["a token"].expression) == (token, how)


def test_a_cache_that_holds_no_token_is_what_sglang_refuses():
    # A published start of a quantised Gemma 3 27B: 23.30 GiB free, 21.01 GiB of weights, 0.88 of it to take.
    answer = sized(plan(LLAMA_8B, "1xl4", "--mem-fraction-static 0.88", measured=(measured(Component.WEIGHTS, 21.01),)))
    refused = fit(answer)
    assert (answer.kv_tokens, answer.max_concurrency) == (None, None)
    assert isinstance(refused.verdict, Refuted)
    assert refused.kv_tokens is None
    assert any("Not enough memory" in advice for advice in refused.advisories)
    assert isinstance(
        fit(sized(plan(LLAMA_8B, "1xl4", "--mem-fraction-static 0.80 --disable-cuda-graph"))).verdict, Proven
    )


def test_a_cache_smaller_than_the_models_own_context_starts_and_a_context_asked_for_must_fit():
    small = "--mem-fraction-static 0.83 --disable-cuda-graph"
    assert fit(sized(plan(LLAMA_8B, "1xl4", small))).state is State.COMPUTED_FITS
    assert any("refuses longer" in advice for advice in sized(plan(LLAMA_8B, "1xl4", small)).advisories)
    assert isinstance(fit(sized(plan(LLAMA_8B, "1xl4", f"{small} --context-length 131072"))).verdict, Refuted)


def test_recurrent_states_and_tokens_share_the_memory_by_their_ratio():
    k3 = kimi_k3(tower=False)
    answer = sized(plan(k3, "8xb300", "--tp 8"))
    assert answer.kv_tokens is not None
    tokens = answer.kv_tokens * 27_648
    states = answer.ranks[0].figure(Component.KV_CACHE).size.count - tokens
    assert states / tokens == pytest.approx(0.9, rel=0.01)
    fewer = sized(plan(k3, "8xb300", "--tp 8 --max-mamba-cache-size 64"))
    assert fewer.kv_tokens is not None
    assert fewer.kv_tokens > answer.kv_tokens
    state = next(formula for formula in answer.ranks[0].formulas if "state" in formula.name)
    assert state.value.count == 69 * (3 * 12288 // 8 * 3 * 2 + 96 * 128 * 128 // 8 * 4)


def test_data_parallel_attention_repeats_the_attention_and_splits_the_rest():
    tp = sized(plan(QWEN3_235B_FP8, "8xh200", "--tp 8 --ep-size 8"))
    dp = sized(plan(QWEN3_235B_FP8, "8xh200", "--tp 8 --dp 8 --enable-dp-attention --ep-size 8"))
    attention = 94 * (2 * 64 * 128 + 2 * 4 * 128) * 4096
    embedding = 151936 * 4096 * 2
    kept_twice = 94 * 2 * 128 * 4096 / 8  # key-value heads: four on eight ranks
    assert gib(dp, Component.WEIGHTS) - gib(tp, Component.WEIGHTS) == pytest.approx(
        ((attention + embedding) * 7 / 8 - kept_twice) * 1.005 / GIB, rel=0.02
    )
    assert (dp.ranks[0].count, dp.ranks[0].rank) == (8, "TP 0, DP 0-7")


def test_copies_of_the_whole_model_are_of_one_size_whatever_their_number():
    one, two = sized(plan(LLAMA_8B, "2xh100", "--tp 1")), sized(plan(LLAMA_8B, "2xh100", "--tp 1 --dp 2"))
    assert one.kv_tokens == two.kv_tokens
    assert (one.ranks[0].count, two.ranks[0].count) == (1, 2)


@pytest.mark.parametrize(
    ("words", "named", "rest"),
    [
        ("--tp 4 --context-length 8192", {"tp": 4, "context": 8192}, ()),
        ("--tensor-parallel-size=2 --data-parallel-size 2", {"tp": 2, "dp": 2}, ()),
        ("--tp 8 --dp 4 --enable-dp-attention", {"tp": 2, "dp": 4}, ("--enable-dp-attention=true",)),
        ("--tp-size 8 --ep-size 8 --trust-remote-code", {"tp": 8, "ep": 1}, ("--trust-remote-code=true",)),
        ("--cuda-graph-bs 1 2 4 --chunked-prefill-size -1", {}, ("--cuda-graph-bs=1 2 4", "--chunked-prefill-size=-1")),
    ],
)
def test_flags_say_how_the_model_is_spread(words: str, named: dict[str, int], rest: tuple[str, ...]):
    assert MODEL.spread_in(tuple(words.split())) == (named, rest)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--tp 8 --dp 3 --enable-dp-attention", "cannot be split"),
        ("--mem-fraction-static 1.2", "mem-fraction-static"),
        ("--kv-cache-dtype fp4_e2m1", "not modelled"),
        ("--dtype int3", "dtype"),
        ("--mamba-full-memory-ratio 0", "mamba-full-memory-ratio"),
        ("stray", "no flag"),
        ("--tp 3", "cannot be"),
    ],
)
def test_flags_that_sglang_refuses_are_refused(words: str, problem: str):
    with pytest.raises(InputError, match=problem):
        sized(plan(LLAMA_8B, "8xh100", words))


def test_more_ranks_than_gpus_are_refused():
    with pytest.raises(InputError, match="2 ranks on the 1 GPUs"):
        sized(plan(LLAMA_8B, "1xh100", "--tp 2"))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--quantization bitsandbytes", "bitsandbytes"),
        ("--load-format gguf", "gguf"),
        ("--tp 2 --dcp-size 2", "dcp-size"),
        ("""--json-model-override-args {"num_hidden_layers":2}""", "json-model-override-args"),
    ],
)
def test_what_is_not_modelled_is_unknown_and_says_what(words: str, named: str):
    found = budget(plan(LLAMA_8B, "2xh100", words))
    assert isinstance(found, Unknown)
    assert named in found.reason


@pytest.mark.parametrize(
    "words", ["--lora-paths a=b", "--speculative-algorithm EAGLE --speculative-draft-model-path x"]
)
def test_what_takes_more_than_is_counted_proves_nothing(words: str):
    assert isinstance(fit(sized(plan(LLAMA_8B))).verdict, Proven)
    assert fit(sized(plan(LLAMA_8B, words=words))).state is State.UNKNOWN


def test_what_is_not_described_is_unknown():
    v4 = replace(LLAMA_8B, config={**LLAMA_8B.config, "model_type": "deepseek_v4"})
    index = replace(LLAMA_8B, basis=Basis.INDEX)
    assert all(isinstance(budget(plan(of)), Unknown) for of in (v4, index))
    assert "0.5.3 was not read" in sized(plan(LLAMA_8B, version="0.5.3")).notes[0]


def test_a_limit_of_tokens_holds_and_pages_are_whole():
    answer = sized(plan(LLAMA_8B, words="--max-total-tokens 10001 --page-size 64"))
    assert answer.kv_tokens == 9984


@settings(max_examples=40, deadline=None)
@given(fraction=st.integers(40, 95), more=st.integers(1, 4), tp=st.sampled_from((1, 2, 4, 8)))
def test_a_larger_fraction_holds_no_fewer_tokens(fraction: int, more: int, tp: int):
    def tokens(percent: int) -> int:
        return sized(plan(LLAMA_8B, "8xh100", f"--tp {tp} --mem-fraction-static {percent / 100}")).kv_tokens or 0

    assert tokens(min(fraction + more, 99)) >= tokens(fraction)


@settings(max_examples=30, deadline=None)
@given(tp=st.sampled_from((1, 2, 4, 8)), pp=st.sampled_from((1, 2, 4)), dp=st.sampled_from((1, 2)), ep=st.booleans())
def test_on_all_ranks_together_the_weights_are_what_is_stored_repeated_and_added(
    tp: int, pp: int, dp: int, *, ep: bool
):
    words = f"--tp {tp * dp} --pp {pp} --dp {dp} --enable-dp-attention" + (f" --ep-size {tp * dp}" if ep else "")
    answer = sized(plan(QWEN3_235B_FP8, "8x8xh200", words))
    each = sum(rank.count * rank.figure(Component.WEIGHTS).low.count for rank in answer.ranks)
    assert each == answer.stored.count + answer.replicated.count + answer.added
