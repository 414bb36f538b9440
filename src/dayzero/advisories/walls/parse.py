"""Parse a wall's TOML text into its rules."""

import re
import tomllib
from types import MappingProxyType

import msgspec

from dayzero.advisories.walls.model import Condition, Evidence, On, Remedy, WallRule
from dayzero.core.errors import InputError

_CONDITION = re.compile(r"(?P<left>-?[\w.]+) *(?P<operator><=|>=|==|!=|<|>) *(?P<right>-?[\w.]+)$")


class _EvidenceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    line: str
    required: bool = False


class _ResolutionTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    text: str
    confirmed_by: str = ""
    reference: str = ""


class _RuleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    version: int
    category: str
    title: str
    line: str
    resolution: _ResolutionTable
    would_confirm: str
    priority: int = 0
    on: On = On.ANY
    exception: str = ""
    frame: str = ""
    explains: tuple[str, ...] = ()
    evidence: tuple[_EvidenceTable, ...] = ()
    when: tuple[str, ...] = ()
    units: dict[str, str] = {}
    refuses: bool = False
    decisive: bool = False
    engines: tuple[str, ...] = ()


class _WallTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    wall: str
    rule: tuple[_RuleTable, ...]


def _condition(text: str) -> Condition:
    found = _CONDITION.match(text)
    if found is None:
        raise ValueError(f"no condition: {text!r}")
    return Condition(left=found["left"], operator=found["operator"], right=found["right"])


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text.strip(), re.MULTILINE)
    except re.error as error:
        raise ValueError(f"no pattern: {text!r} ({error})") from error


def _rule(wall: str, table: _RuleTable) -> WallRule:
    line = _pattern(table.line)
    evidence = tuple(Evidence(line=_pattern(row.line), required=row.required) for row in table.evidence)
    named = set(line.groupindex).union(*(row.line.groupindex for row in evidence))
    if unknown := set(table.units) - named:
        raise ValueError(f"{table.id}: units for {', '.join(sorted(unknown))}, which no pattern names")
    return WallRule(
        id=table.id,
        version=table.version,
        wall=wall,
        category=table.category,
        title=table.title,
        priority=table.priority,
        on=table.on,
        line=line,
        exception=_pattern(table.exception),
        frame=_pattern(table.frame),
        explains=tuple(_pattern(text) for text in table.explains),
        evidence=evidence,
        when=tuple(_condition(text) for text in table.when),
        units=MappingProxyType(table.units),
        refuses=table.refuses,
        decisive=table.decisive,
        engines=table.engines,
        remedy=Remedy(
            text=" ".join(table.resolution.text.split()),
            confirmed_by=table.resolution.confirmed_by,
            reference=table.resolution.reference,
        ),
        would_confirm=" ".join(table.would_confirm.split()),
    )


def parse_wall(text: str, source: str) -> tuple[WallRule, ...]:
    """Parse the rules of one wall.

    Args:
        text: The TOML text.
        source: What to call it in errors.

    Raises:
        InputError: The text is not a wall.
    """
    try:
        table = msgspec.convert(tomllib.loads(text), _WallTable)
        return tuple(_rule(table.wall, rule) for rule in table.rule)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise InputError(f"{source}: {error}", hint="See docs/reference/walls.md for the keys.") from error


def in_order(rules: tuple[WallRule, ...]) -> tuple[WallRule, ...]:
    """Sort rules so that the more particular ones are tried first.

    Raises:
        InputError: Two rules have one id.
    """
    ids = [rule.id for rule in rules]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise InputError(f"two rules are called {', '.join(twice)}", hint="Give each rule an id of its own.")
    return tuple(sorted(rules, key=lambda rule: -rule.priority))
