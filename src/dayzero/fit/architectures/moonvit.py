"""MoonViT, the vision tower of Kimi-VL, Kimi-K2.5 and Kimi-K3.

Source: vllm 0.32.0, model_executor/models/{moonvit,kimi_vl,kimi_k25_vit}.py and models/kimi_k3/nvidia/model.py.
"""

from collections.abc import Iterator

from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import Weight, linear, norm


def kimi_vl(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give the tower of Kimi-VL and its projector."""
    vision = top.part("vision_config")
    yield from _tower(vision)
    yield from _projector(vision, text, "multi_modal_projector.", ("linear_1", "linear_2"))


def kimi_k2_5(top: Fields, text: Fields) -> Iterator[Weight]:
    """Give the tower of Kimi-K2.5 and Kimi-K3 and its projector."""
    vision = top.part("vision_config", "kimi_k25_vision")
    yield from _tower(vision)
    yield from _projector(vision, text, "mm_projector.", ("proj.0", "proj.2"))


def _hidden(vision: Fields) -> int:
    return vision.whole("vt_hidden_size", "hidden_size")


def _tower(vision: Fields) -> Iterator[Weight]:
    hidden, patch = _hidden(vision), vision.whole("patch_size", default=14)
    width = vision.whole("vt_intermediate_size", "intermediate_size")
    inner = vision.whole("qkv_hidden_size", default=hidden)
    normed = vision.word("norm_type", "layernorm") == "layernorm"
    joined, dense = vision.flag("attn_bias", default=True), vision.flag("linear_bias", default=True)
    root = "vision_tower."
    yield Weight(f"{root}patch_embed.proj.weight", (hidden, 3, patch, patch))
    if vision.flag("patch_embed_proj_bias", default=True):
        yield Weight(f"{root}patch_embed.proj.bias", (hidden,))
    positions = tuple(
        vision.whole(f"init_pos_emb_{side}", f"pos_emb_{side}", default=64) for side in ("height", "width")
    )
    yield Weight(f"{root}patch_embed.pos_emb.weight", (*positions, hidden))
    for layer in range(vision.layers("vt_num_hidden_layers", "num_hidden_layers")):
        stem = f"{root}encoder.blocks.{layer}."
        yield from norm(f"{stem}norm0", hidden, bias=normed)
        yield from norm(f"{stem}norm1", hidden, bias=normed)
        yield from linear(f"{stem}mlp.fc0", width, hidden, bias=dense)
        yield from linear(f"{stem}mlp.fc1", hidden, width, bias=dense)
        yield from linear(f"{stem}wqkv", 3 * inner, hidden, bias=joined)
        yield from linear(f"{stem}wo", hidden, inner, bias=joined)
    yield from norm(f"{root}encoder.final_layernorm", hidden, bias=normed)


def _projector(vision: Fields, text: Fields, root: str, names: tuple[str, str]) -> Iterator[Weight]:
    hidden, out = _hidden(vision), text.whole("hidden_size")
    height, width = vision.numbers("merge_kernel_size") or (2, 2)
    merged, second = hidden * height * width, vision.word("mm_projector_type", "patchmerger") == "patchmergerv2"
    if not second:
        yield from norm(f"{root}pre_norm", hidden, bias=True)
    yield from linear(root + names[0], merged, merged, bias=not second)
    yield from linear(root + names[1], out, merged, bias=not second)
    if second:
        yield from norm(f"{root}post_norm", out)
