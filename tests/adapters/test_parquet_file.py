"""Rows as Parquet hold what the rows hold."""

import sys

import pytest
from tests.bench import measured_run

from dayzero.adapters.parquet_file import write_parquet
from dayzero.core.errors import InputError

duckdb = pytest.importorskip("duckdb")


def test_every_request_and_every_chunk_is_a_line_with_its_stamps(tmp_path):
    rows = (measured_run.failed(measured_run.rows()[0]), *measured_run.rows()[1:])
    requests, chunks = write_parquet(rows, tmp_path / "it's here")
    with duckdb.connect() as connection:
        found = connection.read_parquet(str(requests)).order("number").fetchall()
        names = connection.read_parquet(str(requests)).columns
        stamps = connection.read_parquet(str(chunks)).order("number, position").fetchall()
    lines = [dict(zip(names, line, strict=True)) for line in found]
    assert [line["sent_ns"] for line in lines] == [row.sent_ns for row in rows]
    assert (lines[0]["error"], lines[0]["chunks"], lines[0]["completion_tokens"]) == ("connection reset", 0, None)
    assert (lines[1]["chunks"], lines[1]["prompt_tokens"], lines[1]["new_connection"]) == (16, 32, True)
    assert [stamp for *_, stamp in stamps] == [stamp for row in rows for stamp in row.content_ns]


def test_without_duckdb_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match="needs DuckDB"):
        write_parquet(measured_run.rows(), tmp_path)
    assert list(tmp_path.iterdir()) == []
