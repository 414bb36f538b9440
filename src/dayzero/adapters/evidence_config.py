"""Read ``evidence.toml``: how a repository keeps its evidence, and what it asks of its pages. Errors name file, line and key."""

import re
import tomllib
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Any, TypeVar

import msgspec

from dayzero.adapters.package_files.positions import Path, line_of
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.evidence.citation import UNITS
from dayzero.evidence.rules import FOLDER, PUBLISHED, Comparison, Policy, Topic

CONFIG_NAME = "evidence.toml"

_SEE = "See docs/reference/evidence-toml.md for every key."
_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_FIELD = re.compile(r"unknown field `([^`]+)`")
_Table = TypeVar("_Table", bound=msgspec.Struct)


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _Topic(_Strict, frozen=True):
    name: str
    claims: str


class _Comparison(_Strict, frozen=True):
    arms: tuple[str, ...]
    control: str
    claim: str = ""


class _Document(_Strict, frozen=True):
    pages: tuple[str, ...] = PUBLISHED
    folder: str = FOLDER
    units: tuple[str, ...] = ()
    only_units: tuple[str, ...] = UNITS
    raw: tuple[str, ...] = ()
    kits: tuple[str, ...] = ()
    topic: tuple[dict[str, Any], ...] = ()
    comparison: tuple[dict[str, Any], ...] = ()


def read_policy(root: FilePath) -> Policy:
    """Read the policy of the repository at ``root``; without ``evidence.toml``, the standard one.

    Raises:
        InputError: The file cannot be read or is not a valid policy; the message starts with ``file:line: key:``.
    """
    file = root / CONFIG_NAME
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Policy()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}", hint="Make it a readable UTF-8 file, or remove it.") from error
    return parse_policy(text, str(file))


def parse_policy(text: str, source: str) -> Policy:
    """Parse the text of a policy.

    Args:
        text: Content of ``evidence.toml``.
        source: What to call it in errors and places.

    Raises:
        InputError: It is not a valid policy; the message starts with ``source:line: key:``.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        where = f"{source}:{line[1] if line else 1}"
        raise InputError(f"{where}: {error}", hint="Mend the TOML syntax on that line.") from error
    return _Reading(text, source).policy(document)


class _Reading:
    """Turns tables into a policy; rules that a schema cannot state are checked here."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source

    def policy(self, document: dict[str, Any]) -> Policy:
        table = self._convert(document, _Document, ())
        for key in ("pages", "raw", "kits"):
            self._check_patterns(key, getattr(table, key))
        self._check_patterns("folder", (table.folder,), wild=False)
        for key in ("units", "only_units"):
            self._check_units(key, getattr(table, key))
        if not table.pages:
            raise self._refuse(("pages",), "no page is named", "Leave the key out for README.md, docs and site.")
        return Policy(
            pages=table.pages,
            folder=table.folder,
            units=tuple(dict.fromkeys((*table.only_units, *table.units))),
            raw=table.raw,
            kits=table.kits,
            topics=tuple(self._topic(entry, at) for at, entry in enumerate(table.topic)),
            comparisons=tuple(self._comparison(entry, at) for at, entry in enumerate(table.comparison)),
        )

    def _topic(self, entry: dict[str, Any], at: int) -> Topic:
        path: Path = ("topic", at)
        table = self._convert(entry, _Topic, path)
        for key in ("name", "claims"):
            self._need_text(getattr(table, key), (*path, key))
        return Topic(name=table.name, claims=table.claims, place=self._place(path))

    def _comparison(self, entry: dict[str, Any], at: int) -> Comparison:
        path: Path = ("comparison", at)
        table = self._convert(entry, _Comparison, path)
        if len(set(table.arms)) < 2:  # noqa: PLR2004  (a comparison has two sides)
            raise self._refuse((*path, "arms"), "fewer than two arms", "Name the claims that are compared.")
        self._need_text(table.control, (*path, "control"))
        if table.control in table.arms:
            raise self._refuse((*path, "control"), "is one of the arms", "Name the claim of the same against the same.")
        return Comparison(claim=table.claim, arms=table.arms, control=table.control, place=self._place(path))

    def _convert(self, value: dict[str, Any], shape: type[_Table], above: Path) -> _Table:
        try:
            return msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            found = _AT.match(str(error))
            what, raw = (found["what"], found["path"] or "") if found else (str(error), "")
            field = _FIELD.search(what)
            path = (*above, *re.findall(r"[^.\[\]]+", raw.replace("[...]", "")), *((field[1],) if field else ()))
            raise self._refuse(path, what, _SEE) from error

    def _check_patterns(self, key: str, patterns: tuple[str, ...], *, wild: bool = True) -> None:
        for pattern in patterns:
            path = PurePosixPath(pattern)
            if not pattern or path.is_absolute() or ".." in path.parts or "\\" in pattern:
                raise self._refuse((key,), f"{pattern!r} is not a path under the root", "Write it from the root.")
            if "[" in pattern or ("**" in pattern and set(path.parts) & _halves(path)):
                raise self._refuse((key,), f"{pattern!r} is not a pattern", "Use '*', '?', and '**' between slashes.")
            if not wild and {"*", "?"} & set(pattern):
                raise self._refuse((key,), f"{pattern!r} is not one folder", "Name one folder.")

    def _check_units(self, key: str, units: tuple[str, ...]) -> None:
        for unit in units:
            if not unit or unit != " ".join(unit.split()) or unit[0].isdigit():
                raise self._refuse((key,), f"{unit!r} is not a unit", "Write it as it follows a number (req/s).")
        if not units and key == "only_units":
            raise self._refuse((key,), "no unit is left", "Name the units that make a number a measurement.")

    def _need_text(self, text: str, path: Path) -> None:
        if not text.strip():
            raise self._refuse(path, "is empty", _SEE)

    def _refuse(self, path: Path, what: str, hint: str) -> InputError:
        key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
        return InputError(f"{self._source}:{line_of(self._text, path)}: {key or 'document'}: {what}", hint=hint)

    def _place(self, path: Path) -> Place:
        return Place(artifact="", file=self._source, position=f"line {line_of(self._text, path)}")


def _halves(path: PurePosixPath) -> set[str]:
    """List parts in which ``**`` does not stand alone, which no two tools read alike."""
    return {part for part in path.parts if "**" in part and part != "**"}
