"""``--mem-fraction-static``: the part of the free memory that weights and cache may take, stated or by default."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dayzero.core.accelerators import Accelerator
from dayzero.engines.sglang.memory.facts import fact
from dayzero.engines.vllm.memory.flags import Flags
from dayzero.fit.model import FitPlan

_MIB = 1024**2
_LEAST_TOKENS = 2048
_LARGE_BATCH = 300
_CLIP_LARGE = 24 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the default leaves room for.

    Attributes:
        chunk: Tokens of one prefill step.
        largest: Largest batch that is captured, 0 without graphs.
        prefills: How many sizes of prefills are captured.
        latent: The model has multi-head latent attention.
        towers: Encoders of other modalities are loaded.
        drafts: A draft model is loaded.
    """

    chunk: int
    largest: int
    prefills: int
    latent: bool
    towers: bool
    drafts: bool


def row_for(rows: Sequence[Mapping[str, Any]], gpu: Accelerator) -> Mapping[str, Any]:
    """Give the row for a GPU's memory."""
    return next(row for row in rows if gpu.total.size.count < row["below_mib"] * _MIB)


def static_fraction(plan: FitPlan, flags: Flags, gpu: Accelerator, work: Work) -> tuple[float, str]:
    """Give the fraction, and where no flag says it, how it comes about."""
    if "mem-fraction-static" in flags.values:
        return flags.fraction("mem-fraction-static", 1.0), ""
    rule, total = fact("static", plan.version), gpu.total.size.count / _MIB
    match rule["rule"]:
        case "ranks":
            return _by_ranks(rule, plan, total)
        case "table":
            return _by_table(rule, plan, flags, gpu, work)
        case _:
            reserved, words = _reserved(rule, plan, flags, work)
            if total > rule["least_from_mib"] and reserved < rule["least_mib"]:
                reserved, words = rule["least_mib"], f"at least {rule['least_mib']} MiB"
            if work.drafts:
                alone = flags.text("speculative-algorithm", "") == "STANDALONE"
                reserved += rule["standalone_mib" if alone else "speculative_mib"]
            factor = _encoder_factor(plan.checkpoint.config) if work.towers else 1.0
            return round((total - reserved) / total, 3) * factor, words


def _ranks(plan: FitPlan, flags: Flags) -> int:
    degrees = plan.parallelism
    return degrees.tp * degrees.pp * (degrees.dp if flags.on("enable-dp-attention") else 1)


def _by_ranks(rule: Mapping[str, Any], plan: FitPlan, total: float) -> tuple[float, str]:
    if total > rule["large_from_mib"]:
        return (total - rule["large_mib"]) / total, f"{rule['large_mib']} MiB"
    part = next(row["part"] for row in rule["parts"] if plan.parallelism.tp >= row["tp"])
    return part, f"{1 - part:.0%} at tp {plan.parallelism.tp}"


def _by_table(rule: Mapping[str, Any], plan: FitPlan, flags: Flags, gpu: Accelerator, work: Work) -> tuple[float, str]:
    row, ranks, total = row_for(rule["rows"], gpu), _ranks(plan, flags), gpu.total.size.count / _MIB
    more = (rule["speculative_mib"] if work.drafts else 0) + (
        rule["attention_mib"] if flags.on("enable-dp-attention") else 0
    )
    reserved = row["base_mib"] + ranks * row["rank_mib"] + more
    words = f"{row['base_mib']:.0f} + {ranks} ranks x {row['rank_mib']:.0f} + {more} MiB"
    return round((total - reserved) / total, 3) * (rule["modalities"] if work.towers else 1.0), words


def _reserved(rule: Mapping[str, Any], plan: FitPlan, flags: Flags, work: Work) -> tuple[float, str]:
    tokens, ranks, largest = max(work.chunk, _LEAST_TOKENS), _ranks(plan, flags), work.largest
    each = rule["prefill_latent_mib"] if work.latent else work.prefills * rule["prefill_mib"]
    prefill = each if work.prefills else 0
    attention = 0.0
    if flags.on("enable-dp-attention"):
        attention = largest * plan.parallelism.dp * (4.5 if largest > _LARGE_BATCH else 3.0)
    parts = (
        (rule["base_mib"], "base"),
        (tokens * rule["token_mib"], f"{tokens:,} tokens x {rule['token_mib']}"),
        (largest * rule["batch_mib"], f"batch of {largest} x {rule['batch_mib']}"),
        (ranks * rule["rank_mib"], f"{ranks} ranks x {rule['rank_mib']}"),
        (prefill, "graphs of prefills"),
        (attention, "data-parallel attention"),
    )
    words = " + ".join(f"{size:g} ({why})" for size, why in parts if size)
    return sum(size for size, _ in parts), f"{words} MiB"


def _encoder_factor(config: Mapping[str, object]) -> float:
    """Say by how much a vision encoder lowers the default (sglang 0.5.10, srt/server_args.py:6396-6432)."""
    vision = config.get("vision_config")
    stated = vision if isinstance(vision, Mapping) else {}
    layers, hidden = stated.get("num_hidden_layers", 24), stated.get("hidden_size", 1024)
    beyond = layers * hidden**2 / _CLIP_LARGE - 1.0
    return float(0.95 * max(0.8, min(1.05, 1.0 - 0.1 * beyond)))
