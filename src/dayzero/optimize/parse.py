"""Read settings and relations out of a parsed TOML document: an engine's own list, or the user's file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from dayzero.core.errors import InputError
from dayzero.optimize.model import OFF, ON, Clause, Relation, Setting

_CLAUSE: Final = re.compile(r"(\S+)\s+(<=|>=|==|!=|<|>)\s+(\S+)")
_KEYS: Final = {"flag", "values", "range", "switch", "default", "affects", "source"}
_RELATION_KEYS: Final = {"when", "effect", "says", "source"}
_MOST_LEVELS: Final = 64


def settings(document: Mapping[str, Any], place: str, known: Sequence[Setting] = ()) -> tuple[Setting, ...]:
    """Read every ``[[setting]]``.

    Args:
        document: The parsed file.
        place: What to call it in errors.
        known: Settings that an entry with nothing but a flag stands for.

    Raises:
        InputError: An entry is not one, or two are about one flag.
    """
    found = tuple(_setting(entry, place, {one.flag: one for one in known}) for entry in _tables(document, "setting"))
    names = [one.flag for one in found]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise InputError(f"{place} has {twice} twice", hint="Give each flag once.")
    return found


def relations(document: Mapping[str, Any], place: str) -> tuple[Relation, ...]:
    """Read every ``[[relation]]``.

    Raises:
        InputError: An entry is not one.
    """
    return tuple(_relation(entry, place) for entry in _tables(document, "relation"))


def _tables(document: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    entries = document.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{name} is no list of tables", hint=f"Write [[{name}]].")
    return entries


def _setting(entry: Mapping[str, Any], place: str, known: Mapping[str, Setting]) -> Setting:
    flag = _text(entry, "flag", place)
    _only(entry, _KEYS, f"{place}, {flag}")
    if not flag.startswith("--"):
        raise InputError(f"{place}: {flag!r} is no flag", hint="Write it with its two dashes.")
    if not {"values", "range", "switch"} & entry.keys():
        if flag not in known:
            raise InputError(f"{place}: nothing is known of {flag}", hint="Give its values, a range or a switch.")
        return known[flag]
    like = known.get(flag, Setting(flag=flag, levels=(), source=place))
    about = Setting(
        flag=flag,
        levels=(),
        default=str(entry.get("default", like.default)),
        affects=str(entry.get("affects", like.affects)),
        source=str(entry.get("source", like.source)),
    )
    if "switch" in entry:
        levels = _listed(entry.get("values", [ON, OFF]), place, flag)
        if not levels or set(levels) - {ON, OFF}:
            raise InputError(f"{place}: {flag} is a switch", hint='Its values are "on" and "off".')
        return replace(about, switch=_text(entry, "switch", place), levels=levels)
    levels = _stepped(entry["range"], f"{place}, {flag}") if "range" in entry else _listed(entry["values"], place, flag)
    if len(set(levels)) != len(levels) or not levels:
        raise InputError(f"{place}: {flag} has no values, or one twice", hint="Give each value once.")
    return replace(about, levels=levels)


def _listed(values: object, place: str, flag: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(one, str | int | float) for one in values):
        raise InputError(f"{place}: the values of {flag} are no list of words and numbers", hint='values = ["8", "64"]')
    return tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in values)


def _stepped(given: object, place: str) -> tuple[str, ...]:
    if not isinstance(given, dict) or not {"from", "to"} <= given.keys() or not {"factor", "step"} & given.keys():
        raise InputError(f"{place}: not a range", hint="range = { from = 1024, to = 32768, factor = 2 }, or step = 1.")
    numbers = [given[key] for key in ("from", "to")] + [given.get("factor", given.get("step"))]
    low, high, by = (one if isinstance(one, int) else 0 for one in numbers)
    if not 0 < low <= high or by < (2 if "factor" in given else 1):
        raise InputError(f"{place}: the range never reaches its end", hint="Give whole numbers above 0, upwards.")
    levels = [low]
    while (more := levels[-1] * by if "factor" in given else levels[-1] + by) <= high and len(levels) <= _MOST_LEVELS:
        levels.append(more)
    if len(levels) > _MOST_LEVELS:
        raise InputError(f"{place}: a range of more than {_MOST_LEVELS} values", hint="Give larger steps.")
    return tuple(map(str, levels))


def _relation(entry: Mapping[str, Any], place: str) -> Relation:
    _only(entry, _RELATION_KEYS, place)
    clauses = entry.get("when")
    if not isinstance(clauses, list) or not clauses:
        raise InputError(f"{place}: a relation without when", hint='when = ["--n-ubatch > --n-batch"]')
    effect = _text(entry, "effect", place)
    if effect not in {"refused", "ignored"}:
        raise InputError(f"{place}: a relation's effect is not {effect!r}", hint="Give refused or ignored.")
    return Relation(
        when=tuple(_clause(str(one), place) for one in clauses),
        effect="refused" if effect == "refused" else "ignored",
        says=_text(entry, "says", place),
        source=str(entry.get("source", place)),
    )


def _clause(text: str, place: str) -> Clause:
    match = _CLAUSE.fullmatch(text.strip())
    if match is None or not match[1].startswith("--"):
        raise InputError(f"{place}: not a comparison: {text!r}", hint='Write "--FLAG > --FLAG", a number or a word.')
    operator = next(one for one in get_args(Clause.__annotations__["operator"]) if one == match[2])
    return Clause(left=match[1], operator=operator, right=match[3])


def _text(entry: Mapping[str, Any], key: str, place: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f"{place}: {key} is missing", hint=f"Give {key} as text.")
    return value


def _only(entry: Mapping[str, Any], keys: set[str], place: str) -> None:
    unknown = sorted(entry.keys() - keys)
    if unknown:
        raise InputError(f"{place}: no key {unknown[0]!r}", hint=f"Use {', '.join(sorted(keys))}.")
