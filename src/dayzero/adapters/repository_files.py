"""The files of a repository that its policy names: published pages, result files that are evidence where they lie, kits."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.citation import Page
from dayzero.evidence.model import RawFile
from dayzero.evidence.rules import Policy

_WILD = frozenset("*?[")
_PIECES = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_REGEXES = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
_GIT_SECONDS = 20


def published_pages(root: Path, named: Iterable[Path] = (), policy: Policy | None = None) -> tuple[Page, ...]:
    """Read the pages of a policy under ``root``, and the pages named beside them.

    Args:
        root: The folder that is published.
        named: Further pages; each has to be there.
        policy: Which pages, and which units count on them; the standard one when none is given.

    Raises:
        InputError: A named page cannot be read.
    """
    policy = policy or Policy()
    found = [path for pattern in policy.pages for path in files_under(root, pattern)]
    pages = {path.resolve(): path for path in (*found, *named)}
    return tuple(_page(path, policy.units) for path in pages.values())


def files_under(root: Path, pattern: str) -> tuple[Path, ...]:
    """List the files that a pattern names, by their paths; hidden folders only where the pattern names them."""
    written = set(PurePosixPath(pattern).parts)
    found = (path for path in root.glob(pattern) if path.is_file())
    return tuple(sorted(path for path in found if not _hidden(path.relative_to(root).parts) - written))


def unmatched(root: Path, patterns: Iterable[str]) -> tuple[str, ...]:
    """List the patterns that name no file now."""
    return tuple(pattern for pattern in patterns if not files_under(root, pattern))


def is_literal(pattern: str) -> bool:
    """Say whether a pattern names one file."""
    return _WILD.isdisjoint(pattern)


def lying_raw(root: Path, patterns: Sequence[str], recorded: Iterable[RawFile]) -> Mapping[Sha256, Path]:
    """Say where recorded raw files lie that were filed by a path which one of the patterns names; no link leads outside."""
    regexes = [_regex(pattern) for pattern in patterns]
    inside = root.resolve()
    return {
        raw.sha256: root / raw.name
        for raw in recorded
        if any(regex.fullmatch(raw.name) for regex in regexes) and (root / raw.name).resolve().is_relative_to(inside)
    }


def name_in(root: Path, file: Path, patterns: Sequence[str]) -> str:
    """Give the path by which a file can be filed where it lies.

    Raises:
        InputError: It is not under ``root``, or no pattern names it.
    """
    try:
        name = file.resolve().relative_to(root.resolve()).as_posix()
    except ValueError as error:
        raise InputError(f"{file} is not in {root}", hint="File a copy: leave out --in-place.") from error
    if not any(_regex(pattern).fullmatch(name) for pattern in patterns):
        raise InputError(
            f"no pattern of 'raw' in evidence.toml names {name}",
            hint=f'Add it there, as in raw = ["{name}"], or leave out --in-place.',
        )
    return name


def ignored_by_git(root: Path, files: Sequence[Path]) -> frozenset[Path]:
    """Say which of these files git will not commit; none where there is no git, or no repository of it.

    Args:
        root: A folder of the repository.
        files: The files, under ``root``.
    """
    if not files:
        return frozenset()
    words = ["git", "-c", "core.fsmonitor=false", "-C", str(root), "check-ignore", "-z", "--stdin"]
    asked = b"\0".join(os.fsencode(path.resolve()) for path in files)
    try:
        done = subprocess.run(words, input=asked, capture_output=True, check=False, timeout=_GIT_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    named = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    return frozenset(path for path in files if str(path.resolve()) in named)


def _page(path: Path, units: tuple[str, ...]) -> Page:
    try:
        return Page(path=str(path), content=path.read_bytes(), units=units)
    except OSError as error:
        raise InputError(
            f"the page {path} cannot be read: {error.strerror}", hint="Name a file that is there."
        ) from error


def _hidden(parts: Iterable[str]) -> set[str]:
    return {part for part in parts if part.startswith(".")}


def _regex(pattern: str) -> re.Pattern[str]:
    pieces: Iterator[str] = (found.group() for found in _PIECES.finditer(pattern))
    return re.compile("".join(_REGEXES.get(piece) or re.escape(piece) for piece in pieces))
