"""Build the space around a package, and turn a combination into a command line."""

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

from dayzero.optimize.command_line import values_of, with_words
from dayzero.optimize.model import (
    OFF,
    ON,
    UNSET,
    Clause,
    Point,
    Refusal,
    Relation,
    Setting,
    Space,
    changed,
    is_number,
)

_OPERATORS: Final[Mapping[str, Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def space_around(flags: Sequence[str], settings: Sequence[Setting], relations: Sequence[Relation]) -> Space:
    """Put a package's own level into each setting, and start there.

    Args:
        flags: The package's command line.
        settings: What may be changed.
        relations: What the engine refuses or ignores.
    """
    around = tuple(_with_stock(setting, flags) for setting in settings)
    stock = tuple((setting.name, _level(setting, flags)) for setting in around)
    return Space(settings=around, stock=stock, flags=tuple(flags), relations=tuple(relations))


def flags_of(space: Space, point: Point) -> tuple[str, ...]:
    """Write the command line of a combination; what does not differ from the package stays word for word."""
    words, before = space.flags, dict(space.stock)
    for setting, (_, level) in zip(space.settings, point, strict=True):
        if level != before[setting.name]:
            own = (setting.flag, setting.switch) if setting.switch else (setting.flag,)
            words = with_words(words, own, setting.words(level))
    return words


def refused(relations: Sequence[Relation], words: Sequence[str]) -> Refusal | None:
    """Say which relation speaks against a command line."""
    for one in relations:
        if all(_holds(clause, words) for clause in one.when):
            effect = "the engine refuses it" if one.effect == "refused" else "the engine takes it and ignores a part"
            return Refusal("relation", f"{one.says}: {effect} ({one.source})")
    return None


def narrowed(space: Space, gone: Mapping[str, frozenset[str]]) -> Space:
    """Take levels out; a setting of which only the package's own is left is no setting."""
    stock = dict(space.stock)
    kept = tuple(
        replace(one, levels=tuple(level for level in one.levels if level not in gone.get(one.name, ())))
        for one in space.settings
    )
    varied = tuple(one for one in kept if set(one.levels) - {stock[one.name]})
    names = {one.name for one in varied}
    return replace(space, settings=varied, stock=tuple(pair for pair in space.stock if pair[0] in names))


def singles(space: Space) -> Iterator[Point]:
    """Give every combination that differs from the package in one setting."""
    for setting in space.settings:
        for level in setting.levels:
            point = tuple((name, level if name == setting.name else old) for name, old in space.stock)
            if changed(point, space.stock):
                yield point


def count(space: Space) -> int:
    """Count the combinations, the package included."""
    return math.prod(len(setting.levels) for setting in space.settings)


def points(space: Space) -> Iterator[Point]:
    """Give every combination, in order."""
    names = [setting.name for setting in space.settings]
    for levels in product(*(setting.levels for setting in space.settings)):
        yield tuple(zip(names, levels, strict=True))


def projected(space: Space, flags: Sequence[str]) -> Point | None:
    """Say which combination another command line is; ``None`` where it has a level that the space lacks."""
    levels = [(setting, _level(setting, flags)) for setting in space.settings]
    if any(level not in setting.levels for setting, level in levels):
        return None
    return tuple((setting.name, level) for setting, level in levels)


def _with_stock(setting: Setting, flags: Sequence[str]) -> Setting:
    stock = _level(setting, flags)
    if stock in setting.levels:
        return setting
    whole = replace(setting, levels=(stock, *setting.levels))
    if not whole.ordered:
        return whole
    return replace(whole, levels=tuple(sorted(whole.levels, key=lambda level: float(whole.number(level)))))


def _level(setting: Setting, flags: Sequence[str]) -> str:
    given = values_of(flags, setting.flag)
    if setting.switch:
        return ON if given else OFF if values_of(flags, setting.switch) else UNSET
    return " ".join(given[-1]) if given and given[-1] else UNSET


def _holds(clause: Clause, words: Sequence[str]) -> bool:
    left, right = _value(clause.left, words), _value(clause.right, words)
    if is_number(left) and is_number(right):
        return bool(_OPERATORS[clause.operator](float(left), float(right)))
    if clause.operator in {"==", "!="}:
        return bool(_OPERATORS[clause.operator](left, right))
    return False  # what is not set is neither above nor below


def _value(term: str, words: Sequence[str]) -> str:
    if not term.startswith("--"):
        return term
    given = values_of(words, term)
    if not given:
        return UNSET
    return " ".join(given[-1]) or ON
