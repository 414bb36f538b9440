"""Rows are taken back by what they say, signed; another tree with other rows is left alone; a tree is written without them."""

import json

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.perfdb.tree_samples import GEMM, KDA, gemm, kda, place, write_tree

from dayzero.core.errors import InputError
from dayzero.evidence.chain import link
from dayzero.perfdb.predicate import Predicate, parse_terms

FLOOR = [kda(0.9 + n / 1000, 2**n) for n in range(6)]
OTHER = [kda(0.01, 2**n, kernel_source="flashkda_fwd") for n in range(6)]
META = place(KDA).replace("kda_perf.parquet", "collection_meta.yaml")
TEXT = "runtime:\n  framework: vllm\n  # a floor of about 0.8 ms\n"
WORDS = ("--table", "kda_perf", "--where", "kernel_label=causal_conv1d_fn_qkv3", "--where", "engine=vllm")


@pytest.fixture
def taken(tmp_path, dayzero):
    """Import a tree, take its floor back, and give a way to ask."""
    tree = write_tree(tmp_path / "tree", {place(KDA): FLOOR + OTHER, place(GEMM): [gemm(1.0)]}, {META: TEXT})
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    assert dayzero("keys", "new", "lab", "-o", tmp_path)[0] == 0
    assert retract(dayzero, tmp_path, "--sign", tmp_path / "lab.key.pem")[0] == 0
    return tmp_path


def retract(dayzero, tmp_path, *more: object):
    told = ("--cause", "instrument_artifact", "--why", "a floor lies under them", "--line", f"{META}:3")
    return dayzero("perfdb", "retract", "conv-floor", tmp_path / "db", tmp_path, *WORDS, *told, *more)


def export(dayzero, tmp_path, name="out", *more: object):
    return dayzero("perfdb", "export", "aic", tmp_path / "db", tmp_path, "-o", tmp_path / name, *more)


def test_the_tree_lacks_the_rows_and_everything_else_is_a_link_to_what_came_in(taken, dayzero):
    code, out, _ = export(dayzero, taken)
    assert code == 0
    assert "3 files, 1 of them written anew without 6 rows" in out
    was = duckdb.sql(f"FROM '{taken / 'tree' / place(KDA)}' WHERE kernel_source = 'flashkda_fwd'")
    now = duckdb.sql(f"FROM '{taken / 'out' / place(KDA)}'")
    assert now.fetchall() == was.fetchall()
    assert (now.columns, now.types) == (was.columns, was.types)
    kept = taken / "out" / place(GEMM)
    assert kept.stat().st_nlink == 2
    assert kept.read_bytes() == (taken / "tree" / place(GEMM)).read_bytes()
    note = json.loads((taken / "out" / "DAYZERO-RETRACTIONS.json").read_bytes())
    assert note["left_out"] == [{"slug": "conv-floor", "rows": 6, "hash": note["left_out"][0]["hash"]}]
    code, _, err = export(dayzero, taken)
    assert code == 2
    assert "is there already" in err


def test_without_a_key_nothing_is_written(tmp_path, dayzero, taken):
    before = (taken / "evidence" / "ledger.jsonl").read_bytes()
    code, out, _ = dayzero(
        "perfdb", "reinstate", "conv-floor", tmp_path, "--why", "only a look", "--output-format", "json"
    )
    assert code == 0
    assert json.loads(out)["written_at"] == ""
    assert (taken / "evidence" / "ledger.jsonl").read_bytes() == before


def test_the_record_names_rows_reason_and_the_line_that_shows_it(taken):
    entry = json.loads((taken / "evidence" / "ledger.jsonl").read_bytes())
    body = entry["body"]
    assert entry["type"] == "row_retraction"
    assert body["matched_rows"] == 6
    assert body["where"] == ["kernel_label=causal_conv1d_fn_qkv3", "engine=vllm"]
    assert body["evidence"][0]["line"] == 3
    assert len(body["evidence"][0]["sha256"]) == 64


def test_a_later_tree_in_which_the_rows_changed_is_left_alone_and_says_so(taken, dayzero):
    changed = [row | {"latency": row["latency"] / 100} for row in FLOOR[:1]] + FLOOR[1:]
    tree = write_tree(taken / "later", {place(KDA): changed + OTHER}, {META: TEXT})
    code, out, _ = dayzero("perfdb", "import", tree, "-o", taken / "db2")
    assert code == 0
    code, out, _ = dayzero("perfdb", "retractions", taken / "db2", taken)
    assert code == 1
    assert "conv-floor: stale, review" in out
    code, out, _ = dayzero("perfdb", "export", "aic", taken / "db2", taken, "-o", taken / "out2")
    assert code == 1
    assert "0 of them written anew without 0 rows" in out
    assert json.loads((taken / "out2" / "DAYZERO-RETRACTIONS.json").read_bytes())["left_out"] == []


def test_a_later_tree_with_the_same_rows_among_others_is_filtered_and_one_without_them_needs_nothing(taken, dayzero):
    more = [kda(0.02, 4096, kernel_source="chunk_kda")]
    tree = write_tree(taken / "more", {place(KDA): more + OTHER + FLOOR[::-1]})
    assert dayzero("perfdb", "import", tree, "-o", taken / "db3")[0] == 0
    code, out, _ = dayzero("perfdb", "retractions", taken / "db3", taken)
    assert (code, "conv-floor: applied" in out) == (0, True)
    tree = write_tree(taken / "none", {place(KDA): OTHER})
    assert dayzero("perfdb", "import", tree, "-o", taken / "db4")[0] == 0
    code, out, _ = dayzero("perfdb", "retractions", taken / "db4", taken)
    assert (code, "conv-floor: its rows are gone" in out) == (0, True)


def test_a_reinstated_retraction_does_nothing_and_can_be_made_again(taken, dayzero):
    key = ("--sign", taken / "lab.key.pem")
    code, _, err = retract(dayzero, taken, *key)
    assert (code, "is retracted already" in err) == (2, True)
    assert dayzero("perfdb", "reinstate", "conv-floor", taken, "--why", "the rows were right", *key)[0] == 0
    code, out, _ = export(dayzero, taken)
    assert (code, "without 0 rows" in out) == (0, True)
    assert retract(dayzero, taken, *key)[0] == 0
    code, out, _ = export(dayzero, taken, "again")
    assert (code, "without 6 rows" in out) == (0, True)


def test_a_record_of_another_key_does_nothing_where_keys_are_named(taken, dayzero):
    assert dayzero("keys", "new", "other", "-o", taken)[0] == 0
    code, out, _ = export(dayzero, taken, "out", "--key", taken / "other.pub.pem")
    assert code == 1
    assert "signed by a key that is not trusted" in out
    assert "without 0 rows" in out
    code, out, _ = export(dayzero, taken, "trusted", "--key", taken / "lab.pub.pem")
    assert (code, "without 6 rows" in out) == (0, True)


def test_a_record_of_another_key_does_not_displace_one_that_counts(taken, dayzero):
    assert dayzero("keys", "new", "other", "-o", taken)[0] == 0
    ledger = taken / "evidence" / "ledger.jsonl"
    (taken / "theirs").mkdir()
    told = ("--cause", "duplicate", "--why", "something else", "--sign", taken / "other.key.pem")
    words = ("--table", "kda_perf", "--where", "kernel_label=flashkda_fwd")
    assert dayzero("perfdb", "retract", "conv-floor", taken / "db", taken / "theirs", *words, *told)[0] == 0
    theirs = json.loads((taken / "theirs" / "evidence" / "ledger.jsonl").read_bytes())
    last = json.loads(ledger.read_bytes().splitlines()[-1])
    line = link(seq=last["seq"] + 1, prev=last["digest"], name=theirs["type"], body=theirs["body"]).line
    ledger.write_bytes(ledger.read_bytes() + line)
    code, out, err = dayzero("perfdb", "retractions", taken / "db", taken, "--key", taken / "lab.pub.pem")
    assert (code, "conv-floor: applied" in out, "signed by a key that is not trusted" in out) == (1, True, True), err
    code, out, _ = export(dayzero, taken, "trusted", "--key", taken / "lab.pub.pem")
    assert (code, "without 6 rows" in out) == (1, True)


def test_evidence_that_was_changed_in_the_database_is_no_evidence(taken, dayzero):
    for file in (taken / "db" / "files").iterdir():
        if file.read_bytes() == TEXT.encode():
            file.chmod(0o644)
            file.write_text("a\nb\nc\n", encoding="utf-8")
    words = ("another", taken / "db", taken, *WORDS, "--cause", "duplicate", "--why", "why not", "--line", f"{META}:3")
    code, _, err = dayzero("perfdb", "retract", *words)
    assert (code, "is not the file that was imported" in err) == (4, True)


@pytest.mark.parametrize("line", [f"{META}:²", f"{META}:0", f"{META}:99", f"{META}:-1", META])
def test_a_line_that_is_none_is_no_evidence(taken, dayzero, line):
    words = ("another", taken / "db", taken, *WORDS, "--cause", "duplicate", "--why", "why not", "--line", line)
    code, _, err = dayzero("perfdb", "retract", *words)
    assert (code, "hint: " in err, "Traceback" in err) == (2, True, False)


@pytest.mark.parametrize("where", ["latency_us>nan", "latency_us<inf", "latency_us=x", "seq_len=1.5", "run=1"])
def test_a_value_that_the_column_cannot_hold_is_refused(taken, dayzero, where):
    words = (
        "another",
        taken / "db",
        taken,
        "--table",
        "kda_perf",
        "--where",
        where,
        "--cause",
        "duplicate",
        "--why",
        "w",
    )
    code, _, err = dayzero("perfdb", "retract", *words)
    assert (code, "hint: " in err, "Traceback" in err) == (2, True, False)


def test_retractions_that_overlap_leave_each_row_out_once(taken, dayzero):
    more = ("--table", "kda_perf", "--where", "seq_len<=4", "--cause", "duplicate", "--why", "seen twice in the table")
    key = ("--sign", taken / "lab.key.pem")
    assert dayzero("perfdb", "retract", "short-ones", taken / "db", taken, *more, *key)[0] == 0
    code, out, _ = export(dayzero, taken)
    assert (code, "without 9 rows" in out) == (0, True)  # six of the floor, and three short ones of the other kernel


def test_a_retraction_of_every_row_leaves_no_file_and_is_undone(taken, dayzero):
    key = ("--sign", taken / "lab.key.pem")
    words = ("--table", "kda_perf", "--where", "seq_len>=0", "--cause", "upstream_withdrawn", "--why", "all withdrawn")
    assert dayzero("perfdb", "retract", "all", taken / "db", taken, *words, *key)[0] == 0
    assert export(dayzero, taken)[0] == 0
    assert not (taken / "out" / place(KDA)).exists()
    assert dayzero("perfdb", "reinstate", "all", taken, "--why", "they were right", *key)[0] == 0
    code, out, _ = export(dayzero, taken, "again")
    assert (code, "without 6 rows" in out) == (0, True)


def test_a_record_that_was_changed_with_its_chain_is_not_what_was_signed(taken, dayzero):
    file = taken / "evidence" / "ledger.jsonl"
    entry = json.loads(file.read_bytes())
    entry["body"]["where"] = ["engine=vllm"]
    file.write_bytes(link(seq=0, prev=entry["prev"], name=entry["type"], body=entry["body"]).line)  # as a forger would
    code, _, err = dayzero("perfdb", "retractions", taken / "db", taken)
    assert code == 4
    assert "conv-floor is not what was signed" in err


def test_a_file_that_changed_in_the_database_is_not_exported(taken, dayzero):
    (gone,) = [f for f in (taken / "db" / "files").iterdir() if f.read_bytes() == TEXT.encode()]
    gone.chmod(0o644)
    gone.write_text("something else", encoding="utf-8")
    code, _, err = export(dayzero, taken)
    assert (code, "is not the file that was imported" in err) == (4, True)
    assert not (taken / "out").exists()
    assert list(taken.glob(".out.*")) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--table", "kda_perf", "--where", "kernel_label=nothing"), "match no rows"),
        (("--table", "kda_perf", "--where", "nonsense=1"), "no column 'nonsense'"),
        (("--table", "nonsense", "--where", "engine=vllm"), "no table 'nonsense'"),
        (("--table", "kda_perf", "--where", "engine"), "not a condition"),
        (("--table", "kda_perf", "--where", "seq_len=x"), "seq_len is BIGINT"),
        (("--table", "kda_perf", "--where", "engine=vllm", "--line", "nowhere:1"), "holds no file"),
    ],
)
def test_what_names_no_rows_is_refused(taken, dayzero, words, message):
    told = ("--cause", "duplicate", "--why", "why")
    code, _, err = dayzero("perfdb", "retract", "another", taken / "db", taken, *words, *told)
    assert code == 2
    assert message in err
    assert "hint: " in err


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="ab'\"; -)(=,x\\\n", min_size=1, max_size=12))
def test_a_value_is_never_read_as_sql(taken_family, value):
    family, rows = taken_family
    terms = parse_terms((f"kernel_label=x{value}",))
    condition = Predicate(table=family.table, terms=terms).sql(family)
    assert rows.ask(f"SELECT count(*) FROM kda_perf WHERE {condition}") == [(0,)]  # noqa: S608


@pytest.fixture
def taken_family(imported):
    database = imported({place(KDA): OTHER})
    return database.made.families[0], database.rows


def test_a_condition_without_a_comparison_is_refused():
    with pytest.raises(InputError, match="not a condition"):
        parse_terms(("1 OR 1",))
