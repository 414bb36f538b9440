"""What the one-page report of a study shows, ready for a template: the verdict first, then what it rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.bench.foreign.fields import at, items, number, numbers, text
from dayzero.bench.page import FileView
from dayzero.bench.plot import Plot
from dayzero.optimize.page_plots import plots, words_of

_GOOD: Final = ("BETTER", "NO-BETTER-FOUND")
_WORDS: Final[Mapping[str, str]] = {
    "BETTER": "Better",
    "NO-BETTER-FOUND": "No better one found",
    "UNCONFIRMED": "UNCONFIRMED",
    "NOT-THE-SAME": "NOT THE SAME",
    "DOES-NOT-SERVE": "DOES NOT SERVE",
    "UNDECIDED": "UNDECIDED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """One trial: its number, why it was made, what it changed, how it ended and why, its figures, its seconds, its folder."""

    number: str
    role: str
    worker: str
    changed: str
    outcome: str
    values: tuple[str, ...]
    seconds: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WallView:
    """What is never started again: the levels, who named them, what was seen and where, and what it kept from a start."""

    never_again: str
    by: str
    reason: str
    wall: str
    log: str
    kept_out: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastView:
    """What one flag did among trials that differ in it alone."""

    setting: str
    change: str
    pairs: str
    effect: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyView:
    """The whole page.

    Attributes:
        title: The package and what was asked for.
        word, good: The verdict, and whether it answers the question.
        because: What was found.
        facts: (name, text) of what was searched, how long, and with what.
        confirmation: (name, text) of the comparison of the winner with the package as it is.
        plots: The pictures.
        measures: Names and units of the columns of figures.
        trials: In order.
        walls: What failed.
        excluded: (what, by whom, why) of all that was taken out before a start.
        contrasts: What single flags did.
        correlation_only: Settings whose effect no pair of trials isolates.
        baselines: (trial, value, against the first, whether it had moved).
        notes: What could not be looked at.
        files: What the page stands on.
    """

    title: str
    word: str
    good: bool
    because: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    confirmation: tuple[tuple[str, str], ...]
    plots: tuple[Plot, ...]
    measures: tuple[str, ...]
    trials: tuple[TrialView, ...]
    walls: tuple[WallView, ...]
    excluded: tuple[tuple[str, str, str], ...]
    contrasts: tuple[ContrastView, ...]
    correlation_only: tuple[str, ...]
    baselines: tuple[tuple[str, str, str, str], ...]
    notes: tuple[str, ...]
    files: tuple[FileView, ...]


def study_page(
    result: Mapping[str, object], explanation: Mapping[str, object] | None, files: Sequence[FileView]
) -> StudyView:
    """Arrange a study for the template.

    Args:
        result: Its result's document, ``dayzero/optimize/v1``.
        explanation: Which flags mattered, ``dayzero/optimize-explain/v1``; ``None`` where that could not be said.
        files: The files that it stands on, with their digests.
    """
    verdict = text(result, "verdict")
    measures = tuple(f"{text(one, 'measure')}, {text(one, 'unit')}" for one in items(result, "objective"))
    return StudyView(
        title=f"{text(result, 'package')}: which flags serve {text(result, 'workload', 'name')} best?",
        word=_WORDS.get(verdict, verdict),
        good=verdict in _GOOD,
        because=tuple(map(str, items(result, "because"))),
        facts=_facts(result, measures),
        confirmation=_confirmation(result),
        plots=plots(result, explanation),
        measures=measures,
        trials=tuple(_trial(one, len(measures)) for one in items(result, "trials")),
        walls=tuple(map(_wall, items(result, "walls"))),
        excluded=(*map(_level, items(result, "space", "excluded")), *map(_pruned, items(result, "pruned"))),
        contrasts=tuple(map(_contrast, items(explanation or {}, "contrasts"))),
        correlation_only=tuple(map(str, items(explanation or {}, "correlation_only"))),
        baselines=tuple(map(_baseline, items(result, "baselines"))),
        notes=tuple(map(str, items(result, "notes"))),
        files=tuple(files),
    )


def _facts(result: Mapping[str, object], measures: Sequence[str]) -> tuple[tuple[str, str], ...]:
    load = at(result, "workload")
    size = f"{_plain(at(load, 'input_tokens'))} tokens in, {_plain(at(load, 'output_tokens'))} out, seed {at(load, 'seed')}"
    sent = f"{_plain(at(load, 'requests'))} requests, {_plain(at(load, 'concurrency'))} in flight"
    tried = f"{_plain(at(result, 'space', 'points'))} of {_plain(at(result, 'space', 'points_before'))} could be tried"
    limits = ", ".join(f"{text(one, 'measure')} at most {_plain(at(one, 'limit'))}" for one in items(result, "slos"))
    best = at(result, "best")
    over = number(best, "over_stock")
    return (
        ("Build", text(result, "build")),
        ("System", f"{text(result, 'system')}, counted as {_plain(at(result, 'devices'))}"),
        ("Load of a trial", f"{sent}, {size}"),
        ("Objective", "; ".join(measures)),
        ("Limits", limits or "none"),
        ("Time of trials", f"{_plain(at(result, 'spent_s'))} s of {_plain(at(result, 'budget_s'))} s"),
        ("Combinations", f"{tried}, {len(items(result, 'trials'))} were started"),
        (
            "Best in the search",
            "none" if best is None else f"trial {at(best, 'trial')}: {words_of(at(best, 'changed'))}",
        ),
        *((("Over the package, in the search", f"{over:+.1%}"),) if over is not None and at(best, "changed") else ()),
    )


def _confirmation(result: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    found = at(result, "confirmation")
    gate = at(result, "gate")
    asked = at(gate, "asked") is True
    certified = f"{text(gate, 'verdict')} {text(gate, 'because')}".strip() if asked else "was not asked"
    if found is None:
        return (("Confirmation", "none was made"), ("Distribution gate", certified))
    common = " ".join(map(str, items(found, "with")))
    return (
        ("Confirmation", f"{text(found, 'verdict')} in {_plain(at(found, 'pairs'))} pairs of windows"),
        ("Difference", f"{_interval(at(found, 'difference'))}, margin {_share(number(found, 'margin'))}"),
        *((("Flags of both arms", common),) if common else ()),
        ("Distribution gate", certified),
        *((("Winner", text(result, "winner")),) if text(result, "winner") else ()),
    )


def _trial(one: object, columns: int) -> TrialView:
    values = tuple(f"{value:,.4g}" for value in numbers(one, "values")) or ("-",) * columns
    reason = text(one, "reason")
    seconds = number(one, "seconds")
    return TrialView(
        number=str(at(one, "number")),
        role=text(one, "role"),
        worker=text(one, "worker"),
        changed=words_of(at(one, "changed")),
        outcome=text(one, "outcome").replace("-", " ") + (f": {reason}" if reason else ""),
        values=values,
        seconds="-" if seconds is None else f"{seconds:,.1f}",
        folder=text(one, "folder"),
    )


def _wall(one: object) -> WallView:
    return WallView(
        never_again=words_of(at(one, "never_again")),
        by="its log names them" if text(one, "by") == "named" else "all that differed from the package",
        reason=f"trial {at(one, 'trial')}: {text(one, 'reason')}",
        wall=text(one, "wall"),
        log=text(one, "log"),
        kept_out=_plain(at(one, "kept_out")),
    )


def _level(one: object) -> tuple[str, str, str]:
    return f"{text(one, 'setting')} {text(one, 'level')}".strip(), text(one, "by"), text(one, "why")


def _pruned(one: object) -> tuple[str, str, str]:
    return words_of(at(one, "changed")), text(one, "by"), text(one, "why")


def _contrast(one: object) -> ContrastView:
    ratio = number(one, "ratio")
    low, high = number(one, "low"), number(one, "high")
    pairs = len(items(one, "pairs"))
    return ContrastView(
        setting=text(one, "setting"),
        change=f"{at(one, 'from')} to {at(one, 'to')}",
        pairs=str(pairs),
        effect="-" if ratio is None else f"times {ratio:.3f}",
        interval=_bounds(low, high) if pairs > 1 else "one pair has none",
    )


def _bounds(low: float | None, high: float | None) -> str:
    return "not bounded" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _baseline(one: object) -> tuple[str, str, str, str]:
    value = number(one, "value")
    moved = "moved" if at(one, "drifted") is True else "held"
    return str(at(one, "trial")), "-" if value is None else f"{value:,.4g}", _interval(at(one, "against_first")), moved


def _interval(value: object) -> str:
    """Write a share with its interval."""
    return f"{_share(number(value, 'value'))} ({_share(number(value, 'low'))} to {_share(number(value, 'high'))})"


def _share(value: float | None) -> str:
    return "unbounded" if value is None else f"{value:+.1%}"


def _plain(value: object) -> str:
    match value:
        case None:
            return "unknown"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}".removesuffix(".0")
        case _:
            return str(value)
