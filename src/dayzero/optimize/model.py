"""What is searched and what a trial brought: settings with their levels, combinations, outcomes, and what is never tried again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

UNSET, ON, OFF = "unset", "on", "off"

Point: TypeAlias = tuple[tuple[str, str], ...]
"""One combination: (setting, level) for every setting of the space, in its order."""

Role: TypeAlias = Literal["stock", "baseline", "seed", "step", "sampled"]
Kind: TypeAlias = Literal[
    "measured",
    "stopped",
    "invalid",
    "died-at-start",
    "never-healthy",
    "died-under-load",
    "interrupted",
    "failed",
]
By: TypeAlias = Literal["build", "audit", "relation", "launch", "fit", "model", "wall"]

WALLED: Final = ("died-at-start", "never-healthy", "died-under-load")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One flag of the engine and the levels that are tried.

    Attributes:
        flag: As the command line takes it (``--n-batch``).
        levels: Its values, or ``on``, ``off`` and ``unset``; in order where they are numbers.
        switch: The flag that says the opposite, for one without a value; ``""`` for one with a value.
        default: The number that the engine takes where the flag is unset, for the order alone; ``""`` where it is not known.
        affects: What it changes, in words.
        source: Where the release shows it.
    """

    flag: str
    levels: tuple[str, ...]
    switch: str = ""
    default: str = ""
    affects: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        """The flag without its dashes."""
        return self.flag.removeprefix("--")

    @property
    def ordered(self) -> bool:
        """Whether its levels are numbers, so that one lies between others."""
        return not self.switch and all(is_number(self.number(level)) for level in self.levels)

    def number(self, level: str) -> str:
        """Give what a level counts as in the order."""
        return self.default if level == UNSET else level

    def words(self, level: str) -> tuple[str, ...]:
        """Give the words of a level on a command line."""
        if level == UNSET:
            return ()
        if self.switch:
            return (self.flag if level == ON else self.switch,)
        return (self.flag, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One comparison of a relation: a flag on the left; a flag, a number or a word on the right."""

    left: str
    operator: Literal["<", "<=", ">", ">=", "==", "!="]
    right: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A combination that the engine refuses, or takes and ignores.

    Attributes:
        when: All of them hold.
        effect: What it does then.
        says: Why, in words.
        source: Where the release shows it.
    """

    when: tuple[Clause, ...]
    effect: Literal["refused", "ignored"]
    says: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A level that is not tried, or a combination that was never started.

    Attributes:
        point: The settings in question: one for a level, all that differ from the package for a combination.
        by: Who took it out.
        why: What was found.
    """

    point: Point
    by: By
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Every combination that may be tried.

    Attributes:
        settings: In the order in which they are tried.
        stock: The package as it is.
        flags: Its command line.
        relations: What the engine refuses or ignores.
    """

    settings: tuple[Setting, ...]
    stock: Point
    flags: tuple[str, ...]
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a combination is not started."""

    by: By
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WallMet:
    """What a start or a run that failed ran into, as its log tells.

    Attributes:
        wall: Name of the wall, ``""`` where none is known.
        rule: Id of the rule that recognised it.
        names: Words of the log that name a setting: flags and keywords, as written there.
        log: Where the root stands (``trials/0003/logs/engine.log:12``).
    """

    wall: str = ""
    rule: str = ""
    names: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one trial.

    Attributes:
        kind: How it ended.
        reason: Why, where it is not ``measured``; one sentence.
        seconds: From before its start to after its stop.
        start_seconds: From the start to healthy; 0 where it never was.
        figures: Each figure by its measure (``output_tok_s``, ``ttft_ms.p50``), taken from the rows by an extractor.
        missing: Why a measure that was asked for has no figure.
        blocks: Answers a second in each block of the measured requests, in order.
        wall: What a failed one ran into.
        receipt: Whether its run is valid and has a receipt.
    """

    kind: Kind
    reason: str = ""
    seconds: float = 0.0
    start_seconds: float = 0.0
    figures: Mapping[str, float]
    missing: Mapping[str, str]
    blocks: tuple[float, ...] = ()
    wall: WallMet = WallMet()
    receipt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One start.

    Attributes:
        number: Unique in the study, whichever worker made it.
        role: Why this combination.
        worker: Who made it.
        point: The combination.
        at_s: When it began, seconds of the system's clock.
        outcome: What came of it; ``None`` while it runs, or where its worker was killed.
    """

    number: int
    role: Role
    worker: str
    point: Point
    at_s: float
    outcome: Outcome | None = None

    @property
    def kind(self) -> str:
        """How it ended, ``running`` while it has not."""
        return "running" if self.outcome is None else self.outcome.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverAgain:
    """A combination that no start may contain any more.

    Attributes:
        point: The settings and levels.
        named: Whether the log named them; else it is all that differed from the package.
        trial: Which trial showed it.
        reason: What was seen.
        wall: What it ran into.
    """

    point: Point
    named: bool
    trial: int
    reason: str
    wall: WallMet


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its two-sided interval."""

    value: float
    low: float
    high: float


def is_number(text: str) -> bool:
    """Say whether a level is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def changed(point: Point, stock: Point) -> Point:
    """Give the settings of a combination that differ from the package."""
    before = dict(stock)
    return tuple((name, level) for name, level in point if before.get(name) != level)


def moved(point: Point, name: str, level: str) -> Point:
    """Give the same combination with another level of one setting."""
    return tuple((one, level if one == name else old) for one, old in point)


def in_words(point: Point) -> str:
    """Write settings and levels for the reader (``n-batch 512, n-threads 2``)."""
    return ", ".join(f"{name} {level}" for name, level in point) or "the package as it is"
