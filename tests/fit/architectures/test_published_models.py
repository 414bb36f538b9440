"""Real models, held to what their publishers count."""

import json
from pathlib import Path

import pytest
from tests.fit.architectures.published import PUBLISHED

from dayzero.fit.architectures import checkpoint_of, known_architectures, logical_parameters
from dayzero.fit.checkpoint import Basis, Checkpoint

_KIMI_K3 = Path(__file__).parents[4] / "shared" / "models" / "kimi-k3" / "config.json"
_GB = 10**9


def _told(config: dict[str, object]) -> Checkpoint:
    told = checkpoint_of(config)
    assert isinstance(told, Checkpoint), told
    return told


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_that_the_publisher_counts(name: str) -> None:
    published = PUBLISHED[name]
    counted = logical_parameters(published.config)
    assert isinstance(counted, int)
    assert abs(counted - published.parameters) <= published.within * published.parameters


# Sizes of all shards together, as the hub lists the files.
@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [("gpt-oss-20b", 13.76), ("gpt-oss-120b", 65.25), ("DeepSeek-V3", 688.6), ("Qwen3-8B", 16.38)],
)
def test_bytes_are_those_of_the_published_files(name: str, gigabytes: float) -> None:
    assert _told(PUBLISHED[name].config).size.count / _GB == pytest.approx(gigabytes, rel=0.001)


def test_kimi_k3_is_within_one_percent_of_its_published_size() -> None:
    if not _KIMI_K3.exists():
        pytest.skip("the shared configuration of Kimi-K3 does not lie beside the checkout")
    told = _told(json.loads(_KIMI_K3.read_text()))
    assert told.size.count == pytest.approx(1.56e12, rel=0.01)
    assert told.basis is Basis.CONFIG
    by_name = {tensor.name: tensor for tensor in told.tensors}
    packed = by_name["language_model.model.layers.7.block_sparse_moe.experts.*.w1.weight_packed"]
    assert (packed.shape, packed.dtype, packed.count, packed.layer) == ((3072, 1792), "U8", 896, 7)
    assert by_name["language_model.model.layers.6.self_attn.q_proj.weight"].dtype == "BF16"
    assert by_name["language_model.model.layers.7.block_sparse_moe.routed_expert_up_proj.weight"].dtype == "BF16"


def test_every_known_architecture_is_held_to_something() -> None:
    saved = json.loads(Path(__file__).with_name("saved.json").read_text())
    held = {record["config"]["architectures"][0] for record in saved.values()}
    held |= {str(published.config["architectures"][0]) for published in PUBLISHED.values()}  # type: ignore[index]
    # Other names of a family that is held, and models that transformers does not have.
    alone = {
        "Ernie4_5_MoEForCausalLM",
        "KimiK25ForConditionalGeneration",
        "MiniMaxM1ForCausalLM",
        "MiniMaxText01ForCausalLM",
    }
    alone |= {"Qwen3VLMoeTextModel", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "PhimoeForCausalLM"}
    alone |= {
        "KimiK3ForConditionalGeneration",
        "KimiVLForConditionalGeneration",
        "MiMoForCausalLM",
        "InternLM3ForCausalLM",
    }
    assert set(known_architectures()) - held <= alone
