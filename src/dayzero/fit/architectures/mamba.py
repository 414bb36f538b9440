"""State-space layers, alone or beside attention: Mamba, Mamba-2, Jamba, Nemotron-H, Granite 4, Falcon-H1, Bamba."""

from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.fit.architectures.decoder import LLAMA, Style, attention, decoder, dense, feed_forward, output_head
from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.moe import granite_feed
from dayzero.fit.architectures.weights import Names, Weight, experts, linear, norm, router

_STATE_LAYERS = frozenset(("mamba", "linear_attention"))
_NEMOTRON_KINDS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixer2:
    """Widths of a Mamba-2 mixer: inner width, heads, groups, state, taps of the convolution."""

    inner: int
    heads: int
    groups: int
    state: int
    taps: int

    def weights(self, at: str, hidden: int, *, bias: bool, conv_bias: bool, gate_norm: bool) -> Iterator[Weight]:
        """List its parameters under a prefix."""
        mixed = self.inner + 2 * self.groups * self.state
        yield from linear(f"{at}in_proj", self.inner + mixed + self.heads, hidden, bias=bias)
        yield Weight(f"{at}conv1d.weight", (mixed, 1, self.taps))
        if conv_bias:
            yield Weight(f"{at}conv1d.bias", (mixed,))
        for name in ("A_log", "D", "dt_bias"):
            yield Weight(f"{at}{name}", (self.heads,))
        if gate_norm:
            yield from norm(f"{at}norm", self.inner)
        yield from linear(f"{at}out_proj", hidden, self.inner, bias=bias)


def _mixer1(  # noqa: PLR0913  (the four widths of a mixer)
    fields: Fields, at: str, *, inner: int, rank: int, state: int, taps: int
) -> Iterator[Weight]:
    hidden, bias = fields.whole("hidden_size"), fields.flag("mamba_proj_bias") or fields.flag("use_bias")
    yield from linear(f"{at}in_proj", 2 * inner, hidden, bias=bias)
    yield Weight(f"{at}conv1d.weight", (inner, 1, taps))
    if fields.flag("mamba_conv_bias", default=True) and fields.flag("use_conv_bias", default=True):
        yield Weight(f"{at}conv1d.bias", (inner,))
    yield from linear(f"{at}x_proj", rank + 2 * state, inner)
    yield from linear(f"{at}dt_proj", inner, rank, bias=True)
    yield Weight(f"{at}A_log", (inner, state))
    yield Weight(f"{at}D", (inner,))
    yield from linear(f"{at}out_proj", hidden, inner, bias=bias)


def _rank(fields: Fields, name: str) -> int:
    hidden = fields.whole("hidden_size")
    return -(-hidden // 16) if fields.values.get(name) == "auto" else fields.whole(name)


def _backbone(fields: Fields, names: Names, *, second: bool) -> Iterator[Weight]:
    hidden = fields.whole("hidden_size")
    yield Weight("backbone.embeddings.weight", (fields.whole("vocab_size"), hidden))
    inner = fields.whole("intermediate_size", default=hidden * fields.whole("expand", default=2))
    taps, state = fields.whole("conv_kernel", default=4), fields.whole("state_size")
    for layer in range(fields.layers()):
        stem = f"backbone.layers.{layer}."
        yield from norm(f"{stem}norm", hidden)
        if second:
            heads, groups = fields.whole("num_heads"), fields.whole("n_groups")
            inner = hidden * fields.whole("expand", default=2)
            mixer = Mixer2(inner=inner, heads=heads, groups=groups, state=state, taps=taps)
            conv_bias = fields.flag("use_conv_bias", default=True)
            yield from mixer.weights(
                f"{stem}mixer.", hidden, bias=fields.flag("use_bias"), conv_bias=conv_bias, gate_norm=True
            )
        else:
            rank = _rank(fields, "time_step_rank")
            yield from _mixer1(fields, f"{stem}mixer.", inner=inner, rank=rank, state=state, taps=taps)
    yield from norm("backbone.norm_f", hidden)
    yield from output_head(fields, names, Style(tied=not second))


def _mamba(fields: Fields, names: Names) -> Iterator[Weight]:
    return _backbone(fields, names, second=False)


def _mamba2(fields: Fields, names: Names) -> Iterator[Weight]:
    return _backbone(fields, names, second=True)


def _periodic(fields: Fields, of: str, layer: int, period: int, offset: int) -> bool:
    period, offset = (
        fields.whole(f"{of}_layer_period", default=period),
        fields.whole(f"{of}_layer_offset", default=offset, least=0),
    )
    return layer % period == offset


def _jamba_mixer(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    if _periodic(fields, "attn", layer, 8, 4):
        yield from attention(fields, style, stem, layer)
        return
    inner, state = fields.whole("hidden_size") * fields.whole("mamba_expand"), fields.whole("mamba_d_state")
    rank, at = _rank(fields, "mamba_dt_rank"), f"{stem}mamba."
    yield from _mixer1(fields, at, inner=inner, rank=rank, state=state, taps=fields.whole("mamba_d_conv"))
    for name, width in (("dt", rank), ("b", state), ("c", state)):
        yield from norm(f"{at}{name}_layernorm", width)


def _jamba_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    count, hidden = fields.whole("num_experts"), fields.whole("hidden_size")
    if count == 1 or not _periodic(fields, "expert", layer, 2, 1):
        yield from feed_forward(fields, style, stem, layer)
        return
    yield from router(f"{stem}feed_forward.router", count, hidden)
    yield from experts(f"{stem}feed_forward.experts", count, hidden, fields.whole("intermediate_size"))


def _jamba(fields: Fields, names: Names) -> Iterator[Weight]:
    style = Style(norms=("input_layernorm", "pre_ff_layernorm"), mlp="feed_forward", final_norm="final_layernorm")
    return decoder(fields, names, style, mixer=_jamba_mixer, feed=_jamba_feed)


def _mamba_part(fields: Fields, stem: str, *, gate_norm: bool = True) -> Iterator[Weight]:
    """Give a Mamba-2 mixer as Bamba names its fields, which Granite 4 and Falcon-H1 took over."""
    hidden = fields.whole("hidden_size")
    mixer = Mixer2(
        inner=fields.whole("mamba_d_ssm", default=hidden * fields.whole("mamba_expand", default=2)),
        heads=fields.whole("mamba_n_heads"),
        groups=fields.whole("mamba_n_groups"),
        state=fields.whole("mamba_d_state"),
        taps=fields.whole("mamba_d_conv"),
    )
    bias, conv_bias = fields.flag("mamba_proj_bias"), fields.flag("mamba_conv_bias", default=True)
    return mixer.weights(f"{stem}mamba.", hidden, bias=bias, conv_bias=conv_bias, gate_norm=gate_norm)


def _granite_mixer(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    kinds = fields.words("layer_types")
    if len(kinds) <= layer:
        raise fields.error("layer_types", f"does not say what layer {layer} is")
    yield from (_mamba_part(fields, stem) if kinds[layer] in _STATE_LAYERS else attention(fields, style, stem, layer))


def _granite(fields: Fields, names: Names) -> Iterator[Weight]:
    return decoder(fields, names, LLAMA, mixer=_granite_mixer, feed=granite_feed)


def _bamba_mixer(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    whole = layer in fields.numbers("attn_layer_indices")
    yield from attention(fields, style, stem, layer) if whole else _mamba_part(fields, stem)


def _falcon_h1_mixer(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    yield from attention(fields, style, stem, layer)
    yield from _mamba_part(fields, stem, gate_norm=fields.flag("mamba_rms_norm"))


def _hybrid_style() -> Style:
    return Style(
        bias="attention_bias",
        out_bias="attention_bias",
        mlp="feed_forward",
        mlp_bias="mlp_bias",
        norms=("input_layernorm", "pre_ff_layernorm"),
        final_norm="final_layernorm",
    )


def _bamba(fields: Fields, names: Names) -> Iterator[Weight]:
    return decoder(fields, names, _hybrid_style(), mixer=_bamba_mixer)


def _falcon_h1(fields: Fields, names: Names) -> Iterator[Weight]:
    return decoder(fields, names, _hybrid_style(), mixer=_falcon_h1_mixer)


def _nemotron_kinds(fields: Fields) -> tuple[str, ...]:
    pattern = fields.word("hybrid_override_pattern", "")
    kinds = tuple(_NEMOTRON_KINDS.get(letter, letter) for letter in pattern) or fields.words("layers_block_type")
    if not kinds:
        raise fields.error("hybrid_override_pattern or layers_block_type", "is missing")
    return kinds


def _nemotron_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("n_routed_experts"),
        fields.whole("moe_intermediate_size"),
    )
    latent = fields.whole("moe_latent_size", default=hidden)
    yield from router(f"{stem}gate", count, hidden)
    yield Weight(f"{stem}gate.e_score_correction_bias", (count,), dtype="F32")
    yield from experts(f"{stem}experts", count, latent, width, gate=False)
    shared = fields.whole("n_shared_experts", default=0, least=0)
    if shared:
        each = fields.whole("moe_shared_expert_intermediate_size", default=width)
        yield from linear(f"{stem}shared_experts.up_proj", shared * each, hidden)
        yield from linear(f"{stem}shared_experts.down_proj", hidden, shared * each)
    if latent != hidden:
        yield from linear(f"{stem}fc1_latent_proj", latent, hidden)
        yield from linear(f"{stem}fc2_latent_proj", hidden, latent)


def _nemotron_layer(fields: Fields, stem: str, kind: str, layer: int) -> Iterator[Weight]:
    hidden, at = fields.whole("hidden_size"), f"{stem}mixer."
    style = Style(attention="mixer", bias="attention_bias", out_bias="attention_bias")
    if kind in _STATE_LAYERS:
        heads = fields.whole("mamba_num_heads")
        mixer = Mixer2(
            inner=heads * fields.whole("mamba_head_dim"),
            heads=heads,
            groups=fields.whole("n_groups"),
            state=fields.whole("ssm_state_size"),
            taps=fields.whole("conv_kernel"),
        )
        conv_bias = fields.flag("use_conv_bias", default=True)
        yield from mixer.weights(at, hidden, bias=fields.flag("use_bias"), conv_bias=conv_bias, gate_norm=True)
    elif kind in {"attention", "full_attention"}:
        yield from attention(fields, style, stem, layer)
    elif kind == "mlp":
        squared = Style(mlp_names=("up_proj", "down_proj"), mlp_bias="mlp_bias")
        yield from dense(fields, squared, f"{stem}mixer", fields.whole("intermediate_size"))
    elif kind == "moe":
        yield from _nemotron_experts(fields, at)
    else:
        raise fields.error("hybrid_override_pattern", f"names an unknown kind of layer: {kind:.20}")


def _nemotron_h(fields: Fields, names: Names) -> Iterator[Weight]:
    hidden = fields.whole("hidden_size")
    yield Weight("backbone.embeddings.weight", (fields.whole("vocab_size"), hidden))
    for layer, kind in enumerate(_nemotron_kinds(fields)):
        stem = f"backbone.layers.{layer}."
        yield from norm(f"{stem}norm", hidden)
        yield from _nemotron_layer(fields, stem, kind, layer)
    yield from norm("backbone.norm_f", hidden)
    yield from output_head(fields, names, Style())


def _short_convolution(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    kinds, hidden = fields.words("layer_types"), fields.whole("hidden_size")
    whole = kinds[layer] == "full_attention" if layer < len(kinds) else layer in fields.numbers("full_attn_idxs")
    if whole:
        yield from attention(fields, style, stem, layer)
        return
    bias = fields.flag("conv_bias")
    yield Weight(f"{stem}conv.conv.weight", (hidden, 1, fields.whole("conv_L_cache")))
    if bias:
        yield Weight(f"{stem}conv.conv.bias", (hidden,))
    yield from linear(f"{stem}conv.in_proj", 3 * hidden, hidden, bias=bias)
    yield from linear(f"{stem}conv.out_proj", hidden, hidden, bias=bias)


def _lfm2_width(fields: Fields) -> int:
    """Give the feed-forward's width: two thirds of what is stated, rounded up, where the model adjusts it itself."""
    width = fields.whole("intermediate_size", "block_ff_dim")
    if not fields.flag("block_auto_adjust_ff_dim", default=True) or fields.has("num_experts"):
        return width
    multiple = fields.whole("block_multiple_of", default=256)
    scale = fields.number("block_ffn_dim_multiplier") if fields.has("block_ffn_dim_multiplier") else 1.0
    return -(-int(scale * int(2 * width / 3)) // multiple) * multiple


def _lfm2_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    if not fields.has("num_experts") or layer < fields.whole("num_dense_layers", default=0, least=0):
        yield from dense(fields, style, f"{stem}feed_forward", _lfm2_width(fields))
        return
    hidden, count, at = fields.whole("hidden_size"), fields.whole("num_experts"), f"{stem}feed_forward."
    yield from router(f"{at}gate", count, hidden)
    if fields.flag("use_expert_bias", default=True):
        yield Weight(f"{at}expert_bias", (count,), dtype="F32")
    yield from experts(f"{at}experts", count, hidden, fields.whole("moe_intermediate_size"), names=("w1", "w3", "w2"))


def _lfm2(fields: Fields, names: Names) -> Iterator[Weight]:
    style = Style(
        out="out_proj",
        qk_norm="yes",
        qk_norm_names=("q_layernorm", "k_layernorm"),
        norms=("operator_norm", "ffn_norm"),
        mlp_names=("w1", "w3", "w2"),
        final_norm="embedding_norm",
        tied=True,
    )
    return decoder(fields, names, style, mixer=_short_convolution, feed=_lfm2_feed)


FAMILIES = (
    Family("MambaForCausalLM", ("mamba",), _mamba),
    Family("Mamba2ForCausalLM", ("mamba2",), _mamba2),
    Family("JambaForCausalLM", ("jamba",), _jamba),
    Family("NemotronHForCausalLM", ("nemotron_h",), _nemotron_h),
    Family("GraniteMoeHybridForCausalLM", ("granitemoehybrid",), _granite),
    Family("FalconH1ForCausalLM", ("falcon_h1",), _falcon_h1),
    Family("BambaForCausalLM", ("bamba",), _bamba),
    Family("Lfm2ForCausalLM", ("lfm2",), _lfm2),
    Family("Lfm2MoeForCausalLM", ("lfm2_moe",), _lfm2),
)
