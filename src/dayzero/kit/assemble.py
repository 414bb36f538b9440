"""Fill the archive: the same contents give the same bytes, in whatever order they come."""

from collections.abc import Iterable, Iterator, Mapping

from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.launch import LocalModel
from dayzero.core.pins import FilePin, Proxy, Sha256
from dayzero.kit.documents import launch_json, manifest_json, model_sums, requirements_of
from dayzero.kit.model import Kit, KitContents, KitFile
from dayzero.kit.readme import kit_readme
from dayzero_verify.archive_checks import MANIFEST_PATH
from dayzero_verify.canonical_zip import ArchivedFile, ArchiveError, build
from dayzero_verify.kit import RAW_FOLDER
from dayzero_verify.paths import PathError, check_path
from dayzero_verify.statement import LEDGER_PATH

MAX_FILE_BYTES = 16 * 1024 * 1024


def assemble(contents: KitContents) -> Kit:
    """Make a kit.

    Raises:
        InputError: A file is a pinned model file, larger than 16 MiB, at a path that a kit may not hold, or at the path of
            another one; or the launch names other weights than the package.
        IntegrityError: A raw file does not have the digest that it is kept under.
    """
    package = contents.package
    if _pins(contents.launch.model.files) != _pins(package.recipe.model.files):
        raise InputError(
            "the launch and the package definition pin different weights", hint="Make the launch from this package."
        )
    files = _one_a_path(_files(contents))
    _refuse_weights(files, package.recipe.model.weight_files)
    manifest = manifest_json(package.name, package.version, map(_listed, files)).encode("ascii")
    every = _one_a_path([*((file.path, file.content) for file in files), (MANIFEST_PATH, manifest)])
    try:
        archive = build(every)
    except (ArchiveError, PathError) as error:
        raise InputError(f"a kit cannot hold these files: {error}", hint="Rename or leave out a file.") from error
    return Kit(
        name=package.name,
        version=package.version,
        files=tuple(map(_listed, every)),
        archive=archive,
        sha256=Sha256.of(archive),
    )


def _files(contents: KitContents) -> Iterator[tuple[str, bytes]]:
    launch, origin = contents.launch, contents.package.recipe.model.origin
    deploy = tuple(sorted(set(contents.deploy_files)))
    texts = (
        ("README.md", kit_readme(contents)),
        ("CARD.md", contents.card),
        ("package.toml", contents.definition),
        ("launch.json", launch_json(launch)),
        ("requirements.lock", requirements_of(launch)),
        *((("config.json", origin.config),) if isinstance(origin, Proxy) else ()),
        *((("model.sha256", model_sums(launch.model.files)),) if isinstance(launch.model, LocalModel) else ()),
        *deploy,
    )
    yield from ((path, text.encode("utf-8")) for path, text in texts)
    yield from contents.launch_files
    yield (LEDGER_PATH, contents.ledger)
    for digest, content in contents.raw_files:
        found = Sha256.of(content)
        if found != digest:
            raise IntegrityError(
                f"the raw file {digest} has the digest {found}",
                hint="Restore it from where it was captured; a kit is not made from changed evidence.",
            )
        yield (f"{RAW_FOLDER}{digest}", content)


def _one_a_path(entries: Iterable[tuple[str, bytes]]) -> tuple[ArchivedFile, ...]:
    """Check each file, and make sure that two of one path are the same; files that start with ``#!`` are executable."""
    files: dict[str, ArchivedFile] = {}
    for path, content in entries:
        try:
            check_path(path)
        except PathError as error:
            raise InputError(f"a kit cannot hold this file: {error}", hint="Rename the file.") from error
        if len(content) > MAX_FILE_BYTES:
            raise InputError(
                f"{path} has {len(content)} bytes; a file of a kit has at most {MAX_FILE_BYTES}",
                hint="Leave it out; weights and wheels are pinned, not packed.",
            )
        file = ArchivedFile(path, content, executable=content.startswith(b"#!"))
        if files.setdefault(path, file) != file:
            raise InputError(f"two different files of the kit want the path {path}", hint="Give one another name.")
    return tuple(files[path] for path in sorted(files))


def _refuse_weights(files: tuple[ArchivedFile, ...], weights: Mapping[Sha256, str]) -> None:
    for file in files:
        pinned = weights.get(Sha256.of(file.content))
        if pinned is not None:
            raise InputError(
                f"{file.path} is the pinned model file {pinned}, and a kit holds no weights", hint="Leave it out."
            )


def _listed(file: ArchivedFile) -> KitFile:
    digest = Sha256.of(file.content)
    return KitFile(path=file.path, size=len(file.content), sha256=digest, mode=file.mode)


def _pins(files: tuple[FilePin, ...]) -> set[tuple[str, str, int]]:
    return {(file.path, file.sha256.hex, file.size.count) for file in files}
