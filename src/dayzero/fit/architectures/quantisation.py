"""Read a ``quantization_config``: which projections it covers, and in which form each is stored."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.forms import (
    Awq,
    Form,
    FourBitFloats,
    GptOssBlocks,
    Gptq,
    MicroscaledBytes,
    OneByte,
    PackedIntegers,
)
from dayzero.fit.architectures.weights import Role, Weight

_ROOTS = ("model.language_model.", "language_model.model.", "language_model.", "model.")
_LINEAR = "Linear"
_FP8, _NVFP4_GROUP, _MX_GROUP = "F8_E4M3", 16, 32


class UnknownForm(Exception):  # noqa: N818  (it is an answer on its way up, not an error)
    """A quantisation that is not described here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One form, and the modules that it is for.

    Attributes:
        form: How they are stored.
        covers: Whether a module, spelt in several ways, is meant.
    """

    form: Form
    covers: Callable[[tuple[str, ...]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """What a configuration does to the projections of a model.

    Attributes:
        rules: The first that covers a module is the one.
        ignored: Whether a module, spelt in several ways, is left as it is.
        heads: Whether the output head counts as a projection.
        towers: Whether projections of a vision tower count.
        stacks: Whether only stacked experts count.
    """

    rules: tuple[Rule, ...] = ()
    ignored: Callable[[tuple[str, ...]], bool] = lambda _: False
    heads: bool = False
    towers: bool = True
    stacks: bool = False

    def form_of(self, weight: Weight, module: str) -> Form | None:
        """Give the form that a module is stored in; ``None`` where it stays as it is."""
        if not self._counts(weight):
            return None
        spelt = spellings(module)
        if self.ignored(spelt):
            return None
        return next((rule.form for rule in self.rules if rule.covers(spelt)), None)

    def _counts(self, weight: Weight) -> bool:
        if not self.rules or weight.role is Role.OTHER or (weight.tower and not self.towers):
            return False
        if weight.role is Role.STACK or self.stacks:
            return weight.role is Role.STACK
        return weight.role is Role.LINEAR or self.heads


def spellings(module: str) -> tuple[str, ...]:
    """Spell a module in each of the ways that lists of modules do: with the prefixes of checkpoints and of classes.

    The expert that stands for all is spelt as the first one.
    """
    named = module.replace(".*.", ".0.")
    bare = next((named.removeprefix(root) for root in _ROOTS if named.startswith(root)), named)
    return tuple(dict.fromkeys((named, f"model.{named}", bare, *(root + bare for root in _ROOTS))))


def quantisation_of(config: Fields, model: Fields) -> Quantisation:
    """Read the quantisation of a model.

    Args:
        config: ``quantization_config``.
        model: The language model: a few have a form of their own.

    Raises:
        InputError: A field is missing or makes no sense.
        UnknownForm: The method or the format is not described here.
    """
    method = config.word("quant_method", "").replace("_", "-")
    fourth = partial(_deepseek_v4, model=model)
    readers: Mapping[str, Callable[[Fields], Quantisation]] = {
        "compressed-tensors": _compressed,
        "fp8": fourth if model.word("model_type", "") == "deepseek_v4" else _fp8,
        "deepseek-v4-fp8": fourth,
        "fbgemm-fp8": _fbgemm,
        "modelopt": _modelopt,
        "modelopt-fp4": _modelopt,
        "gptq": _gptq,
        "gptq-marlin": _gptq,
        "awq": _awq,
        "awq-marlin": _awq,
        "mxfp4": _gpt_oss,
    }
    if method not in readers:
        raise UnknownForm(f"quant_method {method or '(none)'} is not described here")
    return readers[method](config)


def _everything(_: tuple[str, ...]) -> bool:
    return True


def _pattern(config: Fields, name: str, entry: str) -> Callable[[tuple[str, ...]], bool]:
    """Read one entry of compressed-tensors: ``re:`` and an expression, or a module, or the class of all projections."""
    if not entry.startswith("re:"):
        return lambda spelt: entry == _LINEAR or entry in spelt
    try:
        expression = re.compile(entry.removeprefix("re:"))
    except re.error as error:
        raise config.error(name, f"holds no regular expression: {entry:.60} ({error})") from error
    return lambda spelt: any(expression.match(way) for way in spelt)


def _any(patterns: tuple[Callable[[tuple[str, ...]], bool], ...]) -> Callable[[tuple[str, ...]], bool]:
    return lambda spelt: any(pattern(spelt) for pattern in patterns)


def _compressed(config: Fields) -> Quantisation:
    groups = config.part("config_groups")
    rules = []
    for name in groups.values:
        group = groups.part(name)
        if not group.has("weights"):
            continue
        targets = tuple(_pattern(group, "targets", entry) for entry in group.words("targets"))
        rules.append(Rule(form=_compressed_form(config, group), covers=_any(targets)))
    ignored = tuple(_pattern(config, "ignore", entry) for entry in config.words("ignore"))
    return Quantisation(rules=tuple(rules), ignored=_any(ignored), heads=True)


def _compressed_form(config: Fields, group: Fields) -> Form:
    weights = group.part("weights")
    form = group.word("format", config.word("format", ""))
    bits, size = weights.whole("num_bits"), weights.whole("group_size", default=0, least=-1)
    group_size = size if size > 0 and weights.word("strategy", "group") in {"group", "tensor_group"} else 0
    symmetric = weights.flag("symmetric", default=True)
    if form in {"pack-quantized", "naive-quantized"} and bits not in {2, 3, 4, 8}:
        raise weights.error("num_bits", f"is none that {form} packs: {bits}")
    match form:
        case "pack-quantized":
            ordered = weights.values.get("actorder") == "group"
            return PackedIntegers(bits=bits, group=group_size, symmetric=symmetric, ordered=ordered)
        case "nvfp4-pack-quantized":
            scalars: tuple[str, ...] = ("weight_global_scale",)
            if group.has("input_activations"):
                scalars += ("input_global_scale",)
            return FourBitFloats(group=_NVFP4_GROUP, scale_dtype=_FP8, scalars=scalars)
        case "mxfp4-pack-quantized":
            return FourBitFloats(group=_MX_GROUP)
        case "mxfp8-quantized":
            return MicroscaledBytes()
        case "float-quantized" | "int-quantized" | "naive-quantized":
            return _one_byte(group, weights, symmetric=symmetric)
    raise UnknownForm(f"compressed-tensors format {form or '(none)'} is not described here")


def _one_byte(group: Fields, weights: Fields, *, symmetric: bool) -> OneByte:
    code = _FP8 if weights.word("type", "int") == "float" else "I8"
    strategy = weights.word("strategy", "tensor")
    block = {"tensor": (0, 0), "channel": (1, 0), "token": (1, 0)}.get(strategy)
    if strategy == "block":
        rows, columns = weights.numbers("block_structure") or (0, 0)
        block = (rows, columns)
    elif strategy == "group":
        block = (1, weights.whole("group_size"))
    if block is None or (strategy == "block" and not all(block)):
        raise UnknownForm(f"strategy {strategy} of one-byte weights is not described here")
    given = group.part("input_activations") if group.has("input_activations") else None
    static = given is not None and given.values.get("dynamic") is False
    return OneByte(code=code, block=block, symmetric=symmetric, input_scale=static)


def _listed(config: Fields, *names: str) -> Callable[[tuple[str, ...]], bool]:
    """Read a list of modules that stay as they are: each covers itself and what stands below it."""
    entries = tuple(entry.strip(".") for name in names for entry in config.words(name))
    inside = tuple(f".{entry}." for entry in entries)
    return lambda spelt: any(entry in f".{way}." for way in spelt for entry in inside)


def _fp8(config: Fields) -> Quantisation:
    block = config.numbers("weight_block_size")
    static = config.word("activation_scheme", "dynamic") == "static"
    if block:
        rows, columns = _pair(config, block)
        form = OneByte(code=_FP8, block=(rows, columns), scale="weight_scale_inv", scale_dtype="F32")
    else:
        form = OneByte(code=_FP8, block=(0, 0), scale_dtype="F32", scalar=True, input_scale=static)
    ignored = _listed(config, "modules_to_not_convert", "ignored_layers")
    return Quantisation(rules=(Rule(form=form, covers=_everything),), ignored=ignored)


def _pair(config: Fields, block: tuple[int, ...]) -> tuple[int, int]:
    if len(block) != len(("rows", "columns")) or not all(block):
        raise config.error("weight_block_size", f"is not two numbers above 0: {list(block)}")
    return block[0], block[1]


def _deepseek_v4(config: Fields, model: Fields) -> Quantisation:
    """Experts in MXFP4, everything else in FP8 blocks, scales of one byte (vllm 0.32.0, models/deepseek_v4/nvidia/model.py)."""
    rows, columns = _pair(config, config.numbers("weight_block_size") or (128, 128))
    fourth = FourBitFloats(group=_MX_GROUP, packed="weight", code="I8", scale="scale", scale_dtype="F8_E8M0")
    eighth = OneByte(code=_FP8, block=(rows, columns), scale="scale", scale_dtype="F8_E8M0")
    rules: tuple[Rule, ...] = (Rule(form=eighth, covers=_everything),)
    if model.word("expert_dtype", "fp4") == "fp4":
        rules = (Rule(form=fourth, covers=lambda spelt: ".experts." in spelt[0]), *rules)
    return Quantisation(rules=rules, ignored=_listed(config, "modules_to_not_convert"))


def _fbgemm(config: Fields) -> Quantisation:
    form = OneByte(code=_FP8, block=(1, 0), scale_dtype="F32")
    ignored = _listed(config, "modules_to_not_convert")
    return Quantisation(rules=(Rule(form=form, covers=_everything),), ignored=ignored, towers=False)


def _modelopt(config: Fields) -> Quantisation:
    inner = config.part("quantization") if config.has("quantization") else config
    algorithm = inner.word("quant_algo", "").upper()
    forms: Mapping[str, Form] = {
        "FP8": OneByte(code=_FP8, block=(0, 0), scale_dtype="F32", scalar=True, input_scale=True),
        "FP8_PER_CHANNEL_PER_TOKEN": OneByte(code=_FP8, block=(1, 0), scale_dtype="F32"),
        "FP8_PB_WO": OneByte(code=_FP8, block=(128, 128), scale_dtype="F32"),
        "NVFP4": FourBitFloats(
            group=_NVFP4_GROUP,
            packed="weight",
            scale_dtype=_FP8,
            scalars=("weight_scale_2", "input_scale"),
            scalar_shape=(),
        ),
    }
    if algorithm not in forms:
        raise UnknownForm(f"modelopt's {algorithm or 'quant_algo (none)'} is not described here")
    entries = (*inner.words("exclude_modules"), *inner.words("ignore"))
    below = _listed(inner, "exclude_modules", "ignore")

    def ignored(spelt: tuple[str, ...]) -> bool:
        return below(spelt) or any(fnmatchcase(way, entry) for way in spelt for entry in entries)

    return Quantisation(rules=(Rule(form=forms[algorithm], covers=_everything),), ignored=ignored, heads=True)


def _bits(config: Fields, *names: str) -> int:
    bits = config.whole(*names)
    if bits not in {2, 3, 4, 8}:
        raise config.error(names[0], f"is none that is packed: {bits}")
    return bits


def _gptq(config: Fields) -> Quantisation:
    size = config.whole("group_size", default=128, least=-1)
    form = Gptq(bits=_bits(config, "bits"), group=max(size, 0))
    dynamic = config.part("dynamic") if config.has("dynamic") else None
    excluded = [entry.removeprefix("-:") for entry in (dynamic.values if dynamic else ()) if entry.startswith("-:")]
    if dynamic and len(excluded) != len(dynamic.values):
        raise UnknownForm("gptq with a different number of bits in some layers is not described here")
    patterns = tuple(_pattern(config, "dynamic", f"re:{entry}") for entry in excluded)
    heads = config.flag("lm_head")
    return Quantisation(rules=(Rule(form=form, covers=_everything),), ignored=_any(patterns), heads=heads, towers=False)


def _awq(config: Fields) -> Quantisation:
    size = config.whole("group_size", "q_group_size", default=128, least=-1)
    form = Awq(bits=_bits(config, "bits", "w_bit"), group=max(size, 0))
    kept = config.words("modules_to_not_convert")

    def ignored(spelt: tuple[str, ...]) -> bool:
        return any(entry in spelt[0] for entry in kept)

    return Quantisation(rules=(Rule(form=form, covers=_everything),), ignored=ignored, towers=False)


def _gpt_oss(config: Fields) -> Quantisation:
    ignored = _listed(config, "modules_to_not_convert")
    return Quantisation(rules=(Rule(form=GptOssBlocks(), covers=_everything),), ignored=ignored, stacks=True)
