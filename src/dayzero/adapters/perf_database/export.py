"""Write a tree as its own readers want it: hard links to its files, and new files without the rows that were taken back."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.perf_database.duck import connect, quoted, written
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.core.errors import InputError, IntegrityError


def export_tree(
    folder: PerfFolder,
    files: Mapping[str, str],
    without: Mapping[str, Sequence[int]],
    target: Path,
    note: tuple[str, bytes],
) -> None:
    """Write a tree; on any failure nothing is left.

    Args:
        folder: The database.
        files: Digest of each file of the tree, by path.
        without: Rows to leave out of a file, from 0, by path.
        target: The tree's folder, which must not be there.
        note: Name and content of a file that says what was left out.

    Raises:
        InputError: The folder is there already.
        IntegrityError: A file of the database was changed.
        RemoteError: The disk is full or may not be written.
    """
    if os.path.lexists(target):
        raise InputError(f"{target} is there already", hint="Name a new folder; nothing is overwritten.")
    with disk_errors(target):
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.absolute().parent))
        try:
            work.chmod(0o755)
            for path, sha256 in files.items():
                place = work / path
                place.parent.mkdir(parents=True, exist_ok=True)
                source = folder.file(sha256)
                if not source.is_file() or digest_of(source).hex != sha256:
                    raise IntegrityError(f"{source} is not the file that was imported", hint="Import the tree again.")
                if path in without:
                    _filtered(source, without[path], place)
                else:
                    _linked(source, place)
            (work / note[0]).write_bytes(note[1])
            work.rename(target.absolute())
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _linked(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError as error:
        if error.errno not in {errno.EXDEV, errno.EPERM, errno.EMLINK}:
            raise
        shutil.copyfile(source, place)


def _filtered(source: Path, rows: Sequence[int], place: Path) -> None:
    """Write a Parquet file without some rows: columns, types, order and codec as they were; with no row left, no file."""
    file = quoted(source)
    with connect(foreign=True) as connection, written(place):
        connection.execute("CREATE TEMP TABLE gone (row BIGINT PRIMARY KEY)")
        connection.execute("INSERT INTO gone SELECT unnest(?::BIGINT[])", [list(rows)])
        codec = connection.execute(f"SELECT any_value(compression) FROM parquet_metadata({file})").fetchone()[0]  # noqa: S608
        kept = (
            f"SELECT * EXCLUDE (file_row_number) FROM read_parquet({file}, file_row_number = true) "  # noqa: S608  (our own path)
            "WHERE file_row_number NOT IN (SELECT row FROM gone)"
        )
        if connection.execute(f"SELECT count(*) FROM ({kept})").fetchone()[0]:  # noqa: S608
            connection.execute(f"COPY ({kept}) TO {quoted(place)} (FORMAT parquet, COMPRESSION '{codec.lower()}')")
