"""Records of single operators come in as rows, with units, states and what was measured in place of what.

No published file was at hand; the samples have the shape that docs/reference/perfdb.md states.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dayzero.core.errors import InputError
from dayzero.perfdb.operator_records import read_records
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_import_records import import_records

SHA = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "sha256:" + "ab" * 32
URL = "https://ci.example/runs/7"
GEMM = {"m": 128, "n": 4096, "k": 4096, "dtype": "bf16"}
MOE = {"num_tokens": 8, "hidden_size": 3584, "inter_size": 3072, "topk": 16, "num_experts": 896, "dtype": "mxfp4"}
K3 = {**MOE, "activation": "situ"}


def record(args=GEMM, *, kind="gemm", status="ok", metrics=None, **more: object) -> dict[str, object]:
    told = {"latency_us": 12.5} if metrics is None and status == "ok" else metrics or {}
    return {"op": {"type": kind, "args": args, "backend": "cublas"}, "status": status, "metrics": told, **more}


def document(*results: dict[str, object], **more: object) -> dict[str, object]:
    software = {"name": "vllm", "version": "0.27.0", "image_digest": DIGEST}
    about: dict[str, object] = {"run": {"url": URL, "sha": SHA, "date": "2026-09-12"}, "device": "NVIDIA H200"}
    return about | {"software": software, "results": list(results)} | more


def write(path: Path, *results: dict[str, object], **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(*results, **more)), encoding="utf-8")
    return path


def test_a_record_becomes_a_row_with_its_unit_build_grade_and_its_place_in_the_file(tmp_path, dayzero):
    file = write(
        tmp_path / "gemm.json", record(), record(GEMM | {"m": 256}, metrics={"latency_us": 25.0, "power_w": 6e2})
    )
    code, out, err = dayzero("perfdb", "import", file, "-o", tmp_path / "db")
    assert (code, "2 rows in 1 tables" in out) == (0, True), err
    database = open_database(tmp_path / "db")
    asked = (
        "SELECT system, engine, dir_version, kernel_label, m, latency_us, power_w, grade, raw_file, raw_line "
        "FROM gemm_perf ORDER BY m"
    )
    assert database.rows.ask(asked) == [
        ("h200_sxm", "vllm", "0.27.0", "cublas", 128, 12.5, None, "B", "records/gemm.json", 1),
        ("h200_sxm", "vllm", "0.27.0", "cublas", 256, 25.0, 600.0, "B", "records/gemm.json", 2),
    ]
    assert database.made.builds[0].identity == f"image {DIGEST}"
    (sidecar,) = database.made.sidecars
    assert (sidecar.tables[0].collector_ref, sidecar.tables[0].collector_hash) == (URL, SHA)
    kept = next(other for other in database.made.others if other.path == "records/gemm.json")
    assert database.folder.file(kept.sha256).read_bytes() == file.read_bytes()


def test_an_answer_from_a_record_shows_it_as_it_came(tmp_path, answer):
    results = (record(), record(GEMM | {"m": 256}, metrics={"latency_us": 25.0, "power_w": 6e2}))
    answer("perfdb", "import", write(tmp_path / "gemm.json", *results), "-o", tmp_path / "db")
    asked = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm", "--where", "m=256")
    code, told = answer("perfdb", "explain", tmp_path / "db", *asked)
    (row,) = told["rows"]
    assert (code, row["line_file"], json.loads(row["line"])) == (0, "records/gemm.json:2", results[1])


def test_milliseconds_become_microseconds_and_an_unknown_gpu_is_a_system_of_its_own(tmp_path, answer):
    ms = record(metrics={"latency_ms": 0.5})
    file = write(tmp_path / "a.json", ms, device="AMD Instinct MI355X", software={"name": "vLLM", "version": "0.27.0"})
    answer("perfdb", "import", file, "-o", tmp_path / "db")
    rows = open_database(tmp_path / "db").rows.ask("SELECT system, engine, latency_us, grade FROM gemm_perf")
    assert rows == [("amd_instinct_mi355x", "vllm", 500.0, "C")]


@pytest.mark.parametrize(
    ("args", "model", "told"),
    [
        (K3, "Kimi-K3", ("cublas", None, "B")),
        (MOE, "moonshotai/Kimi-K3", ("cublas", None, "B")),
        (K3 | {"activation": "silu"}, "Kimi-K3", ("cublas_situ_as_silu", "silu_for_situ", "D")),
        (
            K3 | {"activation": "silu", "hidden_size": 7168, "dtype": "bf16"},
            "moonshotai/Kimi-K3",
            (
                "cublas_situhiddensize3584mxfp4_as_siluhiddensize7168bf16",
                "siluhiddensize7168bf16_for_situhiddensize3584mxfp4",
                "D",
            ),
        ),
        (K3 | {"activation": "silu", "hidden_size": 7168}, "", ("cublas", None, "B")),
    ],
)
def test_what_is_measured_in_place_of_what_the_model_computes_is_said(tmp_path, answer, args, model, told):
    file = write(tmp_path / "moe.json", record(args, kind="moe", model=model))
    answer("perfdb", "import", file, "-o", tmp_path / "db")
    rows = open_database(tmp_path / "db").rows.ask("SELECT kernel_label, substitution, grade FROM moe_perf")
    assert rows == [told]


def test_cases_without_a_row_are_states_not_silence(tmp_path, answer):
    lane = MOE | {"dtype": "w4a16_mxfp4"}
    results = [
        record(lane | {"num_experts": 8}, kind="moe"),
        record(lane, kind="moe", status="unsupported"),
    ]
    write(tmp_path / "in" / "a.json", *results, device="NVIDIA L40S")
    failed = record(lane, kind="moe", status="error", error="RuntimeError: out of memory")
    write(tmp_path / "in" / "b.json", record(lane | {"num_tokens": 9}, kind="moe"), failed)
    write(tmp_path / "in" / "c.json", failed, device="NVIDIA B200")
    code, told = answer("perfdb", "import", tmp_path / "in", "-o", tmp_path / "db")
    assert (code, told["failures"]) == (0, {"unsupported": 1, "RuntimeError": 2})
    _, told = answer("perfdb", "coverage", tmp_path / "db", "kimi-k3/vllm/moe/w4a16")
    states = {cell["system"]: cell["state"] for cell in told["lanes"][0]["systems"]}
    assert (states["l40s"], states["h200_sxm"], states["b200_sxm"]) == ("unsupported", "measured", "failed")
    assert states["gb300"] == "not attempted"


def without(told: dict[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in told.items() if name != key}


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (without(document(record()), "run"), "missing required field `run`"),
        (without(document(record()), "device"), "missing required field `device`"),
        (document(record(), run={"url": URL}), "missing required field `sha`"),
        (document(record(), run={"url": URL, "sha": "main"}), "names no commit of its run"),
        (document(record(), run={"url": "runs/7", "sha": SHA}), "names no address of its run"),
        (document(record(), device=" "), "names no device"),
        (document(record(), software={"name": "vllm", "version": ""}), "names no version"),
        (document(record(), software={"name": "../x", "version": "1"}), "names no software"),
        (document(record(), software={"name": "vllm", "version": "1", "image_digest": "latest"}), "digest of an image"),
        (document(), "holds no record"),
        (document(record(status="slow")), "Invalid enum value 'slow'"),
        (document(without(record(), "op")), "missing required field `op`"),
        (document(record() | {"note": 1}), "unknown field `note`"),
        (document(record(kind="conv")), "no operator 'conv' is known"),
        (document(record(without(GEMM, "k"))), "gemm lacks the argument k"),
        (document(record(GEMM | {"m": 1.5})), "m is 1.5, not a whole number"),
        (document(record(GEMM | {"dtype": 16})), "dtype is 16, not a word"),
        (document(record(GEMM | {"layout": "nt"})), "nothing says what the argument layout of gemm is"),
        (document(record(metrics={"latency": 1.0})), "nothing says in which unit latency is"),
        (document(record(metrics={"latency_us": 1.0, "latency_ms": 1.0})), "given in more than one unit"),
        (document(record(metrics={"power_w": 1.0})), "is ok and has no latency"),
        (document(record(metrics={"latency_us": -1.0})), "latency_us is negative"),
        (document(record(status="unsupported")), "holds no record that is ok"),
        (document(record(), record(metrics={"latency_ms": 1.0})), "one thing in two units"),
        (document(record(GEMM | {"m": 2**63})), "not a whole number that a table can hold"),
        (document(record(GEMM | {"m": 10**400})), "m is 1"),
        (document(record(GEMM | {"m": -1})), "m is -1, not a whole number"),
        (document(record(GEMM | {"m": True})), "m is True, not a whole number"),
        (document(record(GEMM | {"dtype": ""})), "dtype is '', not a word"),
        (document(record(metrics={"latency_s": 1e308})), "latency_us is negative or not a number"),
        (document(record(), device="nvidia  h200"), "calls NVIDIA H200 'nvidia  h200'"),
        (document(record(), device="英偉達"), "names a device without a letter or digit"),
        (document(record(), run={"url": URL, "sha": SHA, "date": "yesterday"}), "has a date that is none: 'yesterday'"),
        (document(record(), run={"url": URL, "sha": SHA, "date": "2999-01-01"}), "which is yet to come"),
    ],
)
def test_what_cannot_be_trusted_is_refused_and_leaves_no_import(tmp_path, dayzero, told, message):
    (tmp_path / "a.json").write_text(json.dumps(told), encoding="utf-8")
    code, out, err = dayzero("perfdb", "import", tmp_path / "a.json", "-o", tmp_path / "db")
    assert (code, out) == (2, "")
    assert message in err
    assert "hint: " in err
    assert "Traceback" not in err
    assert list((tmp_path / "db").glob("imports/*")) == []
    assert list((tmp_path / "db").glob("scratch/*")) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"run": 1}'])
def test_a_damaged_file_is_named(content):
    with pytest.raises(InputError, match=r"a\.json is no file of operator records"):
        read_records("a.json", content)


def test_files_of_two_units_are_not_mixed_in_one_import(tmp_path, dayzero):
    write(tmp_path / "in" / "a.json", record())
    write(tmp_path / "in" / "b.json", record(metrics={"latency_ms": 1.0}))
    code, _, err = dayzero("perfdb", "import", tmp_path / "in", "-o", tmp_path / "db")
    assert (code, "b.json gives latency_ms, and a.json gives latency_us" in err) == (2, True)


def test_a_pin_is_for_wheels(tmp_path, dayzero):
    file = write(tmp_path / "a.json", record())
    code, _, err = dayzero("perfdb", "import", file, "-o", tmp_path / "db", "--sha256", "0" * 64)
    assert (code, "records have no digest to compare" in err) == (2, True)


def test_the_same_records_are_the_same_import_and_the_same_bytes(tmp_path):
    file = write(tmp_path / "a.json", *(record(GEMM | {"m": m}) for m in range(1, 300)))
    first = import_records(file, tmp_path / "one", lambda _: None)
    again = import_records(file, tmp_path / "one", lambda _: None)
    other = import_records(file, tmp_path / "two", lambda _: None)
    assert (first.new, again.new, other.made.id) == (True, False, first.made.id)
    assert [f.sha256 for f in other.made.families] == [f.sha256 for f in first.made.families]


def test_an_import_that_is_killed_leaves_nothing_half_and_goes_on(tmp_path):
    write(tmp_path / "in" / "a.json", *(record(GEMM | {"m": m}) for m in range(1, 2000)))
    write(tmp_path / "in" / "b.json", *(record(MOE | {"num_tokens": m}, kind="moe") for m in range(1, 2000)))
    code = (
        "import sys; from pathlib import Path; from dayzero.wiring.perfdb_import_records import import_records;"
        "import_records(Path(sys.argv[1]), Path(sys.argv[2]), lambda text: print(text, flush=True))"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "in"), str(tmp_path / "db")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGKILL)
    assert told[1].startswith("gemm_perf: 1999 rows")
    with pytest.raises(InputError, match="holds no import"):
        open_database(tmp_path / "db")
    made = import_records(tmp_path / "in", tmp_path / "db", lambda _: None).made
    assert made.rows == 2 * 1999
    assert list((tmp_path / "db" / "scratch").iterdir()) == []


def test_an_export_of_records_is_a_tree(tmp_path, dayzero):
    file = write(tmp_path / "a.json", record())
    dayzero("perfdb", "import", file, "-o", tmp_path / "db")
    (tmp_path / "evidence").mkdir()
    code, _, err = dayzero("perfdb", "export", "aic", tmp_path / "db", tmp_path, "-o", tmp_path / "tree")
    assert code == 0, err
    assert (tmp_path / "tree/data/h200_sxm/gemm/vllm/0.27.0/gemm_perf.parquet").is_file()
