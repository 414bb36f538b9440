"""Hold the fields of records to their forms; each function raises ``InputError`` or says nothing."""

import re
from collections.abc import Iterable

from dayzero.core.errors import InputError

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_RULE = re.compile(r"[a-z][a-z-]*@[1-9][0-9]*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def need_lines(first: int, last: int) -> None:
    """Refuse line numbers that are none: they are counted from 1, and a range goes up."""
    if not 1 <= first <= last:
        number = str(first) if first == last else f"{first}-{last}"
        raise InputError(f"not a line number: {number}", hint="Lines are counted from 1.")


def need_pointer(pointer: str) -> None:
    """Refuse what is no RFC 6901 pointer."""
    if not _POINTER.fullmatch(pointer):
        raise InputError(
            f"not a JSON pointer: {pointer!r}",
            hint="Begin with '/', and write '~0' for '~' and '~1' for '/' inside a name (RFC 6901).",
        )


def need_slug(slug: str) -> None:
    """Refuse what cannot be a handle in a page's markup."""
    if not _SLUG.fullmatch(slug):
        raise InputError(f"not a slug: {slug!r}", hint="Use letters, digits, '.', '_' and '-', in parts joined by '/'.")


def need_names(*names: str) -> None:
    """Refuse an empty name of a column, or of an archive's member."""
    if not all(names):
        raise InputError("a locator names nothing", hint="Give the name as the raw file has it.")


def need_span(offset: int, length: int) -> None:
    """Refuse what is no span of bytes: it starts at byte 0 or later, and holds at least one."""
    if offset < 0 or length < 1:
        raise InputError(
            f"not a span of bytes: {length} from {offset}", hint="Count from 0, and take at least one byte."
        )


def need_one_line(what: str, text: str) -> None:
    """Refuse a text that a citation could not hold: it stands on one line, with single spaces."""
    if text != " ".join(text.split()) or not text.isprintable():
        raise InputError(
            f"{what} cannot be cited on one line: {text!r}",
            hint="Leave out line breaks, control characters and repeated or surrounding spaces.",
        )


def need_text(what: str, text: str) -> None:
    """Refuse a text that is empty, or that a citation could not hold."""
    need_one_line(what, text)
    if not text:
        raise InputError(f"{what} is empty", hint="Say it.")


def need_distinct(what: str, names: Iterable[str]) -> None:
    """Refuse a name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two {what} are called {name!r}", hint="Give each its own name.")
        seen.add(name)


def need_cited(slug: str, cited: tuple[str, ...]) -> None:
    """Refuse cited slugs that are none, that name the record itself, or that repeat."""
    for other in cited:
        need_slug(other)
    if slug in cited:
        raise InputError(f"{slug} rests on itself", hint="Name other claims.")
    need_distinct(f"claims under {slug}", cited)


def need_reason(what: str, slug: str, reason: str) -> None:
    """Refuse an empty reason: it is what stays."""
    if not reason.strip():
        raise InputError(f"the {what} of {slug} gives no reason", hint="Say why; the reason is what stays.")


def need_printable(slug: str, **texts: str) -> None:
    """Refuse a label, value or unit that cannot be cited on one line."""
    for name, text in texts.items():
        need_one_line(f"the {name} of claim {slug}", text)
        if name == "value" and not text:
            raise InputError(f"claim {slug} has no value", hint="A claim says something; give what it says.")


def need_rule(rule: str, inputs: tuple[str, ...]) -> None:
    """Refuse what is no name and version of a rule, or has no inputs; whether this version has the rule is another matter."""
    if not _RULE.fullmatch(rule):
        raise InputError(f"not a rule: {rule!r}", hint="Give its name and version, as in ratio@1.")
    if not inputs:
        raise InputError(f"{rule} of nothing", hint="Name the claims that enter.")


def need_decimals(value: str, decimals: int) -> None:
    """Refuse a value that is not a plain number with so many decimals."""
    if not _NUMBER.fullmatch(value) or len(value.partition(".")[2]) != decimals:
        raise InputError(f"{value!r} is not a number with {decimals} decimals", hint="Let the rule compute it.")


def need_stamp(at: str) -> None:
    """Refuse a time that is not UTC, RFC 3339, to the second."""
    if not _STAMP.fullmatch(at):
        raise InputError(f"not a time: {at!r}", hint="Write UTC to the second, as in 2026-07-30T12:00:00Z.")
