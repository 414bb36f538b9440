"""What is asked for and not modelled never proves that a plan fits."""

from dataclasses import replace

import pytest
from tests.engines.vllm.memory.models import QWEN3_8B, dense

from dayzero.core.errors import InputError
from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.engines.vllm.memory.budget import budget
from dayzero.engines.vllm.memory.flags import read_flags
from dayzero.fit.check import fit
from dayzero.fit.checkpoint import Checkpoint
from dayzero.fit.model import FitPlan, Report

FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


def answered(*flags: str, model: Checkpoint | None = None) -> Report:
    asked = FitPlan(
        checkpoint=model or dense(),
        system=parse_system("1xh200"),
        parallelism=Parallelism(),
        version="0.27.1",
        flags=flags,
    )
    return fit(budget(asked))


@pytest.mark.parametrize(
    "flags",
    [
        ("--enable-lora", "--max-loras=8"),
        ("--speculative-config", '{"method": "eagle3", "model": "x/y", "num_speculative_tokens": 3}'),
        ("--kv-cache-dtype=nvfp4",),
        ("--hf-overrides", '{"num_hidden_layers": 4}'),
        ("--load-format=bitsandbytes",),
        ("--quantization=bitsandbytes",),
        ("-dcp", "2"),
    ],
)
def test_what_is_not_modelled_is_undecided(flags: tuple[str, ...]):
    assert isinstance(answered().verdict, Proven)
    assert isinstance(answered(*flags).verdict, Undecided)


def test_more_than_is_counted_still_does_not_fit_where_what_is_counted_does_not():
    assert isinstance(answered("--enable-lora", "--gpu-memory-utilization=0.1").verdict, Refuted)


@pytest.mark.parametrize(
    ("word", "agrees"), [("fp8", True), ("deepseek_v4_fp8", True), ("awq", False), ("gptq", False)]
)
def test_a_quantisation_that_is_not_the_checkpoints_is_undecided(word: str, agrees: bool):  # noqa: FBT001 - a table
    model = dense()
    quantised = replace(model, config={**model.config, "quantization_config": FP8})
    assert isinstance(answered(f"--quantization={word}", model=quantised).verdict, Undecided) is not agrees


@pytest.mark.parametrize("flags", ["--num-gpu-blocks-override=10", "--kv-cache-memory-bytes=1G"])
def test_a_stated_cache_that_holds_no_whole_request_does_not_fit(flags: str):
    assert isinstance(answered(flags).verdict, Refuted)
    assert isinstance(answered("--kv-cache-memory-bytes=10G").verdict, Proven)


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("--gpu-mem=0.1", "gpu-memory-utilization", "0.1"),
        ("--gpu_memory_util=0.1", "gpu-memory-utilization", "0.1"),
        ("--enforce", "enforce-eager", "true"),
        ("-O.level=0", "compilation-config.level", "0"),
        ("-cc.cudagraph_mode=NONE", "compilation-config.cudagraph_mode", "NONE"),
        ("--seed=0", "seed", "0"),
    ],
)
def test_a_shortened_flag_is_the_one_that_argparse_takes_it_for(word: str, name: str, value: str):
    assert read_flags((word,)).values == {name: value}


def test_a_flag_that_may_be_several_is_refused():
    with pytest.raises(InputError, match="--max-num-batched-tokens or --max-num-seqs"):
        read_flags(("--max-num=4",))


def test_an_older_compilation_level_is_a_whole_number():
    assert read_flags(("--compilation-config=0",)).table("compilation-config") == {"level": 0}


def test_kinds_of_fewer_layers_than_there_are_and_heads_that_cannot_share_are_refused():
    short = {**QWEN3_8B, "layer_types": ["full_attention"]}
    with pytest.raises(InputError, match="kinds of 1 layers, and has 36"):
        answered(model=replace(dense(), config=short))
    with pytest.raises(InputError, match="cannot share 7"):
        answered(model=dense(num_key_value_heads=7))
