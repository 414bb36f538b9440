"""Distributions from the package index, through pip, so that the user's index, mirror and credentials apply."""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dayzero.adapters import pip_sdist
from dayzero.adapters.artifact_pack import name_and_version, packed
from dayzero.adapters.disk import write_whole
from dayzero.core.errors import InputError, RemoteError

_TIMEOUT_S = 1800
_PYTHON = "3.12"
_NEWEST_GLIBC = 40
_NETWORK = re.compile(
    r"Retrying|ConnectionError|NameResolution|ProxyError|SSLError|HTTP error|timed out|403|401", re.IGNORECASE
)
_NONE = re.compile(r"No matching distribution|Could not find a version", re.IGNORECASE)
_DAMAGED = re.compile(r"Wheel .* located at .* is invalid")
_OFFERED = re.compile(r"\(from versions: ([^)]*)\)")
_NEWEST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a distribution.

    Attributes:
        name: Its name.
        version: Its version.
        pack: The archive, under the digest of the file that it was made from.
        file: Name of that file.
        fetched: Whether it was fetched just now; what is kept is the same either way.
    """

    name: str
    version: str
    pack: Path
    file: str
    fetched: bool = field(default=False, compare=False)


class IndexStore:
    """Fetches wheels for Linux on x86-64, where there is none sdists, and keeps their text; what is kept is not asked for again.

    Args:
        folder: Cache folder.
        python: Interpreter whose pip is used.
        offline: Whether the index must not be asked.
    """

    def __init__(self, folder: Path, python: str, *, offline: bool = False) -> None:
        self._folder = folder
        self._python = python
        self._offline = offline

    @property
    def packs(self) -> Path:
        """Where kept archives lie."""
        return self._folder / "kept"

    def fetch(self, requirement: Requirement) -> Kept:
        """Give a distribution; for a range of versions the one that pip would install.

        Raises:
            InputError: The index has no such version, neither for Linux on x86-64 nor as an sdist.
            RemoteError: The index could not be asked, or may not be.
        """
        wanted = f"{canonicalize_name(requirement.name)}{requirement.specifier}"
        note = self.packs / "by-name" / f"{re.sub(r'[^A-Za-z0-9.=<>~!,-]', '_', wanted)}.json"
        kept = _noted(note, self.packs)
        if kept is not None:
            return kept
        if self._offline:
            raise RemoteError(
                f"{wanted} is not kept here, and the index may not be asked", hint="Leave --offline away once."
            )
        with tempfile.TemporaryDirectory() as scratch:
            wheel = self._download(requirement, wanted, Path(scratch))
            name, version = name_and_version(wheel.name)
            pack = packed(wheel, self.packs)
            document = {
                "name": name,
                "version": version,
                "file": wheel.name,
                "bytes": wheel.stat().st_size,
                "pack": pack.name,
            }
        write_whole(note, json.dumps(document).encode())
        return Kept(name, version, pack, wheel.name, fetched=True)

    def versions(self, name: str) -> tuple[str, ...]:
        """List the versions that the index offers, newest first, pre-releases left out.

        Raises:
            InputError: The index has no such distribution.
            RemoteError: The index could not be asked, or may not be.
        """
        if self._offline:
            raise RemoteError("the index may not be asked for versions", hint="Leave --offline away.")
        said = self._pip("index", "versions", name, *_target())
        for line in said.splitlines():
            if line.startswith("Available versions:"):
                return tuple(one.strip() for one in line.partition(":")[2].split(",") if one.strip())
        raise RemoteError(f"pip did not list the versions of {name}", hint="Upgrade pip.")

    def kept_versions(self, name: str) -> tuple[str, ...]:
        """List the versions that are kept here."""
        prefix = f"{canonicalize_name(name)}=="
        notes = (self.packs / "by-name").glob(f"{prefix}*.json")
        return tuple(sorted(note.name.removeprefix(prefix).removesuffix(".json") for note in notes))

    def _download(self, requirement: Requirement, wanted: str, folder: Path) -> Path:
        try:
            self._pip("download", "--no-deps", "--dest", str(folder), *_target(), wanted)
        except InputError:
            found = self._sdist(requirement, folder)
            if found is None:
                raise
            return found
        return next(folder.glob("*.whl"))

    def _sdist(self, requirement: Requirement, folder: Path) -> Path | None:
        """Fetch the sdist of what has no wheel; ``pip download`` would run its code to learn its metadata."""
        name, specifier = canonicalize_name(requirement.name), str(requirement.specifier)
        self._run(self._python, str(Path(pip_sdist.__file__)), str(folder), name, specifier)
        return next((one for one in folder.iterdir() if one.name.endswith(".tar.gz")), None)

    def _pip(self, *words: str) -> str:
        options = ("--disable-pip-version-check", "--no-input", "--retries", "1")
        done = self._run(self._python, "-m", "pip", *words, *options)
        if done.returncode == 0:
            return done.stdout
        raise _refusal(done.stderr, words[-1] if words[0] == "download" else words[2])

    @staticmethod
    def _run(*command: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)  # noqa: S603
        except subprocess.TimeoutExpired as error:
            raise RemoteError(f"pip took longer than {_TIMEOUT_S} s", hint="Try again on a faster link.") from error


def _refusal(said: str, wanted: str) -> InputError | RemoteError:
    if "No module named pip" in said:
        return RemoteError("pip is not installed here", hint="Install it: python -m ensurepip.")
    if _DAMAGED.search(said):
        return InputError(f"the index's wheel of {wanted} is damaged", hint="Fetch it again, or use another version.")
    if _NETWORK.search(said) or not _NONE.search(said):
        lines = [line for line in said.splitlines() if line.startswith("ERROR")] or [said.strip()[-200:]]
        return RemoteError(
            f"pip could not fetch {wanted}: {lines[-1]}",
            hint="Check the network and pip's index settings (PIP_INDEX_URL).",
        )
    offered = _OFFERED.search(said)
    versions = [one for one in (offered[1] if offered else "").split(", ") if one and one != "none"]
    newest = (
        f"Newest are {', '.join(versions[-_NEWEST_NAMED:])}." if versions else "Give a wheel or an sdist as a file."
    )
    return InputError(f"the index offers no wheel of {wanted} for Linux on x86-64, and no sdist", hint=newest)


def _target() -> tuple[str, ...]:
    """Ask for wheels only: the metadata of an sdist is had by running its code."""
    platforms = ["linux_x86_64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"]
    platforms += [f"manylinux_2_{minor}_x86_64" for minor in range(5, _NEWEST_GLIBC)]
    named = [word for platform in platforms for word in ("--platform", platform)]
    return ("--only-binary=:all:", "--python-version", _PYTHON, *named)


def _noted(note: Path, packs: Path) -> Kept | None:
    try:
        document = json.loads(note.read_bytes())
        kept = Kept(document["name"], document["version"], packs / document["pack"], document["file"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kept if kept.pack.is_file() else None
