"""Files of measurements are made new, and never overwritten."""

import os
from pathlib import Path

import pytest

from dayzero.adapters.row_file import create, write_all, write_lines
from dayzero.core.errors import InputError


def test_what_was_written_is_in_the_file_at_once(tmp_path: Path):
    path = tmp_path / "new" / "reads.bin"
    descriptor = create(path)
    for count in range(1, 4):
        write_all(descriptor, b"row\n", path)
        assert path.read_bytes() == b"row\n" * count
    os.close(descriptor)


def test_what_is_there_is_never_overwritten(tmp_path: Path):
    path = tmp_path / "reads.bin"
    path.write_text("measured before\n")
    with pytest.raises(InputError, match="never overwritten"):
        create(path)
    assert path.read_text() == "measured before\n"


def test_lines_are_written_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "requests.jsonl"
    write_lines(path, (b"%d\n" % number for number in range(3)))
    assert path.read_bytes() == b"0\n1\n2\n"
    with pytest.raises(ZeroDivisionError):
        write_lines(path, (b"%d\n" % (1 // number) for number in (1, 0)))
    assert path.read_bytes() == b"0\n1\n2\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_a_file_is_named(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken is not a folder"):
        create(tmp_path / "taken" / "reads.bin")


def test_a_folder_that_cannot_be_made_is_named():
    with pytest.raises(InputError, match="/proc/measured is not a folder, and cannot become one"):
        create(Path("/proc/measured/reads.bin"))
