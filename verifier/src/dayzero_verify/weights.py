"""Check the model files on this disk against the pins of a verified kit, and look at them once more before they are used."""

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from dayzero_verify.hashing import Hashed, hash_files
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.model_files import Identity, ModelFolder, NotAFileError, Opened, PathRefusedError
from dayzero_verify.report import ExitCode, Outcome, Row, Status
from dayzero_verify.resume import ResumeFile
from dayzero_verify.safetensors import (
    LENGTH_BYTES,
    HeaderError,
    TruncatedError,
    header_length,
    load_object,
    tensors,
)
from dayzero_verify.statement import ModelFile

CHECK = "weights"
_SHARD, _INDEX = ".safetensors", ".safetensors.index.json"
_NUMBERED = re.compile(r"-[0-9]+-of-[0-9]+\.safetensors")
_SMALL_BYTES = (
    32 * 1024 * 1024
)  # hashed by the quick check, too: configuration, code and tokenizer decide what is computed
_NAMED_AT_MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the check is made.

    Attributes:
        resume: File that remembers what was hashed; ``None`` to remember nothing.
        fresh: Hash everything anew, and begin the resume file anew.
        threads: Files hashed at once; 0 is one a core.
        say: Takes lines about the progress, without their newline.
        now: Tells the time, in seconds since 1970.
    """

    resume: Path | None = None
    fresh: bool = False
    threads: int = 0
    say: Callable[[str], None] = field(default=lambda _: None)
    now: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Seen:
    """A pinned file, and what it was when it was checked."""

    path: str
    identity: Identity


@dataclass(frozen=True, slots=True)
class Examined:
    """The answer, and the files that it is about."""

    outcome: Outcome
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class _Index:
    """An index of tensors: which shard holds each, and how many each shard holds."""

    path: str
    weight_map: dict[str, str]
    counts: Counter[str]

    @property
    def folder(self) -> str:
        """The folder that its shards lie in, ``""`` or with a slash at its end."""
        return self.path[: self.path.rfind("/") + 1]


@dataclass(slots=True)
class _Case:
    """What is known of one folder so far."""

    folder: ModelFolder
    files: tuple[ModelFile, ...]
    options: Options
    findings: list[tuple[ExitCode, str]] = field(default_factory=list)
    identities: dict[str, Identity] = field(default_factory=dict)
    hashed: set[str] = field(default_factory=set)
    headers: int = 0
    beside: list[str] = field(default_factory=list)

    def differs(self, text: str) -> None:
        """Note that something is there which is not what is pinned."""
        self.findings.append((ExitCode.WEIGHTS_DIFFER, text))
        self.options.say(f"DIFFERS     {text}")

    def incomplete(self, text: str) -> None:
        """Note that something which is pinned is not there, or not all of it."""
        self.findings.append((ExitCode.WEIGHTS_INCOMPLETE, text))
        self.options.say(f"INCOMPLETE  {text}")

    def holds(self, file: ModelFile, sha256: str) -> bool:
        """Hold a file to its digest."""
        if sha256 == file.sha256:
            self.hashed.add(file.path)
            return True
        self.differs(f"{file.path!a} has sha256 {sha256} instead of the pinned {file.sha256}")
        return False


def outcome(
    files: Sequence[ModelFile], folder: Path, mode: Literal["quick", "full"], options: Options | None = None
) -> Outcome:
    """Say whether a folder holds the pinned model; see :func:`examine`."""
    return examine(files, folder, mode, options).outcome


def examine(
    files: Sequence[ModelFile], folder: Path, mode: Literal["quick", "full"], options: Options | None = None
) -> Examined:
    """Check a folder against the pins, and remember what each file was.

    The quick check takes every file's size, the SHA-256 of those that hold no tensors, and of each safetensors file the header:
    that it is well formed and covers the file, has its pinned digest, and holds what the index says. The full check takes the
    SHA-256 of every file on top, and is not begun where the quick one has findings.

    Raises:
        UnreadableError: The folder, a file in it or the resume file cannot be read.
    """
    if not files:
        return Examined(_answer(Status.NOT_CHECKED, "the kit pins no model file", ExitCode.UNREADABLE), ())
    if len({file.path for file in files}) != len(files):
        return Examined(_answer(Status.FAIL, "the kit pins a model file twice", ExitCode.STATEMENT), ())
    how = options or Options()
    with ExitStack() as stack:
        resume = stack.enter_context(ResumeFile(how.resume, fresh=how.fresh)) if how.resume else None
        try:
            opened = ModelFolder(folder)
            stack.callback(opened.close)
            case = _Case(opened, tuple(files), how)
            _quick(case)
            known = _full(case, resume) if mode == "full" and not case.findings else 0
        except PathRefusedError as error:
            return Examined(_answer(Status.FAIL, str(error), ExitCode.STATEMENT), ())
        except OSError as error:
            raise UnreadableError(
                f"cannot read the model in {folder}: {error.strerror or error}", hint="give the folder of the model"
            ) from error
    seen = tuple(Seen(path, identity) for path, identity in case.identities.items())
    return Examined(_conclude(case, mode, known), seen)


def unchanged(folder: Path, seen: Sequence[Seen]) -> Outcome | None:
    """Look at checked files once more, right before they are used; give the failure where one is not what it was.

    A file that is the same inode, with the same size and times, holds what was checked: whoever writes to it changes its ``ctime``.
    """
    changed = []
    try:
        opened = ModelFolder(folder)
    except OSError as error:
        return _answer(Status.FAIL, f"the folder is gone: {error.strerror}", ExitCode.WEIGHTS_DIFFER)
    try:
        for file in seen:
            try:
                with opened.opened(file.path) as now:
                    same = now.identity == file.identity
            except (NotAFileError, OSError):
                same = False
            if not same:
                changed.append(f"{file.path!a} was changed after it was checked")
    finally:
        opened.close()
    return _answer(Status.FAIL, _some(changed), ExitCode.WEIGHTS_DIFFER) if changed else None


def _quick(case: _Case) -> None:
    pinned = frozenset(file.path for file in case.files)
    placed: dict[str, list[_Index]] = {}
    # What is no shard first: the indices say what the shards have to hold.
    for file in sorted(case.files, key=lambda file: (file.path.endswith(_SHARD), file.path)):
        try:
            with case.folder.opened(file.path) as opened:
                if _has_its_size(case, file, opened):
                    _look(case, file, opened, placed)
        except NotAFileError as error:
            case.incomplete(f"{file.path!a} {error}")
    for path, loadable in case.folder.others(pinned):
        if loadable:
            case.differs(f"{path!a} is not pinned, and an engine would load it")
        else:
            case.beside.append(path)


def _has_its_size(case: _Case, file: ModelFile, opened: Opened) -> bool:
    size = opened.identity.size
    if size < file.size:
        case.incomplete(f"{file.path!a} ends after {size} of {file.size} bytes")
    elif size > file.size:
        case.differs(f"{file.path!a} has {size} bytes instead of the pinned {file.size}")
    else:
        case.identities[file.path] = opened.identity
    return size == file.size


def _look(case: _Case, file: ModelFile, opened: Opened, placed: dict[str, list[_Index]]) -> None:
    if file.path.endswith(_SHARD):
        _look_at_shard(case, file, opened, placed.pop(file.path, []))
    elif file.size <= _SMALL_BYTES:
        content = os.pread(opened.descriptor, file.size, 0)
        if case.holds(file, hashlib.sha256(content).hexdigest()) and file.path.endswith(_INDEX):
            _read_index(case, file.path, content, placed)


def _look_at_shard(case: _Case, file: ModelFile, opened: Opened, placed: list[_Index]) -> None:
    try:
        prefix = os.pread(opened.descriptor, LENGTH_BYTES, 0)
        header = os.pread(opened.descriptor, header_length(prefix, file.size), LENGTH_BYTES)
        # Before it is parsed: a header that is not the pinned one can be 100 MB of anything.
        if file.header_sha256 and not _has_its_header(case, file, prefix + header):
            return
        names = frozenset(tensors(header, file.size))
    except TruncatedError as error:
        case.incomplete(f"{file.path!a}: {error}")
        return
    except HeaderError as error:
        case.differs(f"{file.path!a} is no whole safetensors file: {error}")
        return
    for index in placed:
        _agree(case, index, file.path, names)


def _has_its_header(case: _Case, file: ModelFile, header: bytes) -> bool:
    digest = hashlib.sha256(header).hexdigest()
    same = digest == file.header_sha256
    if same:
        case.headers += 1
    else:
        case.differs(f"{file.path!a} has a header with sha256 {digest} instead of the pinned {file.header_sha256}")
    return same


def _agree(case: _Case, index: _Index, path: str, names: frozenset[str]) -> None:
    """Hold the tensors of a shard to what an index says, both ways."""
    shard = path.removeprefix(index.folder)
    if index.counts[shard] == len(names) and set(map(index.weight_map.get, names)) <= {shard}:
        return
    listed = {name for name, where in index.weight_map.items() if where == shard}
    name = min(names ^ listed)
    whose = "does not list" if name in names else "lists, and it is not there:"
    case.incomplete(f"{path!a} holds other tensors than {index.path!a} says: the index {whose} {name!a:.100}")


def _read_index(case: _Case, path: str, content: bytes, placed: dict[str, list[_Index]]) -> None:
    """Note which tensors each shard has to hold, and hold the index's list of shards to the pinned ones, both ways."""
    try:
        weight_map = load_object(content).get("weight_map")
    except HeaderError as error:
        case.differs(f"{path!a}: {error}")
        return
    if not isinstance(weight_map, dict) or not set(map(type, weight_map.values())) <= {str}:
        case.differs(f"{path!a} has no weight_map of names")
        return
    index = _Index(path, weight_map, Counter(weight_map.values()))
    shards, pinned = {index.folder + shard for shard in index.counts}, {file.path for file in case.files}
    for shard in sorted(shards - pinned):
        case.incomplete(f"{path!a} lists the shard {shard!a:.200}, which is not pinned")
    stem = path.removesuffix(_INDEX)
    for shard in sorted(pinned - shards):
        if shard.startswith(stem) and _NUMBERED.fullmatch(shard.removeprefix(stem)):
            case.incomplete(f"{path!a} does not list the pinned shard {shard!a}")
    for shard in shards:
        placed.setdefault(shard, []).append(index)


def _full(case: _Case, resume: ResumeFile | None) -> int:
    """Hash what is not known yet, and give how many files were known from the resume file."""
    pins = {file.path: file for file in case.files}
    todo = []
    known = 0
    for path, identity in case.identities.items():
        if path in case.hashed:
            continue
        if resume is not None and resume.digest(identity) == pins[path].sha256:
            case.hashed.add(path)
            known += 1
            case.options.say(f"known       {path!a}, from the resume file")
        else:
            todo.append((path, identity))
    for result in hash_files(case.folder, todo, threads=case.options.threads, say=case.options.say):
        _take(case, pins[result.path], result, resume)
    return known


def _take(case: _Case, file: ModelFile, result: Hashed, resume: ResumeFile | None) -> None:
    if result.problem:
        case.differs(f"{file.path!a} {result.problem}")
    elif case.holds(file, result.sha256):
        if resume is not None:
            resume.add(file.path, result.identity, result.sha256)
        case.options.say(f"ok          {file.path!a}, {file.size} bytes in {result.seconds:.1f} s")


def _conclude(case: _Case, mode: str, known: int) -> Outcome:
    if case.findings:
        # Bytes that differ are worse than bytes that are not there yet.
        code = min((code for code, _ in case.findings), key=int)
        return _answer(Status.FAIL, _some([text for _, text in case.findings]), code)
    at = datetime.fromtimestamp(case.options.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shards = sum(file.path.endswith(_SHARD) for file in case.files)
    count, hashed = len(case.files), len(case.hashed)
    said = [f"{mode}, as of {at}: {_files(count)} pinned, {sum(file.size for file in case.files)} bytes"]
    if shards:
        said.append(f"{shards} safetensors headers cover their files ({case.headers} pinned by digest)")
    if mode == "full":
        said.append("sha256 of every file" + (f" ({known} from the resume file)" if known else ""))
    else:
        rest = (
            f"; the bytes of {_files(count - hashed)} were not hashed; --weights full does that"
            if hashed < count
            else ""
        )
        said.append(f"sha256 of {_files(hashed)}{rest}")
    if case.beside:
        said.append(f"beside them, not counted: {_some([ascii(path) for path in case.beside])}")
    return _answer(Status.PASS, "; ".join(said), ExitCode.VERIFIED)


def _files(number: int) -> str:
    return f"{number} {'file' if number == 1 else 'files'}"


def _answer(status: Status, reason: str, code: ExitCode) -> Outcome:
    return Outcome(Row(CHECK, status, reason), code)


def _some(findings: list[str]) -> str:
    shown = "; ".join(findings[:_NAMED_AT_MOST])
    return shown if len(findings) <= _NAMED_AT_MOST else f"{shown}; and {len(findings) - _NAMED_AT_MOST} more"
