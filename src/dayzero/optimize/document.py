"""Write what was asked and what was found as JSON documents. The formats: docs/reference/optimize.md."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dayzero.core.workload import Cell
from dayzero.optimize.model import Excluded, Interval, NeverAgain, Point, Setting, Space, changed
from dayzero.optimize.objective import Goal
from dayzero.optimize.plan import View
from dayzero.optimize.saving import Saved
from dayzero.optimize.space import count, flags_of
from dayzero.optimize.standing import Placed, Standing

SCHEMA: Final = "dayzero/optimize/v1"
STUDY_SCHEMA: Final = "dayzero/optimize-study/v1"
RECEIPT_SCHEMA: Final = "dayzero/optimize-receipt/v1"

Verdict: TypeAlias = Literal["BETTER", "NO-BETTER-FOUND", "UNCONFIRMED", "NOT-THE-SAME", "DOES-NOT-SERVE", "UNDECIDED"]

_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a study is about, besides its space.

    Attributes:
        package, build, system: Names.
        devices: What device-seconds are counted with.
        cell: The load of a trial.
        workload_seed: Of its prompts.
        points_before: Combinations before anything was taken out.
        excluded: Levels that were taken out before the first start.
        budget_s: Time for trials.
        notes: What could not be looked at.
    """

    package: str
    build: str
    system: str
    devices: int
    cell: Cell
    workload_seed: int
    points_before: int
    excluded: tuple[Excluded, ...]
    budget_s: float
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of a study.

    Attributes:
        verdict: The word.
        because: Sentences.
        confirmation: The comparison as it is reported; ``None`` where none was made.
        gate: What the gate said.
        winner: Folder of the winner's package, ``None`` where none was written.
    """

    verdict: Verdict
    because: tuple[str, ...]
    confirmation: Mapping[str, object] | None
    gate: Mapping[str, object]
    winner: str | None


def of_result(about: About, goal: Goal, space: Space, now: View, found: Found) -> dict[str, object]:
    """Write the result of a study.

    Args:
        about: What it is about.
        goal: Objectives and limits.
        space: What could be tried.
        now: Where it ended.
        found: What came of it.
    """
    saved = Saved.of(now, about.devices)
    return {
        "schema": SCHEMA,
        "verdict": found.verdict,
        "because": list(found.because),
        **_asked(about, goal),
        "budget_s": about.budget_s,
        "spent_s": _rounded(now.state.spent_s),
        "device_seconds": _rounded(now.state.spent_s * about.devices),
        "space": {
            "settings": [of_setting(one, space.stock) for one in space.settings],
            "excluded": [_level(one) for one in about.excluded],
            "points": count(space),
            "points_before": about.points_before,
        },
        "notes": list(about.notes),
        "trials": [_trial(one, goal, space.stock) for one in now.standing.placed],
        "pruned": [_pruned(one, space.stock) for one in now.state.pruned],
        "walls": [_wall(one, now) for one in now.walls(space.stock)],
        "baselines": _baselines(now.standing),
        "saved": saved.document(),
        "best": _best(now.standing, space),
        "front": [one.trial.number for one in now.standing.front],
        "confirmation": found.confirmation,
        "gate": dict(found.gate),
        "winner": found.winner,
    }


def of_receipt(result: Mapping[str, object], files: Sequence[tuple[str, str]], *, client: str) -> dict[str, object]:
    """Bind a winner to every file that it rests on.

    Args:
        result: The result's document.
        files: (path below the study, SHA-256).
        client: Program and version that measured.
    """
    kept = ("verdict", "because", "package", "build", "workload", "objective", "slos", "best", "confirmation", "gate")
    return {
        "schema": RECEIPT_SCHEMA,
        **{key: result[key] for key in kept},
        "client": client,
        "files": [{"path": path, "sha256": digest} for path, digest in files],
    }


def of_setting(setting: Setting, stock: Point) -> dict[str, object]:
    """Write one setting with its levels."""
    return {
        "name": setting.name,
        "flag": setting.flag,
        "switch": setting.switch,
        "levels": list(setting.levels),
        "stock": dict(stock).get(setting.name, ""),
        "default": setting.default,
        "affects": setting.affects,
        "source": setting.source,
    }


def share(interval: Interval) -> dict[str, float | None]:
    """Write an interval of a logarithm as shares; what is not bounded is null."""
    return {name: _share(getattr(interval, name)) for name in ("value", "low", "high")}


def _asked(about: About, goal: Goal) -> dict[str, object]:
    cell = about.cell
    return {
        "package": about.package,
        "build": about.build,
        "system": about.system,
        "devices": about.devices,
        "workload": {
            "name": cell.name,
            "concurrency": cell.concurrency,
            "requests": cell.requests,
            "warmup_requests": cell.warmup_requests,
            "input_tokens": cell.input_tokens,
            "output_tokens": cell.output_tokens,
            "seed": about.workload_seed,
        },
        "objective": [
            {"measure": one.name, "unit": one.unit, "higher_is_better": one.higher_is_better} for one in goal.objectives
        ],
        "slos": [{"measure": limit.figure, "limit": limit.most} for limit in goal.limits],
    }


def _trial(placed: Placed, goal: Goal, stock: Point) -> dict[str, object]:
    one = placed.trial
    outcome = one.outcome
    return {
        "number": one.number,
        "role": one.role,
        "worker": one.worker,
        "point": dict(one.point),
        "changed": dict(changed(one.point, stock)),
        "outcome": one.kind,
        "reason": outcome.reason if outcome else "",
        "seconds": _rounded(outcome.seconds) if outcome else None,
        "start_seconds": _rounded(outcome.start_seconds) if outcome else None,
        "figures": {name: _rounded(value) for name, value in outcome.figures.items()} if outcome else {},
        "missing": dict(outcome.missing) if outcome else {},
        "blocks": [_rounded(speed) for speed in outcome.blocks] if outcome else [],
        "values": None if placed.values is None else [_rounded(value) for value in placed.values],
        "scale": [_rounded(level) for level in placed.scale],
        "violations": [_rounded(over) for over in goal.violations(outcome)] if placed.values is not None else [],
        "eligible": placed.eligible,
        "folder": f"trials/{one.number:04}",
        "receipt": bool(outcome and outcome.receipt),
    }


def _level(one: Excluded) -> dict[str, str]:
    name, level = one.point[0]
    return {"setting": name, "level": level, "by": one.by, "why": one.why}


def _pruned(one: Excluded, stock: Point) -> dict[str, object]:
    return {"point": dict(one.point), "changed": dict(changed(one.point, stock)), "by": one.by, "why": one.why}


def _wall(one: NeverAgain, now: View) -> dict[str, object]:
    levels = set(one.point)
    return {
        "never_again": dict(one.point),
        "by": "named" if one.named else "combination",
        "trial": one.trial,
        "reason": one.reason,
        "wall": one.wall.wall,
        "rule": one.wall.rule,
        "log": one.wall.log,
        "kept_out": sum(out.by == "wall" and levels <= set(out.point) for out in now.state.pruned),
    }


def _baselines(standing: Standing) -> list[dict[str, object]]:
    return [
        {
            "trial": one.trial,
            "value": _rounded(one.values[0]),
            "against_first": share(one.against_first),
            "drifted": one.drifted,
        }
        for one in standing.baselines
    ]


def _best(standing: Standing, space: Space) -> dict[str, object] | None:
    best, stock = standing.best, standing.stock
    if best is None or best.values is None:
        return None
    over = None if stock is None or stock.values is None else best.values[0] / stock.values[0] - 1
    return {
        "trial": best.trial.number,
        "point": dict(best.trial.point),
        "changed": dict(changed(best.trial.point, space.stock)),
        "flags": list(flags_of(space, best.trial.point)),
        "values": [_rounded(value) for value in best.values],
        "over_stock": None if over is None else _rounded(over),
    }


def _share(log_ratio: float) -> float | None:
    return _rounded(math.expm1(log_ratio)) if math.isfinite(log_ratio) else None


def _rounded(value: float) -> float:
    return round(value, _DECIMALS)
