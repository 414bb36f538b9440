"""What the task gate says: as JSON, schema ``dayzero/gate-task/v1``, and in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dayzero.core.package import SKIPPED
from dayzero.gates.report import reasons, word
from dayzero.gates.task import Compared, TaskArm, TaskJudged, TaskPlan

SCHEMA: Final = "dayzero/gate-task/v1"

_POINTS: Final = 100


def plan_document(plan: TaskPlan) -> dict[str, object]:
    """Write what is fixed before the first request."""
    return {
        "task": plan.task,
        "margin": plan.margin,
        "alpha": plan.alpha,
        "limit": plan.limit or None,
        "filter": plan.filter or None,
        "metric": plan.metric or None,
        "most_unscorable": plan.most_unscorable,
        "most_truncated": plan.most_truncated,
        "seed": plan.seed,
    }


def document(
    judged: TaskJudged,
    *,
    served: Mapping[str, Mapping[str, object]],
    files: Sequence[tuple[str, str]],
    rules: Sequence[str],
) -> dict[str, object]:
    """Write the result.

    Args:
        judged: What was judged.
        served: For each arm what it was found to be.
        files: Name and digest of each file that it rests on.
        rules: The metric and the extraction rule of each task, in words.
    """
    return {
        "schema": SCHEMA,
        "verdict": word(judged.verdict),
        "reasons": list(reasons(judged.verdict)),
        "plan": plan_document(judged.plan),
        "rules": list(rules),
        "arms": {name: {**served.get(name, {}), **_arm(arm)} for name, arm in judged.arms.items()},
        "compared": None if judged.compared is None else _compared(judged.compared),
        "notes": list(judged.notes),
        "raw": [{"file": name, "sha256": digest} for name, digest in files],
    }


def skipped_document(plan: TaskPlan, reason: str) -> dict[str, object]:
    """Write that the gate was not run, and why: a word of its own, so that it is never taken for a result."""
    return {"schema": SCHEMA, "verdict": SKIPPED, "reasons": [reason], "plan": plan_document(plan)}


def _arm(arm: TaskArm) -> dict[str, object]:
    return {
        "items": len(arm.items),
        "right": arm.right,
        "unscorable": arm.unscorable,
        "truncated": arm.truncated,
        "failed": list(arm.failed),
        "rule_sha256": arm.rule,
    }


def _compared(found: Compared) -> dict[str, object]:
    table = found.table
    return {
        "both_right": table.both,
        "only_a_right": table.only_a,
        "only_b_right": table.only_b,
        "none_right": table.neither,
        "difference": table.difference,
        "low": found.low,
        "high": found.high,
        "level": found.level,
        "exact_p": found.exact_p,
        "mid_p": found.mid_p,
        "smallest_seen": found.seen,
        "items_needed": found.items_needed,
    }


def sentences(judged: TaskJudged) -> Iterator[str]:
    """Say what was found, the verdict first."""
    said = reasons(judged.verdict)
    yield f"{word(judged.verdict)}: {said[0]}"
    yield from (f"  {more}" for more in said[1:])
    for name, arm in judged.arms.items():
        yield (
            f"{name}: {arm.right} of {len(arm.items)} right; {arm.unscorable} unscorable, {arm.truncated} truncated, "
            f"{len(arm.failed)} failed"
        )
    found = judged.compared
    if found is not None:
        table = found.table
        yield f"discordant: {table.only_a} right in A alone, {table.only_b} in B alone, of {table.n} items"
        yield (
            f"difference: B less A {table.difference * _POINTS:+.1f} points [{found.low * _POINTS:+.1f}, "
            f"{found.high * _POINTS:+.1f}] at {found.level:.0%}; McNemar p {found.exact_p:.2g} exact, {found.mid_p:.2g} mid"
        )
        yield (
            f"could have seen: {found.seen * _POINTS:.1f} points, 4 times in 5; the margin of "
            f"{judged.plan.margin * _POINTS:g} points needs {found.items_needed} items"
        )
    rules = {arm.rule for arm in judged.arms.values() if arm.rule}
    yield from (f"extraction rule: sha256 {rule}" for rule in sorted(rules))
    yield from (f"note: {note}" for note in judged.notes)
