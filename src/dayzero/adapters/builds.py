"""Engine builds from the package index, held to their digests and kept, so that a second run needs no network."""

import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from dayzero.adapters.disk import disk_errors, whole_file
from dayzero.adapters.file_digest import digest_of
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import EngineBuild, Sha256, WheelPin

DOWNLOAD_TIMEOUT_S = 1800

_Answer = TypeVar("_Answer")


class WheelFiles:
    """The files of a wheel, read from the archive; nothing is installed or run. Implements ``audit.ports.BuildFiles``.

    The file that was read last is kept: several tables stand in one native library, which takes a second to unpack. So is the
    archive's directory, which takes as long to read as many of its files.

    Args:
        artifact: Distribution and version.
        wheel: The archive.
    """

    def __init__(self, artifact: str, wheel: Path) -> None:
        self._artifact = artifact
        self._wheel = wheel
        self._kept = ("", b"")
        self._opened: zipfile.ZipFile | None = None

    @property
    def artifact(self) -> str:
        """Distribution and version."""
        return self._artifact

    def names(self) -> tuple[str, ...]:
        """List all file paths inside the wheel.

        Raises:
            InputError: The file is no readable archive.
        """
        return self._archive(lambda archive: tuple(archive.namelist()))

    def read(self, name: str) -> bytes:
        """Read one file whole.

        Raises:
            InputError: The archive or the file in it is damaged.
        """
        if self._kept[0] != name:
            self._kept = (name, self._archive(lambda archive: archive.read(name)))
        return self._kept[1]

    def _archive(self, ask: Callable[[zipfile.ZipFile], _Answer]) -> _Answer:
        try:
            if self._opened is None:
                self._opened = zipfile.ZipFile(self._wheel)
            return ask(self._opened)
        except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
            raise InputError(f"{self._wheel} cannot be read: {error}", hint="Fetch the wheel again.") from error


def wheel_for_this_machine(build: EngineBuild) -> WheelPin:
    """Choose the pinned wheel that this interpreter can install.

    Raises:
        InputError: None of the pinned wheels is for this platform.
    """
    tags = set(sys_tags())
    for pin in build.wheels:
        try:
            _, _, _, wheel_tags = parse_wheel_filename(pin.filename)
        except InvalidWheelFilename as error:
            raise InputError(f"{build}: {error}", hint="Give the wheel's file name as the index lists it.") from error
        if not tags.isdisjoint(wheel_tags):
            return pin
    raise InputError(
        f"{build} pins no wheel for this platform ({next(iter(sys_tags()))})",
        hint="Add the platform's wheel and its sha256 to the definition.",
    )


class BuildStore:
    """Fetches wheels with pip, so that the user's index, mirror and credentials apply, and keeps them by digest.

    Args:
        folder: Cache folder.
        python: Interpreter whose pip is used.
    """

    def __init__(self, folder: Path, python: str) -> None:
        self._folder = folder
        self._python = python

    def wheel(self, build: EngineBuild) -> Path:
        """Give the pinned wheel of a build for this machine, from the cache or the index.

        Raises:
            InputError: No wheel is pinned for this machine.
            RemoteError: The index could not deliver it.
            IntegrityError: The cached bytes are not the pinned ones.
        """
        return self.distribution(build.distribution, build.version, wheel_for_this_machine(build).sha256)

    def kept(self, build: EngineBuild) -> Path | None:
        """Give any pinned wheel of a build that is in the cache already; the index is not asked.

        Raises:
            IntegrityError: The cached bytes are not the pinned ones.
        """
        for pin in build.wheels:
            if any((self._folder / "wheels" / pin.sha256.hex).glob("*.whl")):
                return self.distribution(build.distribution, build.version, pin.sha256)
        return None

    def distribution(self, name: str, version: str, digest: Sha256) -> Path:
        """Give one wheel by its digest, from the cache or the index."""
        folder = self._folder / "wheels" / digest.hex
        kept = sorted(folder.glob("*.whl"))
        if kept:
            if digest_of(kept[0]) != digest:
                raise IntegrityError(
                    f"{kept[0]} does not have the pinned sha256 {digest}",
                    hint="Delete the file; it will be fetched again.",
                )
            return kept[0]
        with tempfile.TemporaryDirectory() as scratch:
            fetched = self._download(name, version, digest, Path(scratch))
            target = folder / fetched.name
            with whole_file(target) as temporary:
                temporary.write_bytes(fetched.read_bytes())
        return target

    def site(self, build: EngineBuild) -> Path:
        """Give a folder that, put on ``PYTHONPATH``, makes the build importable; its dependencies are not in it."""
        target = self._folder / "sites" / wheel_for_this_machine(build).sha256.hex
        if target.is_dir():
            return target
        wheel = self.wheel(build)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
                staged = Path(scratch) / "site"
                self._pip("install", "--no-deps", "--no-index", "--target", str(staged), str(wheel))
                staged.replace(target)
        return target

    def _download(self, name: str, version: str, digest: Sha256, folder: Path) -> Path:
        lock = folder / "requirement.txt"
        lock.write_text(f"{name}=={version} --hash=sha256:{digest}\n", encoding="ascii")
        destination = folder / "wheels"
        arguments = (
            "--no-deps",
            "--require-hashes",
            "--only-binary=:all:",
            "--dest",
            str(destination),
            "-r",
            str(lock),
        )
        self._pip("download", *arguments)
        (wheel,) = destination.glob("*.whl")
        return wheel

    def _pip(self, verb: str, *arguments: str) -> None:
        command = [self._python, "-m", "pip", verb, "--quiet", "--disable-pip-version-check", "--no-input", *arguments]
        try:
            done = subprocess.run(  # noqa: S603  (fixed words and validated pins)
                command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_TIMEOUT_S
            )
        except subprocess.TimeoutExpired as error:
            raise RemoteError(
                f"pip {verb} took longer than {DOWNLOAD_TIMEOUT_S} s", hint="Try again on a faster link."
            ) from error
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr.strip()]
            hint = "Check the network and pip's index settings; with a mirror, set PIP_INDEX_URL."
            if "No module named pip" in done.stderr:
                hint = "Install pip into this environment: python -m ensurepip."
            raise RemoteError(f"pip {verb} failed: {said[-1]}", hint=hint)
