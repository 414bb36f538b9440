"""What a plan asks for that takes memory in a way that is not modelled here: then no verdict, or none that it fits."""

from dayzero.core.verdict import Place
from dayzero.engines.vllm.memory.flags import Flags
from dayzero.engines.vllm.memory.shape import Shape
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import FitPlan

_ONLINE = frozenset({"", "None", "fp8", "w8a8_fp8"})
_CONVERTING = frozenset({"bitsandbytes", "gguf"})
_SHARING = ("dcp-size", "attn-cp-size", "decode-context-parallel-size", "attention-context-parallel-size")


def not_modelled(plan: FitPlan, flags: Flags, shape: Shape) -> Unknown | None:
    """Say what makes it impossible to size the plan at all, if anything."""
    form, word = flags.text("load-format", ""), flags.text("quantization", "")
    reason = ""
    if flags.text("json-model-override-args", "{}") != "{}":
        reason = "--json-model-override-args makes another model of it; give a config.json that says so"
    elif form in _CONVERTING:
        reason = f"what --load-format {form} makes of the weights is not modelled"
    elif word not in _ONLINE and not shape.quantisation:
        reason = f"what --quantization {word} makes of weights that are not quantised is not modelled"
    shared = next((name for name in _SHARING if (flags.whole(name) or 1) > 1), "")
    if shared:
        reason = f"how --{shared} spreads the cache is not modelled"
    return Unknown(reason=reason, place=Place(artifact="", file=plan.checkpoint.source)) if reason else None


def not_counted(flags: Flags) -> tuple[str, ...]:
    """Name what takes more memory than is counted, so that nothing proves that the plan fits."""
    said = []
    if flags.on("enable-lora") or flags.text("lora-paths", "None") not in {"None", ""}:
        said.append("adapters (--lora-paths)")
    if flags.text("speculative-draft-model-path", "None") not in {"None", ""}:
        said.append("the draft model of --speculative-draft-model-path")
    if flags.on("enable-two-batch-overlap"):
        said.append("the second batch of --enable-two-batch-overlap")
    return tuple(said)
