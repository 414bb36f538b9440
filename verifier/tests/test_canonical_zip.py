import io
import random
import stat
import subprocess
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifier.tests.vectors import vectors

from dayzero_verify import canonical_zip
from dayzero_verify.canonical_zip import ArchivedFile, ArchiveError, ChecksumError, build, read
from dayzero_verify.paths import PathError

FILES = [
    ArchivedFile("b.txt", b"content\n"),
    ArchivedFile("a/run.sh", b"#!/bin/sh\n", executable=True),
    ArchivedFile("a/empty", b""),
]
SEGMENT = st.text("abcXYZ019_.-", min_size=1, max_size=6).map(lambda text: f"f{text}e")
CONTENTS = st.dictionaries(SEGMENT, st.tuples(st.binary(max_size=60), st.booleans()), min_size=1, max_size=8)


def written(*entries: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for info, content in entries:
            archive.writestr(info, content)
    return buffer.getvalue()


@given(CONTENTS, st.randoms(use_true_random=False))
def test_what_is_built_is_read_back_and_order_does_not_matter(
    contents: dict[str, tuple[bytes, bool]], order: random.Random
):
    files = [
        ArchivedFile(path, *rest)
        for path, rest in contents.items()
        if len({p.lower() for p in contents}) == len(contents)
    ]
    if not files:
        return
    shuffled = order.sample(files, len(files))
    assert build(shuffled) == build(files)
    assert sorted(read(build(files)), key=lambda file: file.path) == sorted(files, key=lambda file: file.path)


@pytest.mark.parametrize(
    ("suite", "pattern", "count"), [("malo", "zip/*/*.zip", 79), ("warehouse-zip", "**/reject/*", 35)]
)
def test_every_hostile_archive_of_the_public_suites_is_refused(suite: str, pattern: str, count: int):
    files = sorted(vectors(suite).glob(pattern))
    assert len(files) == count
    for file in files:
        with pytest.raises((ArchiveError, PathError, ChecksumError)):
            read(file.read_bytes())


def test_other_tools_read_the_archive_with_modes_and_the_fixed_date(tmp_path: Path):
    (tmp_path / "x.zip").write_bytes(build(FILES))
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["a/empty", "a/run.sh", "b.txt"]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    subprocess.run(["python3", "-m", "zipfile", "-t", "x.zip"], cwd=tmp_path, check=True, capture_output=True)


def test_unzip_restores_content_and_modes(tmp_path: Path):
    (tmp_path / "x.zip").write_bytes(build(FILES))
    try:
        subprocess.run(["unzip", "-q", "x.zip", "-d", "out"], cwd=tmp_path, check=True)
    except FileNotFoundError:
        pytest.skip("unzip is not installed")
    modes = {
        str(p.relative_to(tmp_path / "out")): stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "out").rglob("*.*")
    }
    assert modes == {"a/run.sh": 0o755, "b.txt": 0o644}
    assert (tmp_path / "out" / "a" / "run.sh").read_bytes() == b"#!/bin/sh\n"


def test_the_same_members_written_by_another_tool_are_not_canonical():
    with pytest.raises(ArchiveError):
        read(written((zipfile.ZipInfo("b.txt"), b"content\n")))


def test_a_symbolic_link_is_refused_as_no_regular_file():
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(ArchiveError, match="not a regular file"):
        read(written((link, b"/etc/passwd")))


def test_bytes_before_between_or_behind_are_refused():
    archive = build(FILES)
    for changed in (
        b"x" + archive,
        archive + b"x",
        archive + archive,
        archive[:40] + b"x" + archive[40:],
        archive[:-1],
    ):
        with pytest.raises(ArchiveError):
            read(changed)


def test_a_comment_is_refused():
    archive = build(FILES)
    with pytest.raises(ArchiveError):
        read(archive[:-2] + b"\x01\x00" + b"x")


def test_members_that_overlap_are_refused_before_they_are_copied():
    # Every entry of the directory points at one large member: taken at its word it would unpack to gigabytes.
    big = b"\x00" * 1_000_000
    archive = bytearray(build([ArchivedFile(f"f{n:04}", big if n == 0 else b"") for n in range(4096)]))
    one = canonical_zip._CENTRAL.size + 5  # noqa: SLF001
    start = len(archive) - canonical_zip._END.size - 4096 * one  # noqa: SLF001
    for n in range(4096):
        entry = start + n * one
        archive[entry + 20 : entry + 28] = archive[start + 20 : start + 28]
        archive[entry + 42 : entry + 46] = b"\x00" * 4
    with pytest.raises(ArchiveError, match="larger than the archive"):
        read(bytes(archive))


def test_a_member_out_of_order_is_refused():
    first, second = ArchivedFile("a", b"1"), ArchivedFile("b", b"2")
    members = [canonical_zip._Member(file, zlib.crc32(file.content)) for file in (second, first)]  # noqa: SLF001
    with pytest.raises(ArchiveError, match="canonical form"):
        read(canonical_zip._encode(members))  # noqa: SLF001


@pytest.mark.parametrize("path", ["../x", "/x", "a\\b", "caf\xe9", "a/../b"])
def test_a_canonical_archive_with_an_unsafe_path_is_refused(path: str):
    with pytest.raises(PathError):
        read(unsafe(path))
    with pytest.raises(PathError):
        build([ArchivedFile(path, b"x")])


def unsafe(path: str) -> bytes:
    return canonical_zip._encode([canonical_zip._Member(ArchivedFile(path, b"x"), zlib.crc32(b"x"))])  # noqa: SLF001


def test_one_path_twice_is_refused():
    member = canonical_zip._Member(ArchivedFile("a", b"x"), zlib.crc32(b"x"))  # noqa: SLF001
    with pytest.raises(PathError):
        read(canonical_zip._encode([member, member]))  # noqa: SLF001


def test_a_damaged_member_is_told_apart_from_a_malformed_archive():
    archive = build(FILES)
    with pytest.raises(ChecksumError, match=r"b\.txt"):
        read(archive.replace(b"content\n", b"Content\n"))


@pytest.mark.parametrize("files", [[], [ArchivedFile(f"f{n}", b"") for n in range(4097)]])
def test_no_files_and_too_many_are_refused(files: list[ArchivedFile]):
    with pytest.raises(ArchiveError):
        build(files)


def test_an_archive_beyond_its_limit_is_refused():
    with pytest.raises(ArchiveError, match="larger"):
        build([ArchivedFile("x", bytes(canonical_zip.MAX_ARCHIVE_BYTES))])
    with pytest.raises(ArchiveError, match="larger"):
        read(bytes(canonical_zip.MAX_ARCHIVE_BYTES + 1))


def test_not_one_of_two_thousand_flipped_bits_is_read():
    archive, chance = build(FILES), random.Random(20260727)  # noqa: S311
    for _ in range(2000):
        bit = chance.randrange(len(archive) * 8)
        changed = bytearray(archive)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises((ArchiveError, PathError, ChecksumError)):
            read(bytes(changed))
