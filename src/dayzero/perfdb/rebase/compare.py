"""Hold a kernel of one build beside that of another: its code, what chooses it, its libraries, pins and compilers."""

import ast
import base64
import csv
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from dayzero.core.errors import InputError
from dayzero.core.verdict import Place, Undecided
from dayzero.perfdb.ports import BuildText
from dayzero.perfdb.rebase.code import Code, CodeReader, differing
from dayzero.perfdb.rebase.model import Aspect, Compared, DeclaredKernel, Evidence, Finding

_ARTIFACTS, _CHECKSUMS = "flashinfer/artifacts.py", "CheckSumHash"
_PINNED_BY = "flashinfer-python"
_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A build whose kernels are looked at.

    Attributes:
        engine: Name of the engine's distribution.
        version: Its version.
        texts: Its files and those of what is installed with it, by distribution.
        pins: What the engine's metadata pins to one version, by distribution.
        readers: Readers of its code, by what they follow.
    """

    engine: str
    version: str
    texts: Mapping[str, BuildText]
    pins: Mapping[str, str]
    readers: dict[frozenset[str], CodeReader] = field(default_factory=dict)

    @property
    def text(self) -> BuildText:
        """The engine's own files."""
        return self.texts[self.engine]

    def code(self, entries: tuple[str, ...], within: tuple[str, ...]) -> Code | Undecided:
        """Collect what functions reach, see :class:`~dayzero.perfdb.rebase.code.CodeReader`."""
        followed = frozenset(within)
        if followed not in self.readers:
            self.readers[followed] = CodeReader(self.text, followed)
        return self.readers[followed].read(entries)


def compare(kernel: DeclaredKernel, old: Build, new: Build) -> Compared:
    """Hold all that is declared of a kernel side by side."""
    evidence = [_code(Aspect.CODE, kernel.code, kernel.within, old, new)]
    evidence.extend(_code(Aspect.DISPATCH, (entry,), _modules(entry), old, new) for entry in kernel.dispatch)
    if not kernel.dispatch:
        evidence.append(
            Evidence(aspect=Aspect.DISPATCH, finding=Finding.EQUAL, detail=f"nothing chooses it: {kernel.direct}")
        )
    evidence.extend(_library(pattern, old, new) for pattern in kernel.libraries)
    evidence.extend(_artifact(name, old, new) for name in kernel.artifacts)
    evidence.extend(_sources(pattern, old, new) for pattern in kernel.sources)
    evidence.extend(_compiler(name, old, new) for name in kernel.compilers)
    return Compared(kernel=kernel, evidence=tuple(evidence))


def _modules(entry: str) -> tuple[str, ...]:
    return tuple(file.removesuffix(".py").replace("/", ".") for file in entry.partition("::")[0].split("|"))


def _code(aspect: Aspect, entries: tuple[str, ...], within: tuple[str, ...], old: Build, new: Build) -> Evidence:
    first, second = old.code(entries, within), new.code(entries, within)
    missing = next((one for one in (first, second) if isinstance(one, Undecided)), None)
    if isinstance(first, Undecided) or isinstance(second, Undecided):
        return Evidence(aspect=aspect, finding=Finding.UNKNOWN, detail=missing.reason if missing else "")
    outside = tuple(sorted({*first.outside, *second.outside}))
    pair = differing(first, second)
    names = ", ".join(entry.rpartition("::")[2] for entry in entries)
    if pair is None:
        detail = f"{aspect} of {names} is the same, definition by definition ({len(second.definitions)})"
        places = tuple(_entry_places(first, entries)) + tuple(_entry_places(second, entries))
        finding = Finding.EQUAL
    else:
        mine, theirs = pair
        places = (*((first.place(mine),) if mine else ()), *((second.place(theirs),) if theirs else ()))
        name = (mine or theirs).name if (mine or theirs) else names  # type: ignore[union-attr]
        word = "differs" if mine and theirs else f"is only in {first.artifact if mine else second.artifact}"
        detail = f"{aspect} of {names}: {name} {word}"
        finding = Finding.DIFFERENT
    followed = len(second.definitions)
    return Evidence(aspect=aspect, finding=finding, detail=detail, places=places, followed=followed, outside=outside)


def _entry_places(code: Code, entries: tuple[str, ...]) -> Iterator[Place]:
    names = {entry.rpartition("::")[2] for entry in entries}
    return (code.place(one) for one in code.definitions if one.name in names)


def _library(pattern: str, old: Build, new: Build) -> Evidence:
    """Compare compiled libraries by the digests that wheels list; one that was built anew says nothing of one kernel in it."""
    first, second = _recorded(old.text, pattern), _recorded(new.text, pattern)
    if not first or not second:
        lacking = old if not first else new
        detail = f"{lacking.text.artifact} lists no library {pattern}"
        return Evidence(aspect=Aspect.LIBRARY, finding=Finding.UNKNOWN, detail=detail)
    places = tuple(
        Place(artifact=one.text.artifact, file=name, quote=f"sha256 {digest[:_SHORT]}")
        for one, found in ((old, first), (new, second))
        for name, digest in found.items()
    )
    if sorted(first.values()) == sorted(second.values()):
        detail = f"{pattern} is the same file"
        return Evidence(
            aspect=Aspect.LIBRARY, finding=Finding.EQUAL, detail=detail, places=places, followed=len(second)
        )
    detail = f"{pattern} was built anew, and no file here tells this kernel from the rest of it"
    return Evidence(aspect=Aspect.LIBRARY, finding=Finding.REBUILT, detail=detail, places=places)


def _recorded(text: BuildText, pattern: str) -> Mapping[str, str]:
    """Read the digests of some files off ``RECORD``."""
    record = next((name for name in text.names() if name.endswith(".dist-info/RECORD")), "")
    try:
        lines = text.read(record).decode("utf-8").splitlines() if record else []
    except (InputError, ValueError):
        return {}
    found: dict[str, str] = {}
    for row in csv.reader(lines):
        if len(row) > 1 and fnmatchcase(row[0], pattern) and row[1].startswith("sha256="):
            found[row[0]] = _hex(row[1].removeprefix("sha256="))
    return {name: digest for name, digest in found.items() if digest}


def _hex(written: str) -> str:
    try:
        return base64.urlsafe_b64decode(written + "=" * (-len(written) % 4)).hex()
    except ValueError:
        return ""


def _artifact(name: str, old: Build, new: Build) -> Evidence:
    """Compare which binaries a library fetches, by the checksums that it has of them."""
    pins = [_checksum(one, name) for one in (old, new)]
    unknown = next((pin for pin in pins if isinstance(pin, Undecided)), None)
    if unknown is not None:
        return Evidence(aspect=Aspect.ARTIFACT, finding=Finding.UNKNOWN, detail=unknown.reason)
    places = tuple(pin for pin in pins if isinstance(pin, Place))
    same = len({place.quote for place in places}) == 1
    shown = " and ".join(dict.fromkeys(place.quote[:_SHORT] for place in places))
    detail = f"the binaries {name} are {'the same' if same else 'others'} ({shown})"
    return Evidence(
        aspect=Aspect.ARTIFACT,
        finding=Finding.EQUAL if same else Finding.DIFFERENT,
        detail=detail,
        places=places,
        followed=1,
    )


def _checksum(build: Build, name: str) -> Place | Undecided:
    text = build.texts.get(_PINNED_BY)
    if text is None or _ARTIFACTS not in text.names():
        return Undecided(
            f"{build.engine} {build.version} was read without {_PINNED_BY}, whose pins of binaries are missing"
        )
    try:
        tree = ast.parse(text.read(_ARTIFACTS))
    except (InputError, SyntaxError, ValueError) as error:
        return Undecided(f"{_ARTIFACTS} of {text.artifact} cannot be read: {type(error).__name__}")
    for node in ast.walk(tree):
        members = node.body if isinstance(node, ast.ClassDef) and node.name == _CHECKSUMS else []
        found = next((one for one in members if _value_of(one, name)), None)
        if found is not None:
            position, value = f"line {found.lineno}", _value_of(found, name)
            return Place(artifact=text.artifact, file=_ARTIFACTS, position=position, quote=value)
    return Undecided(f"{text.artifact} pins no binaries {name}")


def _value_of(statement: ast.stmt, name: str) -> str:
    """Read the text that a statement gives a name; ``""`` for any other statement."""
    match statement:
        case (
            ast.AnnAssign(target=ast.Name(id=found), value=ast.Constant(value=str() as value))
            | ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant(value=str() as value))
        ):
            return value if found == name else ""
        case _:
            return ""


def _sources(pattern: str, old: Build, new: Build) -> Evidence:
    """Compare source files of other distributions, byte by byte."""
    distribution, _, glob = pattern.partition(":")
    found = [_digests(one.texts.get(distribution), glob) for one in (old, new)]
    for build, digests in zip((old, new), found, strict=True):
        if isinstance(digests, Undecided) or not digests:
            why = digests.reason if isinstance(digests, Undecided) else f"no file {glob}"
            detail = f"{distribution} beside {build.engine} {build.version}: {why}"
            return Evidence(aspect=Aspect.SOURCES, finding=Finding.UNKNOWN, detail=detail)
    first, second = (one if not isinstance(one, Undecided) else {} for one in found)
    changed = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    if not changed:
        detail = f"{len(second)} files {glob} are the same"
        return Evidence(aspect=Aspect.SOURCES, finding=Finding.EQUAL, detail=detail, followed=len(second))
    places = tuple(
        Place(artifact=one.texts[distribution].artifact, file=changed[0])
        for one, digests in ((old, first), (new, second))
        if changed[0] in digests
    )
    detail = f"{len(changed)} of {len(first.keys() | second.keys())} files {glob} differ"
    return Evidence(aspect=Aspect.SOURCES, finding=Finding.DIFFERENT, detail=detail, places=places)


def _digests(text: BuildText | None, glob: str) -> Mapping[str, str] | Undecided:
    if text is None:
        return Undecided("it was not read")
    try:
        return {n: hashlib.sha256(text.read(n)).hexdigest() for n in text.names() if fnmatchcase(n, glob)}
    except InputError as error:
        return Undecided(error.message)


def _compiler(name: str, old: Build, new: Build) -> Evidence:
    """Compare which version of a compiler the metadata pins; the same source under another one is other machine code."""
    first, second = old.pins.get(name, ""), new.pins.get(name, "")
    if not first or not second:
        detail = f"{(old if not first else new).text.artifact} does not pin {name}"
        return Evidence(aspect=Aspect.COMPILER, finding=Finding.UNKNOWN, detail=detail)
    if first == second:
        return Evidence(aspect=Aspect.COMPILER, finding=Finding.EQUAL, detail=f"{name} {first} on both", followed=1)
    detail = f"{name} {first} and {second}: the same source need not be the same machine code"
    return Evidence(aspect=Aspect.COMPILER, finding=Finding.REBUILT, detail=detail)
