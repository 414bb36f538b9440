"""Builds that lie on this disk as somebody gives them: a wheel, a folder of wheels, an installed environment."""

import os
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from dayzero.adapters.builds import WheelFiles
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import InputError


class InstalledFiles:
    """The files of an environment's ``site-packages``. Implements ``audit.ports.BuildFiles``.

    Args:
        folder: The folder; links to folders below it are not followed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: tuple[str, ...] = ()

    @property
    def artifact(self) -> str:
        """The folder's path."""
        return str(self._folder)

    def names(self) -> tuple[str, ...]:
        """List all file paths below the folder."""
        if not self._names:
            found = (Path(at) / name for at, _, names in os.walk(self._folder) for name in names)
            self._names = tuple(sorted(str(path.relative_to(self._folder)) for path in found))
        return self._names

    def read(self, name: str) -> bytes:
        """Read one file whole.

        Raises:
            InputError: It cannot be read.
        """
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror}", hint="Make it readable.") from error


def given_build(path: Path) -> tuple[BuildFiles, ...]:
    """Open what somebody names as a build: a wheel; a folder with wheels, each of them; else the folder's own files.

    Raises:
        InputError: It is none of these, or a wheel in it cannot be opened.
    """
    if path.is_dir():
        wheels = sorted(path.glob("*.whl"))
        if wheels:
            return tuple(_wheel(wheel) for wheel in wheels)
        installed = InstalledFiles(path)
        if any(name.endswith((".py", ".so")) for name in installed.names()):
            return (installed,)
    elif path.suffix == ".whl":
        return (_wheel(path),)
    raise InputError(f"{path} is no build", hint="Give a wheel, a folder of wheels, or an environment's site-packages.")


def _wheel(path: Path) -> WheelFiles:
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise InputError(f"{path}: {error}", hint="Give the wheel its own file name again.") from error
    wheel = WheelFiles(artifact=f"{name} {version}", wheel=path)
    wheel.names()
    return wheel
