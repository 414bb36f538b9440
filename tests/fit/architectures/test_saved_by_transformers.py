"""Our names and shapes against those that transformers stores; ``record_saved.py`` wrote ``saved.json``."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from math import prod
from pathlib import Path

import pytest

from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Checkpoint
from dayzero_verify.safetensors import DTYPE_BITS

_SAVED = Path(__file__).with_name("saved.json")
_RECORDS = json.loads(_SAVED.read_text())

# Where transformers does not give back the names that the upstream checkpoint has: (in what it saved, upstream).
_UPSTREAM: Mapping[str, tuple[tuple[str, str], ...]] = {
    "kimi-linear": ((r"(layers\.0)\.block_sparse_moe\.", r"\1.mlp."),),
    "kimi-k2.5": (
        (r"language_model\.model\.blocks\.", "language_model.model.layers."),
        (r"vision_tower\.encoder\.patch_embed\.", "vision_tower.patch_embed."),
        (r"^model\.mm_projector\.", "mm_projector."),
    ),
    "gemma3": ((r"^vision_tower\.", "vision_tower.vision_model."),),
    "deepseek-v4": (
        (r"^model\.hc_head\.hc_", "hc_head_"),
        (r"^model\.embed_tokens\.", "embed."),
        (r"\.attn\.norm\.", ".attn.kv_norm."),
        (r"^model\.", ""),
    ),
}

# What transformers saves beside the published checkpoint: buffers, and the pooling head that Gemma 3 does without.
_NOT_PUBLISHED = re.compile(r"(_decay|slope_rate)$|^vision_tower\.vision_model\.head\.")

# What the published checkpoint has beside what transformers saves: layers that draft.
_NOT_SAVED = re.compile(r"^mtp\.")

# Zero-computation experts have no weights upstream; transformers gives some of them back as experts.
_ROUTED = {"longcat-flash": 3}

# Upstream each expert is inputs by outputs, which vllm 0.32.0 turns around (model_executor/models/qwen3_vl_moe.py).
_TURNED = {"qwen3-vl-moe": ".mlp.experts."}


def _expected(name: str) -> dict[str, tuple[tuple[int, ...], int]]:
    expected = {}
    for saved, (_, shape, count) in _RECORDS[name]["tensors"].items():
        upstream = saved
        for pattern, replacement in _UPSTREAM.get(name, ()):
            upstream = re.sub(pattern, replacement, upstream)
        if not _NOT_PUBLISHED.search(upstream):
            turned = name in _TURNED and _TURNED[name] in upstream
            known = (shape[0], shape[2], shape[1]) if turned else tuple(shape)
            expected[upstream] = (known, min(count, _ROUTED.get(name, count)))
    return expected


def _told(name: str) -> Checkpoint:
    config = {**_RECORDS[name]["config"]}
    for part in (config, config.get("text_config", {})):
        part.pop("num_nextn_predict_layers", None)  # transformers keeps the number and drops the layers
    told = checkpoint_of(config)
    assert isinstance(told, Checkpoint), told
    return told


@pytest.mark.parametrize("name", _RECORDS)
def test_every_tensor_has_the_name_and_shape_that_transformers_stores(name: str) -> None:
    told = {tensor.name: (tensor.shape, tensor.count) for tensor in _told(name).tensors}
    assert {key: value for key, value in told.items() if not _NOT_SAVED.search(key)} == _expected(name)


@pytest.mark.parametrize("name", _RECORDS)
def test_bytes_are_the_shape_times_the_type(name: str) -> None:
    told = _told(name)
    for tensor in told.tensors:
        assert tensor.stored.count == prod(tensor.shape) * tensor.count * DTYPE_BITS[tensor.dtype] // 8
    assert told.size.count == sum(tensor.stored.count for tensor in told.tensors)


@pytest.mark.vllm
def test_transformers_still_stores_what_was_recorded(tmp_path: Path) -> None:
    python = Path(os.environ.get("DAYZERO_VLLM_ENV", "/nowhere"), "bin", "python")
    if not python.exists():
        pytest.skip("the environment with transformers is not here (make vllm-env)")
    recorder = Path(__file__).with_name("record_saved.py")
    subprocess.run([python, recorder, tmp_path / "saved.json"], check=True, capture_output=True, timeout=600)
    assert json.loads((tmp_path / "saved.json").read_text()) == _RECORDS
