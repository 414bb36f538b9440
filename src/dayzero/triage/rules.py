"""Try the walls' rules on an exception or a line, and read the values that they carry."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from dayzero.advisories.walls.model import Condition, On, WallRule
from dayzero.triage.model import Quantity
from dayzero.triage.records import Entry
from dayzero.triage.sieve import Sieve, needed
from dayzero.triage.traceback import Raised, Trace

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?$")
_TO_GIB = {"GIB": 1.0, "GB": 1.0, "MIB": 1 / 1024, "MB": 1 / 1024, "KIB": 1 / 1048576, "TIB": 1024.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A rule that holds.

    Attributes:
        rule: The rule.
        number: Line on which its pattern begins.
        line: That line's text.
        said: The text that matched.
        numbers: What it carries.
        evidence: Lines that it was read with.
    """

    rule: WallRule
    number: int
    line: str
    said: str
    numbers: tuple[Quantity, ...]
    evidence: tuple[Entry, ...]


class Context:
    """The log that rules may look around in; what was looked for once is remembered.

    Args:
        entries: Its lines, in order.
        traces: Its tracebacks.
        rules: The rules that may hold in it, the more particular ones first.
    """

    def __init__(self, entries: Sequence[Entry], traces: Sequence[Trace], rules: Sequence[WallRule]) -> None:
        self.entries, self.traces, self.rules = entries, traces, tuple(rules)
        self.sieve = _sieve(tuple(rule.line for rule in rules))
        self._like: dict[re.Pattern[str], list[tuple[Entry, re.Match[str]]]] = {}
        self._ranks: dict[tuple[str, str], float] = {}

    def like(self, pattern: re.Pattern[str]) -> list[tuple[Entry, re.Match[str]]]:
        """Give the lines that hold a pattern, each with the match."""
        if pattern not in self._like:
            words = needed(pattern)
            near = (one for one in self.entries if not words or any(word in one.text for word in words))
            self._like[pattern] = [(one, found) for one in near if (found := pattern.search(one.text))]
        return self._like[pattern]

    def over_ranks(self, name: str, rule: WallRule) -> float:
        """Count the ranks whose exception a rule matches (``ranks``), or the values of a group over them (``distinct_GROUP``)."""
        if (name, rule.id) not in self._ranks:
            self._ranks[name, rule.id] = _over_ranks(name, self.traces, rule)
        return self._ranks[name, rule.id]


@cache
def _sieve(patterns: tuple[re.Pattern[str], ...]) -> Sieve:
    return Sieve(patterns)


def spoken(rules: Sequence[WallRule], engine: str) -> tuple[WallRule, ...]:
    """Give the rules that may hold in a log that this engine wrote; all of them where the log names none."""
    return tuple(rule for rule in rules if not engine or not rule.engines or engine in rule.engines)


def _quantities(rule: WallRule, found: re.Match[str], number: int) -> list[Quantity]:
    given = found.groupdict()
    quantities = []
    for name, value in given.items():
        if value is None or name.endswith("_unit"):
            continue
        unit = given.get(f"{name}_unit") or rule.units.get(name, "")
        quantities.append(Quantity(name=name, value=value.strip(), unit=unit, line=number))
    return quantities


def _value(name: str, quantities: Sequence[Quantity], context: Context, rule: WallRule) -> float | None:
    if _NUMBER.match(name):
        return float(name.replace(",", ""))
    if name == "ranks" or name.startswith("distinct_"):
        return context.over_ranks(name, rule)
    if name == "others":
        parts = [_value(part, quantities, context, rule) for part in ("total", "free", "own")]
        total, *rest = (part for part in parts if part is not None) if None not in parts else (None,)
        return total - sum(rest) if total is not None else None
    for quantity in quantities:
        if quantity.name == name and _NUMBER.match(quantity.value):
            value = float(quantity.value.replace(",", ""))
            return value * _TO_GIB.get(quantity.unit.upper(), 1.0)
    return None


def _over_ranks(name: str, traces: Sequence[Trace], rule: WallRule) -> float:
    seen: dict[tuple[str, str], str] = {}
    group = name.removeprefix("distinct_")
    for trace in traces:
        for raised in trace.raised:
            found = rule.line.search(raised.text)
            if found and (trace.process or trace.pid):
                seen[trace.process, trace.pid] = (found.groupdict().get(group) or "") if group != "ranks" else ""
    return float(len(seen) if name == "ranks" else len(set(seen.values())))


def _holds(condition: Condition, quantities: Sequence[Quantity], context: Context, rule: WallRule) -> bool:
    left, right = (_value(side, quantities, context, rule) for side in (condition.left, condition.right))
    return left is not None and right is not None and _COMPARE[condition.operator](left, right)


def _with_evidence(
    rule: WallRule, number: int, service: str, context: Context
) -> list[tuple[Entry, re.Match[str]]] | None:
    """Find each evidence line nearest before the root, else the first after it; ``None`` when a required one is missing."""
    collected = []
    for evidence in rule.evidence:
        near = [pair for pair in context.like(evidence.line) if pair[0].service in (service, "")]
        before = [pair for pair in near if pair[0].number <= number]
        if near:
            collected.append(before[-1] if before else near[0])
        elif evidence.required:
            return None
    return collected


def _match(rule: WallRule, text: str, numbers: Sequence[int], service: str, context: Context) -> Match | None:
    found = rule.line.search(text)
    if found is None:
        return None
    at = text.count("\n", 0, found.start())
    number = numbers[min(at, len(numbers) - 1)]
    seen = _with_evidence(rule, number, service, context)
    if seen is None:
        return None
    quantities = _quantities(rule, found, number)
    for entry, other in seen:
        quantities += _quantities(rule, other, entry.number)
    if not all(_holds(condition, quantities, context, rule) for condition in rule.when):
        return None
    return Match(
        rule=rule,
        number=number,
        line=text.split("\n")[at],
        said=found[0],
        numbers=tuple(quantities),
        evidence=tuple(entry for entry, _ in seen),
    )


def match_exception(raised: Raised, service: str, context: Context) -> Match | None:
    """Find the first rule that knows an exception."""
    text = raised.text
    frames = "\n".join(f"{frame.file}:{frame.function}" for frame in raised.frames)
    for index in context.sieve.candidates(text):
        rule = context.rules[index]
        if rule.on is On.LINE or not rule.exception.search(raised.type):
            continue
        if rule.frame.pattern and not rule.frame.search(frames):
            continue
        match = _match(rule, text, [number for number, _ in raised.lines], service, context)
        if match:
            return match
    return None


def match_line(entry: Entry, context: Context) -> Match | None:
    """Find the first rule that knows a line outside an exception."""
    for index in context.sieve.candidates(entry.text):
        rule = context.rules[index]
        if rule.on is On.EXCEPTION or rule.exception.pattern or rule.frame.pattern:
            continue
        match = _match(rule, entry.text, [entry.number], entry.service, context)
        if match:
            found = rule.line.search(entry.text)
            return replace(match, number=entry.line_of(found.start())) if found and entry.starts else match
    return None
