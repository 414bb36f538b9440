"""The archive against its signed list: its one form, its paths, every byte, and nothing beside."""

from collections.abc import Mapping
from hashlib import sha256

from dayzero_verify.canonical_zip import ArchivedFile, ArchiveError, ChecksumError, read
from dayzero_verify.case import Case, RefusedError, count, some
from dayzero_verify.paths import PathError
from dayzero_verify.report import ExitCode
from dayzero_verify.statement import KitStatement, SignedFile, StatementError, parse_files
from dayzero_verify.strict_json import StrictJsonError, loads

MANIFEST_PATH = "manifest.json"


def explain_difference(kit: bytes, statement: KitStatement) -> tuple[ExitCode, str]:
    """Say how an archive that is refused already differs from the signed one; this picks the exit code, never a pass."""
    try:
        files = read(kit)
    except ChecksumError as error:
        return ExitCode.DIGEST, str(error)
    except (ArchiveError, PathError) as error:
        return ExitCode.ARCHIVE, str(error)
    there = described(files)
    changed, strays = _changed(there, statement.files), _strays(there, statement.files)
    if _manifest_problem(files, there) is None:
        return ExitCode.STATEMENT, f"this is another kit, whole in itself ({some(changed + strays)})"
    if strays:
        return ExitCode.FILE_SET, some(strays)
    if changed:
        return ExitCode.DIGEST, some(changed)
    return ExitCode.STATEMENT, "the statement lists the files of this archive, but signs another"


def described(files: tuple[ArchivedFile, ...]) -> dict[str, SignedFile]:
    """Describe files as a signed list does, by their paths; each is hashed here and nowhere else."""
    return {
        file.path: SignedFile(file.path, len(file.content), sha256(file.content).hexdigest(), file.mode)
        for file in files
    }


def check_archive(case: Case, kit: bytes) -> tuple[ArchivedFile, ...]:
    """Take the archive apart.

    Raises:
        RefusedError: It is not canonical, or holds a path that a kit may not hold.
    """
    try:
        files = read(kit)
    except PathError as error:
        case.passed("archive", "in its one canonical form")
        raise RefusedError("paths", ExitCode.ARCHIVE, str(error)) from error
    except ChecksumError as error:
        raise RefusedError("archive", ExitCode.DIGEST, str(error)) from error
    except ArchiveError as error:
        raise RefusedError("archive", ExitCode.ARCHIVE, str(error)) from error
    case.passed("archive", "in its one canonical form")
    case.passed("paths", f"{count(len(files), 'plain relative path')}")
    return files


def check_files(
    case: Case, files: tuple[ArchivedFile, ...], there: Mapping[str, SignedFile], listed: tuple[SignedFile, ...]
) -> None:
    """Hold the archive's files against the signed list and against the kit's own manifest.

    Args:
        case: The examination.
        files: The archive's files.
        there: The same, described.
        listed: The signed list.

    Raises:
        RefusedError: A file differs, is missing, or is extra.
    """
    changed, strays = _changed(there, listed), _strays(there, listed)
    if changed:
        raise RefusedError("digests", ExitCode.DIGEST, some(changed))
    case.passed("digests", "size, mode and sha256 of every file are the signed ones")
    if strays:
        raise RefusedError("closed_world", ExitCode.FILE_SET, some(strays))
    case.passed("closed_world", f"the {count(len(files), 'signed file')} and nothing else")
    problem = _manifest_problem(files, there)
    if problem is not None:
        raise RefusedError("manifest", *problem)
    case.passed("manifest", f"{MANIFEST_PATH} in the kit lists the same")


def _changed(there: Mapping[str, SignedFile], listed: tuple[SignedFile, ...]) -> list[str]:
    signed = {entry.path: entry for entry in listed}
    changed = []
    for path, file in there.items():
        entry = signed.get(path, file)
        if (entry.sha256, entry.size) != (file.sha256, file.size):
            changed.append(f"{path} is changed")
        elif entry.mode != file.mode:
            changed.append(f"{path} has mode {file.mode}, not {entry.mode}")
    return changed


def _strays(there: Mapping[str, SignedFile], listed: tuple[SignedFile, ...]) -> list[str]:
    signed = {entry.path for entry in listed}
    extra = [f"{path} is not in the signed list" for path in sorted(there.keys() - signed)]
    return extra + [f"{path!a} is missing" for path in sorted(signed - there.keys())]


def _manifest_problem(files: tuple[ArchivedFile, ...], there: Mapping[str, SignedFile]) -> tuple[ExitCode, str] | None:
    """Say where the archive's own manifest and its other files differ, ``None`` when they agree."""
    manifest = next((file for file in files if file.path == MANIFEST_PATH), None)
    if manifest is None:
        return ExitCode.FILE_SET, f"{MANIFEST_PATH} is missing"
    try:
        document = loads(manifest.content)
        listed = parse_files(document.get("files") if isinstance(document, dict) else None)
    except (StrictJsonError, StatementError) as error:
        return ExitCode.DIGEST, f"{MANIFEST_PATH}: {error}"
    others = {path: file for path, file in there.items() if path != MANIFEST_PATH}
    changed, strays = _changed(others, listed), _strays(others, listed)
    if changed:
        return ExitCode.DIGEST, f"{MANIFEST_PATH}: {some(changed)}"
    return (ExitCode.FILE_SET, f"{MANIFEST_PATH}: {some(strays)}") if strays else None
