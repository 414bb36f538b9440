"""The folder of a study: where its definitions, journals, trials and results stand."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import disk_errors, write_whole
from dayzero.core.errors import InputError

DEFINITION: Final = "package.toml"
_BESIDE: Final = ("config.json", "requirements.lock")


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """One study on this disk."""

    root: Path

    @property
    def study(self) -> Path:
        """What was asked."""
        return self.root / "study.json"

    @property
    def result(self) -> Path:
        """What was found."""
        return self.root / "result.json"

    @property
    def stock(self) -> Path:
        """The definition of the package as it is."""
        return self.root / "stock" / DEFINITION

    @property
    def workload(self) -> Path:
        """The load, where a file gave it."""
        return self.root / "workload.toml"

    @property
    def journal(self) -> Path:
        """Folder of the journals."""
        return self.root / "journal"

    @property
    def storage(self) -> str:
        """Where Optuna keeps its study when nothing else is said."""
        return f"sqlite:///{(self.root / 'optuna.db').resolve()}"

    @property
    def confirmation(self) -> Path:
        """Folder of the confirmation."""
        return self.root / "confirm"

    @property
    def gate(self) -> Path:
        """Folder of the gate."""
        return self.root / "gate"

    @property
    def package(self) -> Path:
        """Folder of the winner and its receipt."""
        return self.root / "package"

    def trial(self, number: int) -> Path:
        """Folder of one trial."""
        return self.root / "trials" / f"{number:04}"


def put_definition(text: str, source: Path, folder: Path) -> Path:
    """Write a definition into a folder, with the files that lie beside the one it came from.

    Args:
        text: The definition.
        source: The file that it came from.
        folder: Where it goes.

    Raises:
        RemoteError: The disk refused.
    """
    write_whole(folder / DEFINITION, text.encode())
    with disk_errors(folder):
        for name in _BESIDE:
            if (source.parent / name).is_file():
                shutil.copyfile(source.parent / name, folder / name)
    return folder / DEFINITION


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Write a JSON document whole.

    Raises:
        RemoteError: The disk refused.
    """
    write_whole(path, json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")


def read_document(path: Path, schema: str) -> Mapping[str, object]:
    """Read a JSON document.

    Raises:
        InputError: It is not there, or another one.
    """
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}", hint="Name the folder of a study with -o.") from error
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise InputError(f"{path} is no {schema}", hint="Name the folder of a study with -o.")
    return document
