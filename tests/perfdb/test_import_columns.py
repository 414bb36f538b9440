"""A file is a table only where each column is what it is for: nothing is dropped, converted by guess, or taken for another."""

import json
import os
import struct
from pathlib import Path

import duckdb
import pytest
from tests.perfdb.tree_samples import GEMM, gemm, place, write_parquet, write_tree

from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_import import import_tree

META = place(GEMM).replace("gemm_perf.parquet", "collection_meta.yaml")


def written_as(root: Path, select: str, name: str = place(GEMM)) -> Path:
    """Write the table of one row that a SELECT makes of a good one, called ``base``."""
    write_parquet(root / "base.parquet", [gemm(1.25), gemm(2.5, 256)])
    target = root / "tree" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW base AS FROM '{root / 'base.parquet'}'")
        connection.execute(f"COPY ({select}) TO '{target}' (FORMAT parquet)")
    return root / "tree"


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("SELECT * REPLACE (latency::VARCHAR AS latency) FROM base", "column latency is VARCHAR, not a number"),
        ("SELECT * REPLACE (true AS latency) FROM base", "column latency is BOOLEAN, not a number"),
        ("SELECT * REPLACE ([latency] AS latency) FROM base", "column latency is DOUBLE[], not a number"),
        (
            "SELECT * REPLACE ({'ms': latency} AS latency) FROM base",
            "column latency is STRUCT(ms DOUBLE), not a number",
        ),
        ("SELECT * REPLACE (NULL::DOUBLE AS latency) FROM base", "row 0: latency has no value"),
        ("SELECT * REPLACE ('inf'::DOUBLE AS latency) FROM base", "latency is negative or not a number"),
        ("SELECT * REPLACE (1e306::DOUBLE AS latency) FROM base", "latency is negative or not a number"),
        ("SELECT *, NULL::DOUBLE AS power FROM base", ""),
        ("SELECT *, -1.0::DOUBLE AS power FROM base", "power is negative or not a number"),
        ("SELECT * REPLACE (NULL::BIGINT AS m) FROM base", "row 0: m has no value"),
        ("SELECT * REPLACE ([m] AS m) FROM base", "column m is BIGINT[], not a whole number"),
        ("SELECT * REPLACE (gemm_dtype::BLOB AS gemm_dtype) FROM base", "column gemm_dtype is BLOB, not a word"),
        ("SELECT * REPLACE (0.5::DOUBLE AS gemm_dtype) FROM base", "column gemm_dtype is DOUBLE, not a word"),
        ("SELECT * REPLACE (0.24::DOUBLE AS version) FROM base", "column version is DOUBLE, not text"),
        ("SELECT * REPLACE (1 AS kernel_source) FROM base", "column kernel_source is INTEGER, not text"),
        ("SELECT * REPLACE (1 AS device) FROM base", "column device is INTEGER, not text"),
        ("SELECT *, 'A' AS system FROM base", "a column that cannot be called 'system'"),
        ("SELECT *, 'A' AS grade FROM base", "a column that cannot be called 'grade'"),
        ("SELECT *, 'A' AS filename FROM base", "a column that cannot be called 'filename'"),
        ("SELECT *, 1 AS file_row_number FROM base", "a column that cannot be called 'file_row_number'"),
        ("""SELECT *, 1 AS "x"" FROM base; --" FROM base""", "a column that cannot be called"),
        ("SELECT *, 1.0::DOUBLE AS latency_s FROM base", "nothing says in which unit latency_s is"),
        ("SELECT * EXCLUDE (latency), latency AS latency_1 FROM base", "holds no measured column"),
        ("SELECT * EXCLUDE (latency), latency AS LATENCY FROM base", "a column that cannot be called 'LATENCY'"),
        ("SELECT *, 1 AS raw_line FROM base", "column raw_line is INTEGER, not BIGINT"),
    ],
)
def test_a_column_that_is_not_what_it_is_for_is_refused(tmp_path, dayzero, select, message):
    code, out, err = dayzero("perfdb", "import", written_as(tmp_path, select), "-o", tmp_path / "db")
    if not message:
        assert code == 0, err
        return
    assert (code, out) == (2, ""), err
    assert message in err
    assert "hint: " in err
    assert "Traceback" not in err
    assert list((tmp_path / "db").glob("imports/*")) == list((tmp_path / "db").glob("scratch/*")) == []


@pytest.mark.parametrize(
    ("select", "column", "kind"),
    [
        ("SELECT * REPLACE (m::SMALLINT AS m) FROM base", "m", "SMALLINT"),
        ("SELECT * REPLACE (m::UINTEGER AS m) FROM base", "m", "UINTEGER"),
        (
            "SELECT latency, k, n, m, gemm_dtype, kernel_source, op_name, device, version, framework FROM base",
            "m",
            "BIGINT",
        ),
        ("SELECT *, 7 AS tile FROM base", "tile", "INTEGER"),
        ("SELECT * REPLACE (latency::FLOAT AS latency) FROM base", "latency_us", "DOUBLE"),
    ],
)
def test_whole_numbers_of_any_width_in_any_order_are_what_they_say(tmp_path, select, column, kind):
    import_tree(written_as(tmp_path, select), tmp_path / "db", None)
    database = open_database(tmp_path / "db")
    assert dict(database.made.families[0].columns)[column] == kind
    assert database.rows.ask("SELECT latency_us FROM gemm_perf ORDER BY m") == [(1250.0,), (2500.0,)]


def test_a_latency_in_whole_numbers_is_a_latency_and_no_shape(tmp_path):
    select = "SELECT * EXCLUDE (latency), 1250 AS latency_us FROM base"
    import_tree(written_as(tmp_path, select), tmp_path / "db", None)
    family = open_database(tmp_path / "db").made.families[0]
    assert "latency_us" not in family.shape
    assert open_database(tmp_path / "db").rows.ask("SELECT DISTINCT latency_us FROM gemm_perf") == [(1250.0,)]


def test_a_table_without_rows_is_one_without_rows(tmp_path, dayzero):
    tree = written_as(tmp_path, "SELECT * FROM base WHERE false")
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    assert dayzero("perfdb", "lint", tmp_path / "db")[0] == 0
    words = ("--table", "gemm_perf", "--engine", "vllm")
    code, out, _ = dayzero("perfdb", "coverage", tmp_path / "db", *words)
    assert (code, " systems, 0 rows" in out) == (1, True)
    code, _, err = dayzero("perfdb", "explain", tmp_path / "db", *words, "--system", "h200_sxm", "--where", "m=128")
    assert (code, "hint: " in err) == (2, True)


@pytest.mark.parametrize("name", ["gemm perf", "select", "GEMM_perf", "x; DROP TABLE y_perf", 'a"_perf', "gemm"])
def test_a_file_that_is_not_called_as_a_table_is_refused(tmp_path, dayzero, name):
    path = place(GEMM).replace("gemm_perf", name)
    code, _, err = dayzero("perfdb", "import", written_as(tmp_path, "FROM base", path), "-o", tmp_path / "db")
    assert (code, "is not called as a table" in err) == (2, True)


@pytest.mark.parametrize(("told", "grade"), [("A", "C"), ("B", "C"), ("Z", "C"), ("D", "D")])
def test_a_grade_that_a_tree_gives_itself_is_believed_only_where_it_is_the_worst(tmp_path, told, grade):
    import_tree(written_as(tmp_path, "SELECT *, 'X' AS own_grade FROM base".replace("X", told)), tmp_path / "db", None)
    assert open_database(tmp_path / "db").rows.ask("SELECT DISTINCT grade FROM gemm_perf") == [(grade,)]


def test_a_build_is_never_named_by_a_word_that_is_no_digest(imported):
    database = imported({place(GEMM): [gemm(1.0)]}, {META: "runtime: {version: 0.24.0, build: 0.24.0}"})
    assert database.made.builds[0].identity == f"import {database.made.id}, vllm/0.24.0, row version 0.24.0"


def test_what_a_file_says_of_its_least_value_hides_no_row(tmp_path, dayzero):
    tree = written_as(tmp_path, "SELECT * REPLACE (-latency AS latency) FROM base")
    file = tree / place(GEMM)
    content, footer = file.read_bytes(), struct.unpack("<I", file.read_bytes()[-8:-4])[0]
    head, tail = content[: -8 - footer], content[-8 - footer :]
    for value in (-1.25, -2.5):  # the statistics alone
        assert struct.pack("<d", value) in tail
        tail = tail.replace(struct.pack("<d", value), struct.pack("<d", -value))
    file.write_bytes(head + tail)
    code, _, err = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
    assert (code, "latency is negative" in err) == (2, True)


def test_what_a_file_says_of_its_sizes_changes_none(tmp_path):
    tree = written_as(tmp_path, "SELECT * REPLACE (m + 70000 AS m) FROM base")
    file = tree / place(GEMM)
    content, footer = file.read_bytes(), struct.unpack("<I", file.read_bytes()[-8:-4])[0]
    head, tail = content[: -8 - footer], content[-8 - footer :]
    for value, told in ((70128, 1), (70256, 2)):
        assert struct.pack("<q", value) in tail
        tail = tail.replace(struct.pack("<q", value), struct.pack("<q", told))
    file.write_bytes(head + tail)
    import_tree(tree, tmp_path / "db", None)
    assert open_database(tmp_path / "db").rows.ask("SELECT m FROM gemm_perf ORDER BY m") == [(70128,), (70256,)]


def test_a_footer_with_text_that_is_none_is_damage_and_no_full_disk(tmp_path, dayzero):
    tree = written_as(tmp_path, "FROM base")
    file = tree / place(GEMM)
    head, maker, tail = file.read_bytes().rpartition(b"DuckDB")
    file.write_bytes(head + b"Duck\xc3B" + tail)
    assert maker
    code, _, err = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
    assert (code, "is not a readable Parquet file" in err) == (2, True), err


@pytest.mark.parametrize("make", ["folder", "nothing", "pipe"])
def test_a_link_to_no_file_is_refused_and_hides_no_table(tmp_path, dayzero, make):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]})
    other = write_tree(tmp_path / "other", {place(GEMM, system="b300_sxm"): [gemm(1.0)]})
    at = tree / "data" / "b300_sxm"
    if make == "folder":
        at.symlink_to(other / "data" / "b300_sxm")
    elif make == "nothing":
        at.mkdir()
        (at / "gone.parquet").symlink_to(tmp_path / "nowhere")
    else:
        at.mkdir()
        os.mkfifo(at / "gemm_perf.parquet")
    code, _, err = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
    assert (code, "is no file, or a link to none" in err) == (2, True)


def test_a_link_to_a_file_is_the_file(tmp_path):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]})
    moved = (tree / place(GEMM)).rename(tmp_path / "kept")
    (tree / place(GEMM)).symlink_to(moved)
    assert import_tree(tree, tmp_path / "db", None).made.rows == 1


@pytest.mark.parametrize(
    "text",
    [
        "tables: {gemm_perf: {collected_at: 2026-13-45}}",
        "[" * 100_000,
        "runtime: [1, 2]",
        "runtime: {version: &a [*a]}",
    ],
)
def test_a_sidecar_that_says_nothing_that_can_be_used_is_no_crash(tmp_path, dayzero, text):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]}, {META: text})
    code, _, err = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
    assert code in {0, 2}
    assert "Traceback" not in err


def test_a_folder_of_the_database_that_looks_like_a_pattern_is_a_folder(tmp_path, dayzero, answer):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0, m) for m in (1, 2, 4)]})
    db = tmp_path / "db [1] *? 'x'"
    code, _, err = dayzero("perfdb", "import", tree, "-o", db)
    assert code == 0, err
    words = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm", "--where", "m=2")
    code, told = answer("perfdb", "explain", db, *words)
    assert (code, told["value_us"]) == (0, 1000.0)
    (tmp_path / "evidence").mkdir()
    code, _, err = dayzero("perfdb", "export", "aic", db, tmp_path, "-o", tmp_path / "out [2]")
    assert code == 0, err


def test_latencies_that_work_cannot_reach_do_not_stop_lint(tmp_path, dayzero):
    sizes = [2**62 + n for n in range(8)]
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0, m, n=m, k=m) for m in sizes]})
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    code, out, err = dayzero("perfdb", "lint", tmp_path / "db")
    assert (code, "below-bound@1: error" in out) == (1, True), err


def test_a_manifest_in_which_anything_was_changed_is_damaged(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]}, {META: "runtime: {version: 0.24.0}"})
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    (manifest,) = (tmp_path / "db" / "imports").iterdir()
    assert open_database(tmp_path / "db").made.sha256 == ""  # of a wheel, and not of the manifest
    whole, before = manifest.read_bytes(), dayzero("perfdb", "lint", tmp_path / "db")
    for at in range(0, len(whole), 37):
        manifest.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        got = dayzero("perfdb", "lint", tmp_path / "db")
        assert got == before or (got[0] == 4 and "is damaged" in got[2]), at
    for told in (b'"version":"0.24.0"', b'"engine":"vllm"', b'"rows":1'):
        assert told in whole
        manifest.write_bytes(
            whole.replace(told, told.replace(b"1", b"2").replace(b"0.24", b"0.25").replace(b"vllm", b"wllm"))
        )
        code, _, err = dayzero("perfdb", "lint", tmp_path / "db")
        assert (code, "is damaged" in err) == (4, True)


def test_what_was_changed_in_the_database_is_found_and_made_anew(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(m / 100, m) for m in range(1, 300)]})
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    (manifest,) = (tmp_path / "db" / "imports").iterdir()
    before = json.loads(manifest.read_bytes())
    for folder in ("rows", "files"):
        (one,) = (tmp_path / "db" / folder).iterdir()
        content = bytearray(one.read_bytes())
        content[len(content) // 2] ^= 1
        one.chmod(0o644)
        one.write_bytes(content)
        (tmp_path / "evidence").mkdir(exist_ok=True)
        words = ("coverage", tmp_path / "db", "--table", "gemm_perf", "--engine", "vllm")
        words = words if folder == "rows" else ("export", "aic", tmp_path / "db", tmp_path, "-o", tmp_path / "out")
        code, _, err = dayzero("perfdb", *words)
        assert (code, "is not the file that was" in err, "Import the tree again" in err) == (4, True, True)
        code, _, _ = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
        assert (code, dayzero("perfdb", *words)[0] in {0, 1}) == (0, True)
        assert json.loads(manifest.read_bytes()) == before
