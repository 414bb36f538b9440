"""Where the tensors of a checkpoint go: equal tensors of equal layers together, each with the way vLLM splits it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias

from dayzero.fit.checkpoint import Checkpoint, Tensor

_Kind: TypeAlias = tuple[str, tuple[int, ...], str, int, int]


class Split(Enum):
    """How the ranks of one tensor-parallel group share a weight."""

    COLUMN = "column"
    ROW = "row"
    KEYS = "keys"
    FUSED = "fused"
    VOCABULARY = "vocabulary"
    REPLICATED = "replicated"
    UNKNOWN = "unknown"


class Part(Enum):
    """What a weight belongs to."""

    LAYER = "layer"
    EXPERT = "expert"
    SHARED_EXPERT = "shared expert"
    EMBEDDING = "embedding"
    HEAD = "head"
    LAST = "last"
    TOWER = "tower"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tensors that are alike in every layer that has them.

    Attributes:
        stem: Their name, with ``*`` for the layer.
        module: The module's name, the last word before the parameter's.
        parameter: ``weight``, ``weight_scale`` ...; ``""`` where the module itself is the parameter.
        shape: Of one of them.
        dtype: As safetensors names it.
        each: Bytes of one of them.
        count: How many a layer has: experts, or 1.
        layers: The layers that have them in order; empty outside the layers.
        split: How the ranks share one.
        part: What they belong to.
    """

    stem: str
    module: str
    parameter: str
    shape: tuple[int, ...]
    dtype: str
    each: int
    count: int
    layers: tuple[int, ...]
    split: Split
    part: Part

    @property
    def elements(self) -> int:
        """Numbers in one of them."""
        total = 1
        for size in self.shape:
            total *= size
        return total

    @property
    def is_scale(self) -> bool:
        """Say whether it is something beside the weights of a module."""
        return self.parameter not in {"", "weight", "bias"}


_BESIDE = {"towers": Part.TOWER, "drafts": Part.DRAFT}


class _Same:
    """A checkpoint as a key: the same object, not an equal one, so that comparing costs nothing."""

    __slots__ = ("checkpoint",)

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.checkpoint is self.checkpoint

    def __hash__(self) -> int:
        return id(self.checkpoint)


def groups_of(checkpoint: Checkpoint) -> tuple[Group, ...]:
    """Group the tensors of a checkpoint; the same checkpoint is only looked through once."""
    return _grouped(_Same(checkpoint))


@lru_cache(maxsize=8)
def _grouped(key: _Same) -> tuple[Group, ...]:
    alike: dict[_Kind, list[int]] = {}
    for tensor in key.checkpoint.tensors:
        kind = (_stem(tensor), tensor.shape, tensor.dtype, tensor.stored.count // tensor.count, tensor.count)
        layers = alike.setdefault(kind, [])
        if tensor.layer is not None:
            layers.append(tensor.layer)
    return tuple(group for kind, layers in alike.items() if (group := _group(kind, tuple(sorted(layers)))) is not None)


def _stem(tensor: Tensor) -> str:
    if tensor.layer is None:
        return tensor.name
    words, number = tensor.name.split("."), str(tensor.layer)
    words[words.index(number)] = "*"
    return ".".join(words)


def _group(kind: _Kind, layers: tuple[int, ...]) -> Group | None:
    stem, shape, dtype, each, count = kind
    words, rules = stem.split("."), _rules()
    if not rules["ignored"].isdisjoint(words):
        return None
    named = words[-1] in rules["parameters"] and len(words) > 1
    module = words[-2] if named else words[-1]
    for ending in ("_blocks", "_scales", "_bias"):
        if not named and module.endswith(ending) and module.removesuffix(ending) in _splits():
            module = module.removesuffix(ending)
    part = _part(words, module, stacked=len(shape) > 2)  # noqa: PLR2004 - experts, rows, columns
    at = words.index("experts") if "experts" in words else 0
    if part is Part.EXPERT and count == 1 and "*" not in words[max(at, words.index("*") + 1) :] and len(shape) > 1:
        count, each, shape = shape[0], each // max(shape[0], 1), shape[1:]
    whole = part in {Part.TOWER, Part.DRAFT} and layers
    return Group(
        stem=stem,
        module=module,
        parameter=words[-1] if named else "",
        shape=shape,
        dtype=dtype,
        each=each,
        count=count * len(layers) if whole else count,
        layers=() if whole else layers,
        split=_split(module, words[-1], shape),
        part=part,
    )


def _part(words: list[str], module: str, *, stacked: bool) -> Part:
    rules = _rules()
    beside = next((part for name, part in _BESIDE.items() if not rules[name].isdisjoint(words)), None)
    if beside is not None:
        return beside
    if "*" in words:
        if module not in rules["replicated"] and ("experts" in words or (stacked and module in rules["stacked"])):
            return Part.EXPERT
        return Part.SHARED_EXPERT if any(word.startswith("shared_expert") for word in words[:-2]) else Part.LAYER
    if module in {"lm_head", "output", "embed_out"}:
        return Part.HEAD
    return Part.EMBEDDING if module in rules["vocabulary"] else Part.LAST


def _split(module: str, last: str, shape: tuple[int, ...]) -> Split:
    if last in _rules()["whole"] or not shape:
        return Split.REPLICATED
    known = _splits().get(module)
    if known is not None:
        return known
    return Split.REPLICATED if len(shape) == 1 or "norm" in module else Split.UNKNOWN


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, frozenset[str]]:
    text = files("dayzero.engines.vllm.memory").joinpath("placement.toml").read_text(encoding="utf-8")
    return {name: frozenset(words) for name, words in tomllib.loads(text).items()}


@lru_cache(maxsize=1)
def _splits() -> Mapping[str, Split]:
    rules = _rules()
    return {word: split for split in Split if split.value in rules for word in rules[split.value]}


def stays_float32(module: str) -> bool:
    """Say whether vLLM keeps a module in float32."""
    return module in _rules()["float32"]


def is_transposed(parameter: str) -> bool:
    """Say whether a parameter has its input in the first dimension."""
    return parameter in _rules()["transposed"]
