"""Read a FlashInfer build's own tables: activation types, artifact pins, checksums, the ABI enumeration, compiled dispatches."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.installed import Installed
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python.bound import bound_by
from dayzero.audit.python_source import Module
from dayzero.core.verdict import Place

DISTRIBUTION, BINARIES = "flashinfer-python", "flashinfer-cubin"
_ARTIFACTS = "flashinfer.artifacts"
_ABI = re.compile(rb"enum class ActType\b[^{]*\{(?P<body>.*?)\};", re.DOTALL)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MEMBER = re.compile(rb"\b([A-Za-z]\w*)\s*=?\s*\d*\s*,?")
_KERNEL = re.compile(rb'\{nullptr, \d+, \d+, "(?P<name>[^"]+)", \d+, "[0-9a-f]{64}"')
_MACRO = re.compile(rb"^[ \t]*(?P<name>[A-Z][A-Z0-9_]*DISPATCH)\((?P<arguments>[0-9, ]+)\)", re.MULTILINE)
_META = "metainfo.h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Names with their values, and where the table stands."""

    values: Mapping[str, object]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """The kernels that a folder of binaries lists, counted by the tokens of their names."""

    total: int
    names: tuple[str, ...]
    place: Place

    def tokens(self) -> Counter[str]:
        """Count in how many names each token is; a token that a name has twice counts once."""
        return Counter(token for name in self.names for token in set(name.split("_")))

    def with_tokens(self, token: str, architectures: tuple[str, ...]) -> int:
        """Count the names that have a token and one of some architectures; tokens are compared whole."""
        parts = (set(name.split("_")) for name in self.names)
        return sum(token in one and bool(one & set(architectures)) for one in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """A compiled dispatch: the arguments of each instance that the source makes."""

    name: str
    instances: frozenset[tuple[int, ...]]
    place: Place


def activation_types(installed: Installed) -> Table | None:
    """Read the members of ``ActivationType`` with their numbers; engines pass the number, so that it is an identity."""
    return _class_table(installed, "ActivationType")


def artifact_paths(installed: Installed) -> Table | None:
    """Read where the build expects each family of kernel binaries (``ArtifactPath``)."""
    return _class_table(installed, "ArtifactPath", _ARTIFACTS)


def checksums(installed: Installed) -> Table | None:
    """Read the checksums that the build expects of them (``CheckSumHash``)."""
    return _class_table(installed, "CheckSumHash", _ARTIFACTS)


def abi_members(installed: Installed) -> Table | None:
    """Read the members of the header's ``ActType``: what the kernels that this build compiles against must have."""
    found = installed.find(DISTRIBUTION)
    for path in found.files.names() if found else ():
        if found and path.endswith("batched_gemm/KernelRunner.h"):
            content = found.files.read(path)
            enumeration = _ABI.search(content)
            if enumeration:
                body = _COMMENT.sub(b"", enumeration["body"])
                names = [one.decode() for one in _MEMBER.findall(body)]
                line = content.count(b"\n", 0, enumeration.start()) + 1
                return Table(values=dict.fromkeys(names), place=_place(found.files, path, line))
    return None


def listed_kernels(files: BuildFiles, pin: str) -> Kernels | None:
    """Count the kernels that the binaries of one pin list; ``None`` where the folder has no list for that pin.

    Args:
        files: A folder of binaries, or the distribution that carries them.
        pin: Path below the folder, as ``ArtifactPath`` has it.
    """
    for path in files.names():
        if path.lower().endswith(_META) and f"{pin.strip('/')}/" in path:
            names = tuple(one["name"].decode("utf-8", "replace") for one in _KERNEL.finditer(files.read(path)))
            return Kernels(total=len(names), names=names, place=Place(artifact=files.artifact, file=path))
    return None


def dispatches(installed: Installed, words: tuple[str, ...]) -> Iterator[Dispatch]:
    """Read the dispatch macros of the ``.cu`` files whose path has one of some words."""
    found = installed.find(DISTRIBUTION)
    for path in found.files.names() if found else ():
        if not found or not path.endswith(".cu") or not any(word in path for word in words):
            continue
        content = found.files.read(path)
        instances: dict[str, list[tuple[int, ...]]] = {}
        lines: dict[str, int] = {}
        for one in _MACRO.finditer(content):
            name = one["name"].decode()
            instances.setdefault(name, []).append(tuple(int(each) for each in one["arguments"].split(b",")))
            lines.setdefault(name, content.count(b"\n", 0, one.start()) + 1)
        for name, rows in instances.items():
            yield Dispatch(name=name, instances=frozenset(rows), place=_place(found.files, path, lines[name]))


def _class_table(installed: Installed, name: str, home: str = "") -> Table | None:
    python = installed.python
    modules = [home] if home in python.modules else []
    for module_name in modules or python.holding(f"class {name}".encode(), below="flashinfer"):
        module = python.parsed(module_name)
        for node in module.tree.body if isinstance(module, Module) else ():
            if isinstance(module, Module) and isinstance(node, ast.ClassDef) and node.name == name:
                return Table(values=dict(_literals(node)), place=module.place(node.lineno))
    return None


def _literals(node: ast.ClassDef) -> Iterator[tuple[str, object]]:
    for name, value in (pair for one in node.body for pair in bound_by(one)):
        if value is not None:
            try:
                yield name, ast.literal_eval(value)
            except ValueError:
                continue


def _place(files: BuildFiles, path: str, line: int) -> Place:
    quote = files.read(path).split(b"\n")[line - 1].decode("utf-8", "replace").strip()
    return Place(artifact=files.artifact, file=path, position=f"line {line}", quote=quote[:200])
