"""What a plan asks for that takes memory in a way that is not modelled here: then no verdict, or none that it fits."""

from collections.abc import Mapping

from dayzero.core.verdict import Place
from dayzero.engines.vllm.memory.flags import Flags
from dayzero.engines.vllm.memory.shape import Shape
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import FitPlan

ONLINE = frozenset({"fp8", "fp8_per_tensor", "fp8_per_block"})
_PACKED_CACHES = ("turboquant", "ultraquant", "nvfp4", "int4", "int8")  # vllm 0.32.0, config/cache.py:39-59
_CONVERTING = frozenset({"bitsandbytes", "gguf", "tensorizer"})
_PACKED = ("awq", "gptq")
_ANY_OF = {"moe_wna16": _PACKED, "auto_round": ("auto-round", *_PACKED), "inc": ("auto-round", *_PACKED)}


def not_modelled(plan: FitPlan, flags: Flags) -> Unknown | None:
    """Say what makes it impossible to size the plan at all, if anything."""
    reason = _cache(flags) or _weights(plan, flags) or _sharing(flags)
    return Unknown(reason=reason, place=Place(artifact="", file=plan.checkpoint.source)) if reason else None


def not_counted(flags: Flags, shape: Shape) -> tuple[str, ...]:
    """Name what takes more memory than is counted, so that nothing proves that the plan fits."""
    said = []
    if flags.on("enable-lora"):
        said.append("adapters (--enable-lora)")
    drafting = flags.table("speculative-config")
    if drafting.get("model") or flags.text("speculative-model", "") or flags.text("spec-model", ""):
        said.append("the draft model of --speculative-config")
    if flags.on("enable-dbo") and shape.experts:
        said.append("the second batch of --enable-dbo")
    return tuple(said)


def _cache(flags: Flags) -> str:
    if flags.text("mamba-cache-dtype", "auto") != "auto":
        return "the short convolution's state in another type than the model's is not modelled"
    word = flags.text("kv-cache-dtype", "auto")
    return (
        f"a cache in {word!r} is not modelled"
        if word.startswith(_PACKED_CACHES) or word.endswith("per_token_head")
        else ""
    )


def _weights(plan: FitPlan, flags: Flags) -> str:
    if flags.text("hf-overrides", "") not in {"", "{}"}:
        return "--hf-overrides makes another model of it; give a config.json that says so"
    form = flags.text("load-format", "")
    if form in _CONVERTING:
        return f"what --load-format {form} makes of the weights is not modelled"
    word = flags.text("quantization", "").lower()
    if not word or word == "none":
        return ""
    method = _method(plan.checkpoint.config)
    if not method:
        return (
            ""
            if word in ONLINE
            else f"what --quantization {word} makes of weights that are not quantised is not modelled"
        )
    return "" if _agree(word, method) else f"--quantization is {word}, and the checkpoint is quantised as {method}"


def _agree(word: str, method: str) -> bool:
    if word in _ANY_OF:
        return any(method.startswith(other) for other in (word, *_ANY_OF[word]))
    plain, stored = word.replace("_", "-"), method.replace("_", "-")
    return stored in plain or plain in stored


def _method(config: Mapping[str, object]) -> str:
    for part in (config, config.get("text_config")):
        table = part.get("quantization_config") if isinstance(part, Mapping) else None
        if isinstance(table, Mapping):
            return str(table.get("quant_method") or table.get("quant_algo") or "").lower()
    return ""


def _sharing(flags: Flags) -> str:
    shared = ("decode-context-parallel-size", "prefill-context-parallel-size")
    named = next((name for name in shared if (flags.whole(name) or 1) > 1), "")
    return f"how --{named} spreads the cache is not modelled" if named else ""
