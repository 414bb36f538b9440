"""Rows on disk as they come."""

from pathlib import Path

import pytest
from tests.bench.sample_rows import rows

from dayzero.adapters.row_file import RowFile
from dayzero.bench.rows import encode
from dayzero.core.errors import InputError


def test_a_row_is_in_the_file_as_soon_as_it_was_added(tmp_path: Path):
    path = tmp_path / "new" / "requests.jsonl"
    with RowFile(path) as sink:
        for number, row in enumerate(rows(3), 1):
            sink.add(row)
            assert path.read_bytes() == b"".join(map(encode, rows(number)))


def test_rows_that_are_there_are_never_overwritten(tmp_path: Path):
    path = tmp_path / "requests.jsonl"
    path.write_text("measured before\n")
    with pytest.raises(InputError, match="never overwritten"):
        RowFile(path)
    assert path.read_text() == "measured before\n"


def test_a_file_without_a_row_does_not_stay(tmp_path: Path):
    path = tmp_path / "requests.jsonl"
    with RowFile(path):
        assert path.exists()
    assert not path.exists()


def test_a_folder_that_is_a_file_is_named(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken is not a folder"):
        RowFile(tmp_path / "taken" / "requests.jsonl")
