"""Imports that run at once, that are killed, or that the disk refuses leave whole files only, and the next one goes on."""

import hashlib
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.perfdb.test_operator_records import record, write
from tests.perfdb.tree_samples import GEMM, KDA, gemm, kda, place, write_parquet, write_tree
from tests.perfdb.worker_simulator import measured, simulator

from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.wiring.perfdb import open_database

IMPORT = "import sys; from dayzero.cli.main import run; sys.exit(run(['perfdb', *sys.argv[1:]]))"


def whole(db: Path) -> None:
    """Hold what is in a database to its names."""
    for file in (*(db / "files").glob("*"), *(db / "rows").glob("*")):
        assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name.removesuffix(".parquet")
    assert list((db / "scratch").iterdir()) == []


def start(*words: object, limit: int = 0) -> subprocess.Popen[str]:
    limits = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
    return subprocess.Popen(
        [sys.executable, "-c", IMPORT, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limits,  # noqa: PLW1509  (no thread of this process is in the way)
    )


def test_imports_that_run_at_once_do_not_touch_what_the_other_makes(tmp_path):
    rows = [gemm((m % 977) / 100 + 1, m, n=n) for m in range(1, 20000) for n in (64, 128)]
    trees = []
    for number in range(3):
        trees.append(tmp_path / f"tree{number}")
        write_parquet(trees[-1] / place(GEMM), [row | {"latency": row["latency"] + number} for row in rows])
    running = [start("import", tree, "-o", tmp_path / "db") for tree in (*trees, trees[0])]
    said = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0], said
    assert len(PerfFolder(tmp_path / "db").imports()) == 3
    whole(tmp_path / "db")


def test_what_another_import_makes_is_left_alone_and_what_a_killed_one_left_is_not(tmp_path):
    folder = PerfFolder(tmp_path / "db")
    with folder.workplace() as own:
        (own / "half").write_text("x")
        with folder.workplace() as inner:
            assert (own / "half").exists()
            assert inner != own
        code = (
            "import sys; from pathlib import Path; from dayzero.adapters.perf_database.folder import PerfFolder;"
            "place = PerfFolder(Path(sys.argv[1])).workplace(); print(place.__enter__(), flush=True); sys.stdin.read()"
        )
        words = [sys.executable, "-c", code, str(tmp_path / "db")]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            place_of_other = Path(other.stdout.readline().strip())
            (place_of_other / "half").write_text("x")
            with folder.workplace():
                assert (place_of_other / "half").exists()
            other.kill()
            other.wait()
        with folder.workplace():
            assert not place_of_other.exists()
        assert (own / "half").exists()
    assert list((tmp_path / "db" / "scratch").iterdir()) == []


@pytest.mark.parametrize("kind", ["tree", "run", "records"])
def test_a_disk_that_is_full_is_said_and_leaves_no_import(tmp_path, kind, dayzero):
    if kind == "tree":
        sizes = range(1, 4000)
        source = write_tree(tmp_path / "in", {place(KDA): [kda(0.5 + (n * 7919 % 1009) / 7, n) for n in sizes]})
    elif kind == "records":
        many = (record({"m": n, "n": 1, "k": 1, "dtype": "b"}, metrics={"latency_us": n * 1.1}) for n in range(1, 3000))
        source = write(tmp_path / "a.json", *many)
    else:
        python = simulator(tmp_path / "sim", {"*": measured(note="x" * 3000)})
        source = tmp_path / "run"
        lane = ("kimi-k3/vllm/kda/context/conv1d", "--where", "num_v_heads=12", "--where", "batch_size=1")
        assert dayzero("perfdb", "collect", *lane, "--system", "h200_sxm", "-o", source, "--python", python)[0] == 0
    for limit in (1, 2000, 9000):
        process = start("import", source, "-o", tmp_path / "db", limit=limit)
        out, err = process.communicate()
        assert (process.returncode, out) == (3, ""), err
        assert "error: " in err
        assert "hint: " in err
        assert "Traceback" not in err
        assert list((tmp_path / "db").glob("imports/*")) == []
    assert dayzero("perfdb", "import", source, "-o", tmp_path / "db")[0] == 0
    whole(tmp_path / "db")


def test_an_export_that_the_disk_refuses_leaves_no_tree(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm((m * 7919 % 1009) / 7, m) for m in range(1, 4000)]})
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    assert dayzero("keys", "new", "lab", "-o", tmp_path)[0] == 0
    words = ("--table", "gemm_perf", "--where", "m=7", "--cause", "duplicate", "--why", "seen twice in the table")
    code, _, err = dayzero(
        "perfdb", "retract", "r", tmp_path / "db", tmp_path, *words, "--sign", tmp_path / "lab.key.pem"
    )
    assert code == 0, err
    process = start("export", "aic", tmp_path / "db", tmp_path, "-o", tmp_path / "out", limit=2000)
    _, err = process.communicate()
    assert (process.returncode, "cannot be written" in err, "Traceback" in err) == (3, True, False), err
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".out.*")) == []


def test_a_database_that_is_a_file_or_lies_in_its_own_tree_is_refused(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]})
    (tmp_path / "file").write_text("x")
    for where, told in ((tmp_path / "file", "is a file"), (tree / "db", "would import itself"), (tree, "itself")):
        code, _, err = dayzero("perfdb", "import", tree, "-o", where)
        assert (code, told in err, "Traceback" in err) == (2, True, False), err
    assert not (tree / "db").exists()
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    (tmp_path / "evidence").mkdir()
    for words in (("export", "aic", tmp_path / "db", tmp_path), ("page", tmp_path / "db")):
        code, _, err = dayzero("perfdb", *words, "-o", tmp_path / "file" / "out")
        assert (code, "cannot be written" in err, "Traceback" in err) == (3, True, False), err


def test_a_rows_file_that_is_gone_is_made_anew_by_the_import_that_the_hint_asks_for(tmp_path, dayzero):
    tree = write_tree(tmp_path / "tree", {place(GEMM): [gemm(1.0)]})
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    (rows,) = (tmp_path / "db" / "rows").iterdir()
    rows.unlink()
    code, _, err = dayzero("perfdb", "lint", tmp_path / "db")
    assert (code, "is gone" in err) == (4, True)
    assert dayzero("perfdb", "import", tree, "-o", tmp_path / "db")[0] == 0
    assert open_database(tmp_path / "db").rows.ask("SELECT count(*) FROM gemm_perf") == [(1,)]
