"""A page of operator latencies as ``dayzero perfdb page`` writes it, with one of every state."""

import json
from pathlib import Path

STATES = ("measured", "substituted", "retracted", "failed", "unsupported", "not attempted")
SYSTEMS = ("b200_sxm", "b300_sxm", "gb300", "h100_sxm", "h200_sxm", "l40s")
CONV, MOE, W4A8 = "kimi-k3/vllm/kda/context", "kimi-k3/vllm/moe/w4a16_mxfp4", "kimi-k3/vllm/moe/w4a8_mxfp4_mxfp8"


def cell(system: str, state: str, rows: int = 428) -> dict[str, object]:
    counts = {word: rows if word == state else 0 for word in ("measured", "substituted", "retracted", "failed")}
    return {"system": system, "state": state, **counts}


def line(label: str, *points: tuple[int, float], retracted: bool = False, swapped: str = "") -> dict[str, object]:
    told = [
        {"size": size, "value_us": value, "low_us": value / 1.04, "high_us": value * 1.04, "rows": 1}
        for size, value in points
    ]
    return {"label": label, "substitution": swapped, "retracted": retracted, "points": told}


def curve(lane: str, system: str, *lines: dict[str, object], axis: str = "seq_len") -> dict[str, object]:
    fixed = [["batch_size", "1"], ["model_name", "moonshotai/Kimi-K3"]]
    return {"lane": lane, "system": system, "axis": axis, "fixed": fixed, "lines": list(lines)}


def document(**more: object) -> dict[str, object]:
    """Give the document; ``more`` replaces members."""
    about = {
        "recipe": "Eight GPUs.",
        "image": "An image.",
        "checks": ["it is SiTU"],
        "label": "The image's digest.",
        "source": "an issue",
    }
    floor = line("0.1.dev19262", (128, 970.3), (4096, 1344.5), (131072, 2127.0), retracted=True)
    clean = line("0.27.0", (128, 2.755), (4096, 2.76), (131072, 76.27))
    swapped = line("0.24.0", (1, 142.5), (4096, 3211.0), swapped="silu_for_situ")
    return {
        "schema": "dayzero/perfdb-page/v1",
        "import": "a4a83c4243421390",
        "upstream": "aiconfigurator-core",
        "version": "0.12.0",
        "sha256": "ab" * 32,
        "imported_at": "2026-11-30T13:02:49Z",
        "rows": 12_586_413,
        "lanes": [
            {"lane": MOE, **about, "cells": [cell(s, state) for s, state in zip(SYSTEMS, STATES, strict=True)]},
            {"lane": CONV, **about, "source": "", "cells": [cell("gb300", "measured"), cell("l40s", "retracted")]},
            {"lane": W4A8, **about, "cells": [cell(system, "not attempted", 0) for system in SYSTEMS]},
        ],
        "curves": [
            curve(MOE, "gb300", swapped, axis="num_tokens"),
            curve(CONV, "gb300", clean, floor),
            curve(CONV, "l40s", floor),
        ],
        "retractions": [
            {
                "slug": "k3-conv-floor",
                "cause": "instrument_artifact",
                "why": "A floor lies under every row.",
                "at": "2026-11-29T12:00:00Z",
                "effect": "applied",
                "table": "kda_perf",
                "where": ["engine=vllm", "dir_version=0.1.dev19262"],
                "rows": 3424,
                "evidence": ["data/gb300/kda/vllm/0.27.0/collection_meta.yaml:22"],
            }
        ],
        **more,
    }


def write(path: Path, **more: object) -> Path:
    """Write it."""
    path.write_text(json.dumps(document(**more)), encoding="utf-8")
    return path
