"""A study's documents as the report reads them: four trials, a wall, a combination that was taken out, and two objectives."""

from typing import Any


def trial(number: int, values: list[float] | None, **changes: Any) -> dict[str, Any]:
    return {
        "number": number,
        "role": "sampled",
        "worker": "main",
        "point": {"n-batch": "512", "n-threads": "1"},
        "changed": {"n-batch": "512"},
        "outcome": "measured" if values else "died-at-start",
        "reason": "",
        "seconds": 10.0,
        "values": values,
        "eligible": values is not None,
        "folder": f"trials/{number:04}",
        **changes,
    }


def result(**changes: Any) -> dict[str, Any]:
    trials = [
        trial(0, [100.0, 30.0], role="stock", changed={}),
        trial(1, [150.0, 40.0]),
        trial(2, None, reason="exit code 1", changed={"n-threads": "<64>"}),
        trial(3, [170.0, 90.0], eligible=False, outcome="measured"),
        trial(4, [120.0, 20.0]),
    ]
    return {
        "schema": "dayzero/optimize/v1",
        "verdict": "BETTER",
        "because": ["trial 1 is faster than the package as it is"],
        "package": "demo <tiny>",
        "build": "engine 1.0",
        "system": "cpu-1core",
        "devices": 2,
        "workload": {
            "name": "c4",
            "concurrency": 4,
            "requests": 24,
            "warmup_requests": 4,
            "input_tokens": 128,
            "output_tokens": 32,
            "seed": 7,
        },
        "objective": [
            {"measure": "output_tok_s", "unit": "tok/s", "higher_is_better": True},
            {"measure": "ttft_ms.p50", "unit": "ms", "higher_is_better": False},
        ],
        "slos": [{"measure": "ttft_ms.p50", "limit": 80.0}],
        "budget_s": 600.0,
        "spent_s": 50.0,
        "space": {
            "points": 17,
            "points_before": 18,
            "excluded": [{"setting": "n-batch", "level": "0", "by": "audit", "why": "no such value"}],
        },
        "notes": ["no memory model for this engine"],
        "trials": trials,
        "pruned": [{"point": {}, "changed": {"n-threads": "<64>", "n-batch": "8"}, "by": "wall", "why": "as trial 2"}],
        "walls": [
            {
                "never_again": {"n-threads": "<64>"},
                "by": "named",
                "trial": 2,
                "reason": "exit code 1",
                "wall": "out-of-memory",
                "rule": "R1",
                "log": "trials/0002/logs/engine.log:12",
                "kept_out": 1,
            }
        ],
        "baselines": [
            {"trial": 0, "value": 100.0, "against_first": {"value": 0.0, "low": -0.01, "high": 0.01}, "drifted": False}
        ],
        "saved": {
            "pruned_points": 1,
            "stopped_trials": 0,
            "seconds": 10.0,
            "device_seconds": 20.0,
            "how": "the median",
        },
        "best": {"trial": 1, "point": {}, "changed": {"n-batch": "512"}, "values": [150.0, 40.0], "over_stock": 0.5},
        "front": [1, 4],
        "confirmation": {
            "verdict": "BETTER",
            "difference": {"value": 0.48, "low": 0.4, "high": None},
            "margin": 0.02,
            "pairs": 6,
            "with": ["--gpu-memory-utilization", "0.42"],
        },
        "gate": {"asked": False, "verdict": "", "because": ""},
        "winner": "package/demo-faster",
        **changes,
    }


def explanation(**changes: Any) -> dict[str, Any]:
    return {
        "importance": [
            {"setting": "n-batch", "share": 0.8, "evaluator": "fanova"},
            {"setting": "n-threads", "share": 0.2, "evaluator": "fanova"},
        ],
        "contrasts": [
            {
                "setting": "n-batch",
                "from": "8",
                "to": "512",
                "pairs": [[0, 1], [3, 4]],
                "ratio": 1.5,
                "low": 1.4,
                "high": 1.6,
            },
            {
                "setting": "n-batch",
                "from": "64",
                "to": "512",
                "pairs": [[0, 1]],
                "ratio": 1.1,
                "low": None,
                "high": None,
            },
        ],
        "correlation_only": ["n-threads"],
        **changes,
    }
