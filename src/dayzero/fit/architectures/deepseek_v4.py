"""DeepSeek-V4: latent attention over compressed keys, four residual streams, experts stored in four bits.

Source: vllm 0.32.0, models/deepseek_v4/nvidia/{model,mtp}.py and transformers 5.19.0, models/deepseek_v4 (shapes).
"""

from collections.abc import Iterator

from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import NUMBERED, Names, Role, Weight, experts, gated, linear, norm, router

_RATIOS = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_OVERLAPPED = 4  # this ratio compresses overlapping windows, twice as wide, and carries the indexer


def _ratio(fields: Fields, layer: int) -> int:
    ratios, kinds = fields.numbers("compress_ratios"), fields.words("layer_types")
    if layer < len(ratios):
        return ratios[layer]
    if layer < len(kinds) and kinds[layer] in _RATIOS:
        return _RATIOS[kinds[layer]]
    raise fields.error("compress_ratios", f"does not say what layer {layer} is")


def _compressor(fields: Fields, at: str, ratio: int, width: int) -> Iterator[Weight]:
    hidden, wide = fields.whole("hidden_size"), (2 if ratio == _OVERLAPPED else 1) * width
    yield Weight(f"{at}compressor.ape", (ratio, wide), dtype="F32")
    yield from linear(f"{at}compressor.wkv", wide, hidden, role=Role.OTHER)
    yield from linear(f"{at}compressor.wgate", wide, hidden, role=Role.OTHER)
    yield from norm(f"{at}compressor.norm", width)


def _attention(fields: Fields, stem: str, ratio: int) -> Iterator[Weight]:
    hidden, heads, width = fields.whole("hidden_size"), fields.whole("num_attention_heads"), fields.whole("head_dim")
    latent, groups, out = fields.whole("q_lora_rank"), fields.whole("o_groups"), fields.whole("o_lora_rank")
    if heads * width % groups:
        raise fields.error("o_groups", f"does not divide the heads' width: {heads * width} by {groups}")
    at = f"{stem}attn."
    yield Weight(f"{at}attn_sink", (heads,), dtype="F32")
    yield from linear(f"{at}wq_a", latent, hidden)
    yield from norm(f"{at}q_norm", latent)
    yield from linear(f"{at}wq_b", heads * width, latent)
    yield from linear(f"{at}wkv", width, hidden)
    yield from norm(f"{at}kv_norm", width)
    yield from linear(f"{at}wo_a", groups * out, heads * width // groups)
    yield from linear(f"{at}wo_b", hidden, groups * out)
    if ratio:
        yield from _compressor(fields, at, ratio, width)
    if ratio == _OVERLAPPED:
        of_index, index = fields.whole("index_n_heads"), fields.whole("index_head_dim")
        yield from linear(f"{at}indexer.wq_b", of_index * index, latent)
        yield from linear(f"{at}indexer.weights_proj", of_index, hidden, role=Role.OTHER)
        yield from _compressor(fields, f"{at}indexer.", ratio, index)


def _hashed(fields: Fields, layer: int) -> bool:
    kinds = fields.words("mlp_layer_types")
    return (
        kinds[layer] == "hash_moe"
        if layer < len(kinds)
        else layer < fields.whole("num_hash_layers", default=0, least=0)
    )


def _experts(fields: Fields, stem: str, *, hashed: bool) -> Iterator[Weight]:
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("n_routed_experts"),
        fields.whole("moe_intermediate_size"),
    )
    at = f"{stem}ffn."
    yield from router(f"{at}gate", count, hidden)
    if hashed:
        chosen = (fields.whole("vocab_size"), fields.whole("num_experts_per_tok"))
        yield Weight(f"{at}gate.tid2eid", chosen, dtype="I64")
    else:
        yield Weight(f"{at}gate.bias", (count,), dtype="F32")
    yield from experts(f"{at}experts", count, hidden, width, names=NUMBERED)
    shared = fields.whole("n_shared_experts", default=1, least=0)
    if shared:
        yield from gated(f"{at}shared_experts", hidden, shared * width, names=NUMBERED)


def _streams(fields: Fields, at: str, rows: int, scales: int) -> Iterator[Weight]:
    wide = fields.whole("hc_mult") * fields.whole("hidden_size")
    yield Weight(f"{at}_fn", (rows, wide), dtype="F32")
    yield Weight(f"{at}_base", (rows,), dtype="F32")
    yield Weight(f"{at}_scale", (scales,), dtype="F32")


def _layer(fields: Fields, stem: str, layer: int) -> Iterator[Weight]:
    streams, hidden = fields.whole("hc_mult"), fields.whole("hidden_size")
    yield from _attention(fields, stem, _ratio(fields, layer))
    yield from _experts(fields, stem, hashed=_hashed(fields, layer))
    for part in ("attn", "ffn"):
        yield from norm(f"{stem}{part}_norm", hidden)
        yield from _streams(fields, f"{stem}hc_{part}", streams * (streams + 2), 3)


def _text(fields: Fields, names: Names) -> Iterator[Weight]:
    del names
    hidden, vocabulary, streams = fields.whole("hidden_size"), fields.whole("vocab_size"), fields.whole("hc_mult")
    layers = fields.layers()
    yield Weight("embed.weight", (vocabulary, hidden))
    for layer in range(layers):
        yield from _layer(fields, f"layers.{layer}.", layer)
    yield from norm("norm", hidden)
    yield from _streams(fields, "hc_head", streams, 1)
    yield from linear("head", vocabulary, hidden, role=Role.HEAD)
    for draft in range(fields.whole("num_nextn_predict_layers", default=0, least=0)):
        stem = f"mtp.{draft}."
        yield from _layer(fields, stem, layers + draft)
        for name in ("enorm", "hnorm", "norm"):
            yield from norm(stem + name, hidden)
        yield from linear(f"{stem}e_proj", hidden, hidden)
        yield from linear(f"{stem}h_proj", hidden, hidden)
        yield from _streams(fields, f"{stem}hc_head", streams, 1)


FAMILIES = (Family("DeepseekV4ForCausalLM", ("deepseek_v4",), _text, drafts=True),)
