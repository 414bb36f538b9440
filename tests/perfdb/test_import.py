"""A tree comes in whole, with units, builds and grades; what cannot be trusted is refused, and what was stopped goes on."""

import signal
import subprocess
import sys
import time
import zipfile

import pytest
from tests.perfdb.tree_samples import GEMM, KDA, gemm, kda, place, write_parquet, write_tree

from dayzero.adapters.perf_database import build_family
from dayzero.core.errors import InputError, IntegrityError
from dayzero.perfdb.builds import says_the_same
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_import import import_tree

DIGEST = "sha256:" + "ab" * 32
SIDECAR = f"""
runtime: {{framework: vllm, version: 0.24.0, image: vllm/vllm-openai:v0.24.0, image_digest: '{DIGEST}'}}
tables:
  gemm_perf: {{collector_hash: 'sha256:cd', collected_at: '2026-08-19', rows: 1, status: complete}}
"""
META = place(GEMM).replace("gemm_perf.parquet", "collection_meta.yaml")


def test_latency_is_in_microseconds_and_every_measured_column_names_its_unit(imported):
    database = imported({place(GEMM): [gemm(1.25)], place(KDA): [kda(0.5)]})
    assert database.rows.ask("SELECT latency_us FROM gemm_perf") == [(1250.0,)]
    for family in database.made.families:
        assert [n for n, kind in family.columns if kind == "DOUBLE" and not n.endswith(("_us", "_w", "_gbps"))] == []


@pytest.mark.parametrize(
    ("row", "sidecar", "grade"),
    [
        (gemm(1.0), SIDECAR, "B"),
        (gemm(1.0), "runtime: {framework: vllm, version: 0.24.0}", "C"),
        (gemm(1.0), SIDECAR.replace(DIGEST, "sha256:short"), "C"),
        (gemm(1.0, version="0.25.0"), SIDECAR, "D"),
        (gemm(1.0, version=None), SIDECAR, "D"),
        (gemm(1.0, device="NVIDIA H100"), SIDECAR, "D"),
        (gemm(1.0, kernel_source="marlin_situ_as_silu"), SIDECAR, "D"),
    ],
)
def test_a_grade_says_what_stands_behind_a_row(imported, row, sidecar, grade):
    database = imported({place(GEMM): [row]}, {META: sidecar})
    assert database.rows.ask("SELECT grade FROM gemm_perf") == [(grade,)]


def test_a_digest_names_a_build_only_for_rows_of_the_version_that_it_was_written_down_for(imported):
    database = imported({place(GEMM): [gemm(1.0), gemm(1.0, 256, version="0.25.0")]}, {META: SIDECAR})
    identities = {build.version: build.identity for build in database.made.builds}
    assert identities["0.24.0"] == f"image {DIGEST}"
    assert identities["0.25.0"] == f"import {database.made.id}, vllm/0.24.0, row version 0.25.0"
    (own, other) = sorted(database.made.labels, key=lambda label: label.build != database.made.builds[0].id)
    assert {own.label, other.label} == {"vllm/0.24.0"}
    assert {own.valid_from, other.valid_from} == {"2026-08-19"}


def test_a_digest_without_a_version_names_no_build_of_rows_that_contradict_their_folder(imported):
    told = SIDECAR.replace("version: 0.24.0, ", "")
    database = imported({place(GEMM): [gemm(1.0), gemm(1.0, 256, version="0.25.0")]}, {META: told})
    assert {b.version for b in database.made.builds if b.image_digest} == {"0.24.0"}


@pytest.mark.parametrize(
    ("short", "full", "same"),
    [
        ("0.24.0", "0.24.0", True),
        ("0.1.dev19262", "0.1.dev19262+gb6bbf29dd.d20260727", True),
        ("0.24.0", "0.24.0+cu130", False),
        ("0.20.0", "0.20.1.dev3+g20dc1caee", False),
        ("0.5.14", "kernel-level", False),
    ],
)
def test_a_folder_says_the_same_as_the_public_part_of_a_development_version(short, full, same):
    assert says_the_same(short, full) is same


def _with(change) -> dict[str, list[dict[str, object]]]:
    row = gemm(1.0)
    change(row)
    return {place(GEMM): [row]}


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (_with(lambda row: row.pop("k")), "lacks the column k"),
        (_with(lambda row: row.pop("latency")), "holds no measured column"),
        (_with(lambda row: row.update(latency_us=1000.0)), "measures latency_us in more than one unit"),
        (_with(lambda row: row.update(energy=1.0)), "nothing says in which unit energy is"),
        (_with(lambda row: row.update(m=128.0)), "column m is DOUBLE"),
        (_with(lambda row: row.update(latency=-1.0)), "row 0: latency is negative"),
        (_with(lambda row: row.update(latency=float("nan"))), "row 0: latency is negative or not a number"),
        (
            {
                place(GEMM): [gemm(1.0)],
                place(GEMM, version="0.25.0"): [
                    {k: v for k, v in gemm(1.0).items() if k != "latency"} | {"latency_us": 1.0}
                ],
            },
            "measure latency_us in different units",
        ),
        (
            {place(GEMM): [gemm(1.0)], place(GEMM, version="0.25.0"): [gemm(1.0, gemm_dtype=16)]},
            "column gemm_dtype is BIGINT, and VARCHAR in other files of gemm_perf",
        ),
    ],
)
def test_what_cannot_be_trusted_is_refused_and_leaves_no_import(tmp_path, dayzero, tables, message):
    tree = write_tree(tmp_path / "tree", tables)
    code, out, err = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
    assert (code, out) == (2, "")
    assert message in err
    assert "hint: " in err
    assert "Traceback" not in err
    assert list((tmp_path / "db").glob("imports/*")) == []


def test_a_latency_that_its_parts_contradict_is_in_another_unit(tmp_path):
    row = {"framework": "VLLM", "version": "1", "device": "NVIDIA H200", "op_name": "a2a", "kernel_source": "ll"}
    row |= {"comm_backend": "ll", "phase": "decode", "comm_dtype": "bf16"}
    row |= dict.fromkeys(("ep_size", "node_num", "hidden_size", "topk", "num_experts", "num_tokens", "sms"), 8)
    row |= {"transmit_us": 30.0, "notify_us": 12.0, "latency": 42.0}
    path = "data/h200_sxm/comm/vllm/1/moe_a2a_perf.parquet"
    import_tree(write_tree(tmp_path / "right", {path: [row]}), tmp_path / "db", None)
    assert open_database(tmp_path / "db").rows.ask("SELECT latency_us FROM moe_a2a_perf") == [(42.0,)]
    with pytest.raises(InputError, match="latency is in another unit than transmit_us"):
        import_tree(write_tree(tmp_path / "wrong", {path: [row | {"latency": 0.042}]}), tmp_path / "db", None)


def test_a_damaged_file_is_named(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0, m) for m in range(1, 3000)]})
    file = tree / place(GEMM)
    whole = file.read_bytes()
    for broken in (whole[:-40], whole[:200] + bytes(len(whole) - 700) + whole[-500:], b"not parquet"):
        file.write_bytes(broken)
        code, _, err = dayzero("perfdb", "import", tree, "-o", tmp_path / "db")
        assert code == 2
        assert f"error: {place(GEMM)} is not a readable Parquet file" in err


def test_a_table_that_lost_rows_on_the_way_is_no_import(tmp_path, monkeypatch):
    whole = build_family._select  # noqa: SLF001  (where a fault of ours would lie)
    monkeypatch.setattr(build_family, "_select", lambda *given, **more: f"{whole(*given, **more)} LIMIT 1")
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0), gemm(1.0, 256)]})
    with pytest.raises(IntegrityError, match="gemm_perf came out with 1 rows"):
        import_tree(tree, tmp_path / "db", None)
    assert list((tmp_path / "db").glob("imports/*")) == []


def test_a_wheel_is_held_to_its_pin(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]})
    wheel = tmp_path / "aiconfigurator_core-0.12.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tree / place(GEMM), f"aiconfigurator_core/systems/{place(GEMM)}")
    code, out, _ = dayzero("perfdb", "import", wheel, "-o", tmp_path / "db")
    assert code == 0
    assert "imported: aiconfigurator-core 0.12.0" in out
    code, _, err = dayzero("perfdb", "import", wheel, "-o", tmp_path / "db", "--sha256", "0" * 64)
    assert code == 4
    assert "has the digest" in err


def test_the_same_tree_is_the_same_import_and_the_same_bytes(tmp_path):
    tables = {place(GEMM): [gemm(m / 100, m) for m in range(1, 400)], place(KDA): [kda(0.5)]}
    tree = write_tree(tmp_path / "tree", tables)
    first = import_tree(tree, tmp_path / "one", None)
    assert import_tree(tree, tmp_path / "one", None).new is False
    second = import_tree(tree, tmp_path / "two", None)
    assert [f.sha256 for f in second.made.families] == [f.sha256 for f in first.made.families]
    assert second.made.id == first.made.id


def test_equal_files_in_two_places_are_two_measurements(imported):
    rows = [gemm(1.0, device="NVIDIA H200")]
    database = imported({place(GEMM): rows, place(GEMM, version="0.25.0"): rows})
    found = database.rows.ask("SELECT dir_version, row_version, grade FROM gemm_perf ORDER BY 1")
    assert found == [("0.24.0", "0.24.0", "C"), ("0.25.0", "0.24.0", "D")]


def test_an_import_that_is_killed_leaves_nothing_half_and_goes_on(tmp_path):
    for number in range(6):
        write_parquet(
            tmp_path / "tree" / f"data/h200_sxm/gemm/vllm/0.24.0/t{number}_perf.parquet",
            [gemm((m + number) / 100, m) for m in range(1, 20000)],
        )
    code = (
        "import sys; from pathlib import Path; from dayzero.wiring.perfdb_import import import_tree;"
        "import_tree(Path(sys.argv[1]), Path(sys.argv[2]), None, lambda text: print(text, flush=True))"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "tree"), str(tmp_path / "db")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGKILL)
    assert told[2].startswith("t1_perf: 19999 rows")
    with pytest.raises(InputError, match="holds no import"):
        open_database(tmp_path / "db")
    done = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "db" / "rows").iterdir()}
    assert len(done) >= 2
    time.sleep(0.01)
    made = import_tree(tmp_path / "tree", tmp_path / "db", None).made
    assert made.rows == 6 * 19999
    again = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "db" / "rows").iterdir()}
    assert {name: again[name] for name in done} == done
    assert list((tmp_path / "db" / "scratch").glob("*.parquet")) == []


@pytest.mark.parametrize("folder", ["files", "families", "imports"])
def test_an_import_that_is_killed_while_it_writes_a_file_leaves_nothing_of_it_behind(tmp_path, folder):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]}, {META: SIDECAR})
    code = """
import os, signal, sys
from pathlib import Path
from dayzero.wiring.perfdb_import import import_tree
real = Path.replace
def replace(self, target):
    if Path(target).parent.name == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, target)
Path.replace = replace
import_tree(Path(sys.argv[1]), Path(sys.argv[2]), None)
"""
    words = [sys.executable, "-c", code, str(tree), str(tmp_path / "db"), folder]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert list((tmp_path / "db" / folder).iterdir()) == []
    assert list((tmp_path / "db" / "scratch").iterdir()) != []
    made = import_tree(tree, tmp_path / "db", None).made
    assert list((tmp_path / "db" / "scratch").iterdir()) == []
    kept = {source.sha256 for family in made.families for source in family.sources}
    kept |= {other.sha256 for other in made.others}
    assert {path.name for path in (tmp_path / "db" / "files").iterdir()} == kept
