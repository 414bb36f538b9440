"""Read an explanation that a person wrote: its statement, the claims it explains, and the trials made to settle it."""

import tomllib
from pathlib import Path

import msgspec

from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.locate import line_locator, locate_pointer
from dayzero.evidence.locator import Locator, PointerLocator, WholeFile
from dayzero.evidence.model import Explanation, Trial

_SEE = "See docs/reference/trials.md for every key."


class _Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    outcome: str
    file: str
    conditions: dict[str, str]
    line: int = 0
    pointer: str | None = None


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    slug: str
    statement: str
    facts: tuple[str, ...] = ()
    trial: tuple[_Trial, ...] = ()


def read_explanation(file: Path) -> tuple[Explanation, tuple[Path, ...]]:
    """Read an explanation and the raw files of its trials, whose paths are relative to ``file``.

    Args:
        file: A TOML file.

    Returns:
        The explanation, and the raw files that it names, each once.

    Raises:
        InputError: The file is not a valid explanation, or a raw file cannot be read.
        EvidenceError: A place that a trial names is not in its raw file.
    """
    try:
        document = msgspec.convert(tomllib.loads(_read(file).decode("utf-8")), _Document, strict=True)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{file}: {error}", hint=_SEE) from error
    contents = {path: _read(path) for path in (file.parent / trial.file for trial in document.trial)}
    explanation = Explanation(
        slug=document.slug,
        statement=document.statement,
        facts=document.facts,
        trials=tuple(_trial(trial, contents[file.parent / trial.file]) for trial in document.trial),
    )
    return explanation, tuple(contents)


def _trial(trial: _Trial, content: bytes) -> Trial:
    try:
        locator = _locator(trial, content)
    except EvidenceError as error:
        raise EvidenceError(f"the trial {trial.name}, {trial.file}: {error.message}", hint=error.hint) from error
    return Trial(
        name=trial.name,
        conditions=tuple(trial.conditions.items()),
        outcome=trial.outcome,
        raw=Sha256.of(content),
        locator=locator,
    )


def _locator(trial: _Trial, content: bytes) -> Locator:
    if trial.line and trial.pointer is not None:
        raise InputError(f"the trial {trial.name} names a line and a pointer", hint="Name the one that shows its end.")
    if trial.line:
        return line_locator(content, trial.line)
    if trial.pointer is None:
        return WholeFile()
    locator = PointerLocator(pointer=trial.pointer)
    locate_pointer(content, locator)
    return locator


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="Name a file that is there.") from error
