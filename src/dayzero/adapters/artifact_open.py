"""Open what somebody gives as installed: a wheel, an sdist, a folder of wheels, an environment, a source checkout."""

import csv
import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from functools import cached_property
from pathlib import Path

from packaging.utils import canonicalize_name

from dayzero.adapters.artifact_pack import PackedFiles, name_and_version, packed
from dayzero.audit.installed import Distribution
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import InputError

_PYTHON = ".py"
_ARCHIVES = (".whl", ".tar.gz")
_SOURCE_FOLDERS = ("src/", "python/")
_NOT_SOURCE = {"build", "dist", "node_modules", "venv", "__pycache__"}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REQUIREMENTS = ("requirements/cuda.txt", "requirements-cuda.txt", "requirements.txt")


class FolderFiles:
    """Some files below a folder. Implements ``audit.ports.DigestedFiles``.

    A Python file is read once: what is digested is what everybody sees of it, whatever is written to the folder meanwhile.

    Args:
        artifact: Distribution and version.
        folder: The folder.
        paths: The name of each file as it is installed -> its path below the folder.
    """

    def __init__(self, artifact: str, folder: Path, paths: Mapping[str, str]) -> None:
        self._artifact = artifact
        self._folder = folder
        self._paths = paths
        self._held: dict[str, bytes | None] = {}

    @property
    def artifact(self) -> str:
        """Distribution and version."""
        return self._artifact

    def names(self) -> tuple[str, ...]:
        """List the files as they are installed."""
        return tuple(self._paths)

    @cached_property
    def digest(self) -> str:
        """Digest the names of all files, and of its Python files each byte: neither sizes nor times nor ``RECORD`` are believed."""
        digest = hashlib.sha256(repr((self._artifact, self.names())).encode())
        for name in (one for one in self._paths if one.endswith(_PYTHON)):
            content = self._once(name)
            digest.update(b"unread" if content is None else hashlib.sha256(content).digest())
        return digest.hexdigest()

    def read(self, name: str) -> bytes:
        """Read one file whole.

        Raises:
            InputError: It cannot be read.
        """
        content = self._once(name) if name.endswith(_PYTHON) else self._content(name)
        if content is None:
            raise InputError(f"{self._artifact}: {name} cannot be read", hint="Make it readable.")
        return content

    def _once(self, name: str) -> bytes | None:
        if name not in self._held:
            self._held[name] = self._content(name)
        return self._held[name]

    def _content(self, name: str) -> bytes | None:
        try:
            return (self._folder / self._paths[name]).read_bytes()
        except (OSError, KeyError):
            return None


def with_metadata(files: BuildFiles) -> Distribution:
    """Give a distribution by the metadata among its files.

    Raises:
        InputError: It has none.
    """
    found = [name for name in files.names() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
    if not found:
        raise InputError(f"{files.artifact} has no METADATA", hint="Give a wheel, an sdist or an environment.")
    headers = BytesParser().parsebytes(files.read(found[0]), headersonly=True)
    name, version = str(headers.get("Name", "")), str(headers.get("Version", ""))
    if not name or not version:
        raise InputError(f"{files.artifact}: {found[0]} names no distribution", hint="Fetch it again.")
    requires = tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist", []))
    return Distribution(name=canonicalize_name(name), version=version, requires=requires, files=files)


def open_given(path: Path, packs: Path) -> tuple[Distribution, ...]:
    """Open what lies on this disk.

    Args:
        path: A wheel, an sdist, a folder of wheels, an environment or its ``site-packages``, or a source checkout.
        packs: Where what is kept of archives lies.

    Raises:
        InputError: It is none of these, or is damaged.
        IntegrityError: A wheel holds another file than its ``RECORD`` lists.
    """
    if path.is_file() and path.name.endswith(_ARCHIVES):
        return (open_archive(path, packs),)
    if path.is_dir():
        archives = sorted(one for one in path.iterdir() if one.name.endswith(_ARCHIVES))
        if archives:
            return tuple(open_archive(one, packs) for one in archives)
        sites = [path, *sorted(path.glob("lib/python3*/site-packages"))]
        for site in sites:
            if any(site.glob("*.dist-info/METADATA")):
                return tuple(_installed(site))
        if (path / "pyproject.toml").is_file() or (path / "setup.py").is_file():
            return (_checkout(path),)
    raise InputError(
        f"{path} holds no distribution",
        hint="Give NAME==VERSION, a wheel, an sdist, a folder of wheels, an environment or a source checkout.",
    )


def open_archive(path: Path, packs: Path) -> Distribution:
    """Open a wheel or an sdist."""
    name, version = name_and_version(path.name)
    return with_metadata(PackedFiles(f"{name} {version}", packed(path, packs)))


def _installed(site: Path) -> Iterator[Distribution]:
    infos = sorted(site.glob("*.dist-info"))
    for info in infos:
        if not (info / "METADATA").is_file():
            continue
        artifact = " ".join(info.name.removesuffix(".dist-info").rsplit("-", 1))
        record = info / "RECORD"
        if record.is_file():
            rows = csv.reader(record.read_text(encoding="utf-8", errors="replace").splitlines())
            names = [row[0] for row in rows if row and not row[0].startswith(("/", "../"))]
        else:
            names = [f"{info.name}/METADATA"] if len(infos) > 1 else list(_below(site))
        yield with_metadata(FolderFiles(artifact, site, {name: name for name in names}))


def _below(folder: Path) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _NOT_SOURCE)
        for name in sorted(names):
            yield str((Path(at) / name).relative_to(folder))


def _checkout(folder: Path) -> Distribution:
    project = _project(folder)
    name = canonicalize_name(str(project.get("name") or folder.resolve().name))
    commit = _commit(folder)
    version = str(project.get("version") or (f"0+g{commit[:12]}" if commit else "0+source"))
    paths: dict[str, str] = {}
    for path in _below(folder):
        inside = next((path.removeprefix(one) for one in _SOURCE_FOLDERS if path.startswith(one)), path)
        paths.setdefault(inside, path)
    declared = project.get("dependencies")
    requires = tuple(map(str, declared)) if isinstance(declared, list) else tuple(_required(folder))
    artifact = f"{name} at {commit[:12]}" if commit else f"{name} in {folder.name}"
    return Distribution(name=name, version=version, requires=requires, files=FolderFiles(artifact, folder, paths))


def _project(folder: Path) -> Mapping[str, object]:
    for place in ("pyproject.toml", "python/pyproject.toml"):
        try:
            found = tomllib.loads((folder / place).read_text(encoding="utf-8")).get("project")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise InputError(f"{folder / place} cannot be read: {error}", hint="Mend it.") from error
        if isinstance(found, dict) and found.get("name"):
            return found
    return {}


def _required(folder: Path) -> Iterator[str]:
    waiting = [next((folder / one for one in _REQUIREMENTS if (folder / one).is_file()), folder)]
    seen: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split("#", 1)[0].strip()
            if words.startswith("-r"):
                waiting.append(file.parent / words[2:].strip())
            elif words and not words.startswith("-"):
                yield words


def _commit(folder: Path) -> str:
    git = folder / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        reference = head.removeprefix("ref: ")
        if reference != head:
            loose = git / reference
            packed_refs = git / "packed-refs"
            lines = packed_refs.read_text(encoding="utf-8").splitlines() if packed_refs.is_file() else []
            listed = next((line.split()[0] for line in lines if line.endswith(f" {reference}")), "")
            head = loose.read_text(encoding="ascii").strip() if loose.is_file() else listed
    except (OSError, ValueError):
        return ""
    return head if _COMMIT.fullmatch(head) else ""
