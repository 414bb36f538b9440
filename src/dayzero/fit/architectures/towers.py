"""Vision towers and what joins them to a language model."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import Weight, gated, linear, norm

Tower: TypeAlias = Callable[[Fields, Fields], Iterator[Weight]]
"""Lists a tower from the whole configuration and the part of it that describes the language model."""


def _layer_norm(module: str, width: int) -> Iterator[Weight]:
    return norm(module, width, bias=True)


def siglip(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give SigLIP without its pooling head, and the projector of Gemma 3."""
    vision = top.part("vision_config", "siglip_vision_model")
    hidden, width, patch = vision.whole("hidden_size"), vision.whole("intermediate_size"), vision.whole("patch_size")
    root = "vision_tower.vision_model."
    yield Weight(
        f"{root}embeddings.patch_embedding.weight", (hidden, vision.whole("num_channels", default=3), patch, patch)
    )
    yield Weight(f"{root}embeddings.patch_embedding.bias", (hidden,))
    positions = (vision.whole("image_size") // patch) ** 2
    yield Weight(f"{root}embeddings.position_embedding.weight", (positions, hidden))
    for layer in range(vision.layers()):
        stem = f"{root}encoder.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            yield from linear(f"{stem}self_attn.{name}", hidden, hidden, bias=True)
        yield from linear(f"{stem}mlp.fc1", width, hidden, bias=True)
        yield from linear(f"{stem}mlp.fc2", hidden, width, bias=True)
        yield from _layer_norm(f"{stem}layer_norm1", hidden)
        yield from _layer_norm(f"{stem}layer_norm2", hidden)
    yield from _layer_norm(f"{root}post_layernorm", hidden)
    yield Weight("multi_modal_projector.mm_input_projection_weight", (hidden, text.whole("hidden_size")))
    yield from norm("multi_modal_projector.mm_soft_emb_norm", hidden)


def pixtral(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give Pixtral's tower and the projector, with the patch merger of Mistral 3 where that is who has it."""
    vision = top.part("vision_config", "pixtral")
    hidden, width, patch = vision.whole("hidden_size"), vision.whole("intermediate_size"), vision.whole("patch_size")
    root, out = "vision_tower.", text.whole("hidden_size")
    yield Weight(f"{root}patch_conv.weight", (hidden, vision.whole("num_channels", default=3), patch, patch))
    yield from norm(f"{root}ln_pre", hidden)
    for layer in range(vision.layers()):
        stem = f"{root}transformer.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            yield from linear(f"{stem}attention.{name}", hidden, hidden)
        yield from gated(f"{stem}feed_forward", hidden, width)
        yield from norm(f"{stem}attention_norm", hidden)
        yield from norm(f"{stem}ffn_norm", hidden)
    merges = top.has("spatial_merge_size")
    bias = top.flag("multimodal_projector_bias", default=not merges)
    if merges:
        merge = top.whole("spatial_merge_size")
        yield from norm("multi_modal_projector.norm", hidden)
        yield from linear("multi_modal_projector.patch_merger.merging_layer", hidden, hidden * merge * merge)
    yield from linear("multi_modal_projector.linear_1", out, hidden, bias=bias)
    yield from linear("multi_modal_projector.linear_2", out, out, bias=bias)


def llama4(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give Llama 4's tower, its adapter and the projector."""
    vision = top.part("vision_config", "llama4_vision_model")
    hidden, width, patch = vision.whole("hidden_size"), vision.whole("intermediate_size"), vision.whole("patch_size")
    root, out = "vision_model.", vision.whole("projector_output_dim")
    yield Weight(f"{root}class_embedding", (hidden,))
    yield Weight(f"{root}positional_embedding_vlm", ((vision.whole("image_size") // patch) ** 2 + 1, hidden))
    yield from linear(f"{root}patch_embedding.linear", hidden, vision.whole("num_channels", default=3) * patch * patch)
    for name in ("layernorm_pre", "layernorm_post"):
        yield from _layer_norm(root + name, hidden)
    for layer in range(vision.layers()):
        stem = f"{root}model.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            yield from linear(f"{stem}self_attn.{name}", hidden, hidden, bias=True)
        yield from linear(f"{stem}mlp.fc1", width, hidden, bias=True)
        yield from linear(f"{stem}mlp.fc2", hidden, width, bias=True)
        yield from _layer_norm(f"{stem}input_layernorm", hidden)
        yield from _layer_norm(f"{stem}post_attention_layernorm", hidden)
    shuffled = round(hidden / vision.number("pixel_shuffle_ratio") ** 2)
    yield from linear(f"{root}vision_adapter.mlp.fc1", vision.whole("projector_input_dim"), shuffled)
    yield from linear(f"{root}vision_adapter.mlp.fc2", out, vision.whole("projector_input_dim"))
    yield from linear("multi_modal_projector.linear_1", text.whole("hidden_size"), vision.whole("vision_output_dim"))


def _qwen_patches(vision: Fields, root: str, hidden: int, *, bias: bool) -> Iterator[Weight]:
    patch, channels = vision.whole("patch_size"), vision.whole("in_channels", "in_chans", default=3)
    shape = (hidden, channels, vision.whole("temporal_patch_size", default=2), patch, patch)
    yield Weight(f"{root}patch_embed.proj.weight", shape)
    if bias:
        yield Weight(f"{root}patch_embed.proj.bias", (hidden,))


def _qwen_attention(stem: str, hidden: int, *, bias: bool = True) -> Iterator[Weight]:
    yield from linear(f"{stem}attn.qkv", 3 * hidden, hidden, bias=bias)
    yield from linear(f"{stem}attn.proj", hidden, hidden, bias=bias)


def qwen2_vl(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give the tower of Qwen2-VL."""
    vision = top.part("vision_config", "qwen2_vl_vision")
    hidden, merged = vision.whole("embed_dim"), vision.whole("spatial_merge_size", default=2) ** 2
    width, root = round(hidden * vision.number("mlp_ratio")), "visual."
    yield from _qwen_patches(vision, root, hidden, bias=False)
    for layer in range(vision.layers("depth")):
        stem = f"{root}blocks.{layer}."
        yield from _qwen_attention(stem, hidden)
        yield from linear(f"{stem}mlp.fc1", width, hidden, bias=True)
        yield from linear(f"{stem}mlp.fc2", hidden, width, bias=True)
        yield from _layer_norm(f"{stem}norm1", hidden)
        yield from _layer_norm(f"{stem}norm2", hidden)
    yield from _layer_norm(f"{root}merger.ln_q", hidden)
    yield from linear(f"{root}merger.mlp.0", merged * hidden, merged * hidden, bias=True)
    yield from linear(f"{root}merger.mlp.2", text.whole("hidden_size"), merged * hidden, bias=True)


def qwen2_5_vl(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give the tower of Qwen2.5-VL."""
    vision = top.part("vision_config", "qwen2_5_vl_vision")
    hidden, merged = vision.whole("hidden_size"), vision.whole("spatial_merge_size", default=2) ** 2
    width, root = vision.whole("intermediate_size"), "visual."
    yield from _qwen_patches(vision, root, hidden, bias=False)
    for layer in range(vision.layers("depth")):
        stem = f"{root}blocks.{layer}."
        yield from _qwen_attention(stem, hidden)
        yield from gated(f"{stem}mlp", hidden, width, bias=True)
        yield from norm(f"{stem}norm1", hidden)
        yield from norm(f"{stem}norm2", hidden)
    yield from norm(f"{root}merger.ln_q", hidden)
    yield from linear(f"{root}merger.mlp.0", merged * hidden, merged * hidden, bias=True)
    out = vision.whole("out_hidden_size", default=text.whole("hidden_size"))
    yield from linear(f"{root}merger.mlp.2", out, merged * hidden, bias=True)


def qwen3_vl(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give the tower of Qwen3-VL, with its deepstack mergers, and of Qwen3.5, which has none."""
    vision = top.part("vision_config", "qwen3_vl_vision")
    hidden, merged = vision.whole("hidden_size"), vision.whole("spatial_merge_size", default=2) ** 2
    width, root = vision.whole("intermediate_size"), "model.visual."
    yield from _qwen_patches(vision, root, hidden, bias=True)
    yield Weight(f"{root}pos_embed.weight", (vision.whole("num_position_embeddings"), hidden))
    for layer in range(vision.layers("depth")):
        stem = f"{root}blocks.{layer}."
        yield from _qwen_attention(stem, hidden)
        yield from linear(f"{stem}mlp.linear_fc1", width, hidden, bias=True)
        yield from linear(f"{stem}mlp.linear_fc2", hidden, width, bias=True)
        yield from _layer_norm(f"{stem}norm1", hidden)
        yield from _layer_norm(f"{stem}norm2", hidden)
    out = vision.whole("out_hidden_size", default=text.whole("hidden_size"))
    deep = len(vision.numbers("deepstack_visual_indexes"))
    mergers = ((f"{root}merger", hidden), *((f"{root}deepstack_merger_list.{i}", merged * hidden) for i in range(deep)))
    for module, normed in mergers:
        yield from _layer_norm(f"{module}.norm", normed)
        yield from linear(f"{module}.linear_fc1", merged * hidden, merged * hidden, bias=True)
        yield from linear(f"{module}.linear_fc2", out, merged * hidden, bias=True)


def glm4v(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give the tower of GLM-4V and GLM-4.5V: the blocks are as wide as the output, the merger as the intermediate."""
    vision = top.part("vision_config", "glm4v_vision")
    hidden, width = vision.whole("hidden_size"), vision.whole("intermediate_size")
    out, merge, root = (
        vision.whole("out_hidden_size", default=text.whole("hidden_size")),
        vision.whole("spatial_merge_size", default=2),
        "model.visual.",
    )
    bias = vision.flag("attention_bias")
    yield from _qwen_patches(vision, root, hidden, bias=True)
    positions = (vision.whole("image_size") // vision.whole("patch_size")) ** 2
    yield Weight(f"{root}embeddings.position_embedding.weight", (positions, hidden))
    for layer in range(vision.layers("depth")):
        stem = f"{root}blocks.{layer}."
        yield from _qwen_attention(stem, hidden, bias=bias)
        yield from gated(f"{stem}mlp", hidden, out)
        yield from norm(f"{stem}norm1", hidden)
        yield from norm(f"{stem}norm2", hidden)
    for name in ("post_conv_layernorm", "post_layernorm"):
        yield from norm(root + name, hidden)
    yield Weight(f"{root}downsample.weight", (out, hidden, merge, merge))
    yield Weight(f"{root}downsample.bias", (out,))
    yield from linear(f"{root}merger.proj", out, out)
    yield from _layer_norm(f"{root}merger.post_projection_norm", out)
    yield from gated(f"{root}merger", out, width)
