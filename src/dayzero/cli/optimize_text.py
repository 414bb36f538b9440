"""A study in words: where it stands, what it found, and which flags mattered."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dayzero.optimize.model import Point, changed, in_words
from dayzero.optimize.objective import Goal
from dayzero.optimize.plan import View

_NAMED: Final = 12
_WHY: Final = 110
_REST: Final = "and {} more, in result.json"


def standing_words(now: View, goal: Goal, stock: Point) -> str:
    """Say in a few words where a search stands: the best so far, starts and seconds.

    Args:
        now: Where it stands.
        goal: What it is after.
        stock: The package as it is.
    """
    best, front = now.standing.best, now.standing.front
    fields = []
    if len(goal.objectives) > 1:
        fields.append(f"front of {len(front)}")
    if best is not None and best.values is not None:
        words = in_words(changed(best.trial.point, stock))
        fields.append(f"best {goal.objectives[0].name} {best.values[0]:.4g} ({words})")
    starts = len(now.state.trials)
    fields.append(f"{starts} starts" if now.left is None else f"{starts} starts, {now.left} left")
    fields.append(f"{now.state.spent_s:.0f} s spent, {max(now.left_s, 0):.0f} s left")
    return ", ".join(fields)


def result_lines(result: Mapping[str, Any], study: Path) -> Iterator[str]:
    """Write the result of a study.

    Args:
        result: Its document.
        study: Its folder.
    """
    load, space = result["workload"], result["space"]
    yield f"{result['package']} on {result['build']}, {result['system']}"
    yield (
        f"load       {load['name']}: {load['requests']} requests after {load['warmup_requests']} of warm-up, "
        f"{load['concurrency']} in flight, {load['input_tokens']} tokens in, {load['output_tokens']} out"
    )
    yield f"space      {space['points']:,} combinations of {len(space['settings'])} settings, {space['points_before']:,} before"
    for one in result["notes"]:
        yield f"note       {one}"
    yield from _taken_out(result)
    yield ""
    yield from _table(result)
    yield from _walls(result)
    yield from _drift(result)
    saved = result["saved"]
    yield (
        f"spent      {result['spent_s']:.0f} s of {result['budget_s']:.0f} s; {result['device_seconds']:.0f} device-seconds; "
        f"saved {saved['device_seconds']:.0f} more: {saved['pruned_points']} never started, {saved['stopped_trials']} ended early"
    )
    yield from _confirmation(result)
    yield ""
    said = result["because"]
    yield f"{result['verdict']}: {said[0]}"
    yield from (f"  {sentence}" for sentence in said[1:])
    if result["winner"]:
        yield f"  package: {study / result['winner']} (next: dayzero kit build {study / result['winner']})"
    yield f"kept: {study / 'result.json'}"


def explained_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Write which flags mattered."""
    yield f"{found['study']}: {found['objective']} of {found['trials']} trials"
    if not found["importance"]:
        yield "importance: too few trials, or none of them differ"
    for one in found["importance"]:
        yield f"  {one['share']:>6.1%}  {one['setting']}  ({one['evaluator']})"
    yield (
        "pairs of trials that differ in one flag alone:" if found["contrasts"] else "no pair differs in one flag alone"
    )
    for one in found["contrasts"]:
        span = "" if one["low"] is None else f" [{one['low'] - 1:+.1%}, {one['high'] - 1:+.1%}]"
        pairs = ", ".join(f"{a} and {b}" for a, b in one["pairs"])
        yield f"  {one['setting']} {one['from']} to {one['to']}: {one['ratio'] - 1:+.1%}{span}  (trials {pairs})"
    for name in found["correlation_only"]:
        yield f"only correlation: {name}; no two trials differ in it alone"


def _taken_out(result: Mapping[str, Any]) -> Iterator[str]:
    for one in result["space"]["excluded"]:
        yield _short(f"left out   {one['setting']} {one['level']} ({one['by']}): {one['why']}")
    for one in result["pruned"][:_NAMED]:
        yield _short(f"no start   {_words(one['changed'])} ({one['by']}): {one['why']}")
    if len(result["pruned"]) > _NAMED:
        yield f"no start   {_REST.format(len(result['pruned']) - _NAMED)}"


def _table(result: Mapping[str, Any]) -> Iterator[str]:
    names = [one["measure"] for one in result["objective"]]
    head = "  ".join(f"{name:>14}" for name in names)
    yield f"trial  role      outcome          {head}  seconds  changed"
    best = (result["best"] or {}).get("trial")
    for one in result["trials"]:
        values = one["values"] or [None] * len(names)
        cells = "  ".join(f"{'-' if value is None else format(value, '.2f'):>14}" for value in values)
        marks = ("*" if one["number"] == best else "") + ("" if one["eligible"] or not one["values"] else "!")
        seconds = "-" if one["seconds"] is None else f"{one['seconds']:.1f}"
        yield f"{one['number']:>4}{marks:<2} {one['role']:<9} {one['outcome']:<16} {cells}  {seconds:>7}  {_words(one['changed'])}"
        if one["reason"]:
            yield _short(f"       {one['reason']}")
    if any(one["values"] and not one["eligible"] for one in result["trials"]):
        yield "!  a limit is broken"


def _walls(result: Mapping[str, Any]) -> Iterator[str]:
    for one in result["walls"]:
        by = "named by its log" if one["by"] == "named" else "all that was changed"
        wall = f"{one['wall']}, " if one["wall"] else ""
        yield f"wall       never again {_words(one['never_again'])} ({wall}{by}; trial {one['trial']}); kept out {one['kept_out']}"


def _drift(result: Mapping[str, Any]) -> Iterator[str]:
    for one in result["baselines"][1:]:
        moved = one["against_first"]
        span = "" if moved["low"] is None else f" [{moved['low']:+.1%}, {moved['high']:+.1%}]"
        said = "moved: trials since the last good baseline are put on its scale" if one["drifted"] else "not moved"
        yield f"baseline   trial {one['trial']}: {moved['value']:+.1%}{span} against the first; {said}"


def _confirmation(result: Mapping[str, Any]) -> Iterator[str]:
    found, gate = result["confirmation"], result["gate"]
    if found is None:
        return
    arms = f", both with {' '.join(found['with'])}" if found["with"] else ""
    span = found["difference"]
    said = "" if span is None else f": {span['value']:+.2%} [{span['low']:+.2%}, {span['high']:+.2%}]"
    yield f"confirmed  {found['pairs']} pairs of windows against the package as it is{arms}: {found['verdict']}{said}"
    yield f"gate       {gate['verdict'] or 'not asked'}: {gate['because'][0]}"


def _words(point: Mapping[str, str]) -> str:
    return in_words(tuple(point.items()))


def _short(text: str) -> str:
    return text if len(text) <= _WHY else f"{text[:_WHY]}..."
