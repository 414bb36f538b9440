"""A search that is spread over machines: a real Slurm, a real PostgreSQL and the embedded engine; and its Kubernetes Jobs."""

import contextlib
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.targets.foreign import ask, program
from tests.targets.slurm_cluster import SlurmCluster, started

from dayzero.adapters.slurm_jobs import SlurmJobs, parse_options
from dayzero.cli.main import run as command_line
from dayzero.core.errors import InputError, RemoteError
from dayzero.wiring.optimize_confirm import Confirmation
from dayzero.wiring.optimize_spread import require_shared, steps

SPACE = """
[[setting]]
flag = "--n-ubatch"
values = ["64", "512"]
affects = "how many tokens one pass takes"
source = "a test"

[[setting]]
flag = "--n-parallel"
values = ["1", "4"]
affects = "how many requests run at once"
source = "a test"
"""
CELL = """
[[cells]]
name = "short"
concurrency = 1
warmup_requests = 1
requests = 4
input_tokens = 16
output_tokens = 8
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    pytest.importorskip("submitit")
    folder = tmp_path / "cluster"
    folder.mkdir()
    with started(folder) as cluster:
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        yield cluster


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def searching(tmp_path: Path, *words: str) -> list[str]:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "cell.toml").write_text(CELL)
    asked = ("--workload", str(tmp_path / "cell.toml"), "--space", str(tmp_path / "space.toml"), "--offline")
    return ["optimize", "demo-kimi-k3-tiny", *asked, *words]


def run(words: list[str]) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command_line(words)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.mark.alone
def test_two_jobs_of_slurm_search_one_study_in_postgresql(
    tmp_path: Path, slurm: SlurmCluster, postgres_cluster, postgres_database: str
) -> None:
    storage = postgres_cluster.url(postgres_database)
    study = tmp_path / "study"
    spread = ("--slurm", "partition=main,gres=gpu:1", "--workers", "2", "--storage", storage)
    done = run(
        searching(tmp_path, *spread, "--trials", "6", "--no-confirm", "--output-format", "json", "-o", str(study))
    )
    logs = "\n".join(log.read_text() for log in study.glob("slurm/*.out"))
    assert done.returncode in {0, 3}, done.stderr + logs
    assert done.stdout, done.stderr + logs
    result = json.loads(done.stdout)
    trials = result["trials"]
    assert trials[0]["role"] == "stock"
    assert {one["worker"] for one in trials[2:]} == {"worker-1", "worker-2"}, done.stderr + logs
    assert len(trials) == 6
    numbers = [one["number"] for one in trials]
    assert len(set(numbers)) == len(numbers)
    tried = [json.dumps(one["point"]) for one in trials if one["outcome"] == "measured"]
    assert len(set(tried)) == len(tried)
    assert "worker-2: trial" in done.stderr
    assert slurm.ask("squeue", "--noheader").stdout == ""
    studies = postgres_cluster.program("psql", "-At", "-d", postgres_database, "-c", "select study_name from studies")
    assert studies.startswith("demo-kimi-k3-tiny-")


@pytest.mark.alone
def test_who_asks_for_the_end_has_no_job_left(
    tmp_path: Path, slurm: SlurmCluster, postgres_cluster, postgres_database: str
) -> None:
    storage = postgres_cluster.url(postgres_database)
    words = ("--slurm", "partition=main", "--storage", storage, "-o", str(tmp_path / "study"))
    with subprocess.Popen(
        [sys.executable, "-m", "dayzero", *searching(tmp_path, *words)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("the confirmation: submitted"):
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    slurm.wait_until_idle()
    assert slurm.ask("squeue", "--noheader").stdout == ""


def test_a_last_job_that_left_no_verdict_is_no_result(
    tmp_path: Path, slurm: SlurmCluster, postgres_cluster, postgres_database: str
) -> None:
    study = tmp_path / "study"
    storage = postgres_cluster.url(postgres_database).replace(postgres_database, "nowhere")
    done = run(searching(tmp_path, "--slurm", "partition=main", "--storage", storage, "-o", str(study)))
    assert done.returncode == 3
    assert "the last job left no result" in done.stderr
    assert slurm.ask("squeue", "--noheader").stdout == ""


def test_what_a_jobs_command_said_is_kept_and_one_that_never_ran_said_nothing(
    tmp_path: Path, slurm: SlurmCluster
) -> None:
    jobs = SlurmJobs(tmp_path / "jobs", {"partition": "main", "gres": "gpu:1"})
    first = jobs.submit("first", ("sh", "-c", "echo devices $SLURM_GPUS_ON_NODE; echo beside >&2; exit 3"))
    second = jobs.submit("second", ("sleep", "60"), after=(first,))
    slurm.wait(first)
    assert jobs.ended(first)
    assert jobs.said("first") == b"devices 1\n"
    assert "beside" in jobs.log(first).read_text()
    assert not jobs.ended(second)
    jobs.cancel((second,))
    slurm.wait(second)
    assert jobs.ended(second)
    assert jobs.said("second") == b""


def test_a_partition_that_is_not_there_is_said_in_slurms_words(tmp_path: Path, slurm: SlurmCluster) -> None:
    jobs = SlurmJobs(tmp_path / "jobs", {"partition": "nowhere"})
    with pytest.raises(RemoteError, match="partition"):
        jobs.submit("first", ("true",))
    assert slurm.ask("squeue", "--noheader").stdout == ""


def test_a_machine_without_slurm_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no sbatch, srun, squeue, scancel"):
        SlurmJobs(tmp_path, {})


def test_options_of_sbatch_are_read_as_they_are_typed() -> None:
    assert parse_options("partition=gpu, --gres=gpu:b300:1,time=90") == {
        "partition": "gpu",
        "gres": "gpu:b300:1",
        "time": "90",
    }


@pytest.mark.parametrize("text", ["", "partition", "=gpu", "partition=", "dependency=after:1", "array=0-3", "output=x"])
def test_what_is_no_option_or_not_the_users_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_options(text)


@pytest.mark.parametrize("storage", ["", "sqlite:///optuna.db", "sqlite+pysqlite:///x"])
def test_a_file_is_no_storage_for_several_machines(storage: str) -> None:
    with pytest.raises(InputError, match="share a file"):
        require_shared(storage)


def test_every_step_waits_for_the_one_before_and_only_the_last_confirms() -> None:
    stock, search, confirm = steps(3, Confirmation(pairs=4, flags=("--a", "1"), one_at_a_time=True, gate=True))
    assert [name for step in (stock, search, confirm) for name in step.words] == [
        "stock",
        "worker-1",
        "worker-2",
        "worker-3",
        "confirm",
    ]
    assert all("--no-confirm" in words for words in (*stock.words.values(), *search.words.values()))
    assert stock.words["stock"][2:4] == ("--trials", "2")
    assert steps(3, Confirmation(), trials=1)[0].words["stock"][2:4] == ("--trials", "1")
    (last,) = confirm.words.values()
    assert last[2:-2] == (
        "--confirm-pairs",
        "4",
        "--confirm-requests",
        "0",
        "--confirm-with",
        "--a 1",
        "--one-at-a-time",
        "--gate",
    )
    (unconfirmed,) = steps(1, Confirmation(wanted=False))[2].words.values()
    assert "--no-confirm" in unconfirmed


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    study = tmp_path / "study"
    pods = ("--render", "kubernetes", "--workers", "3", "--image", "example/dayzero:1", "--claim", "study-1")
    done = run(
        searching(tmp_path, *pods, "--storage", "postgresql://search@db/optuna", "--budget", "5m", "-o", str(study))
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("kubectl apply -f ") == 3
    return study / "kubernetes"


def test_the_jobs_pass_the_validator_and_resume_one_study_each_under_its_own_name(rendered: Path) -> None:
    files = sorted(rendered.iterdir())
    assert [file.name for file in files] == ["1-stock.yaml", "2-search.yaml", "3-confirm.yaml"]
    checked = ask(program("kubernetes-validate"), "--strict", *map(str, files))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    job = yaml.safe_load(files[1].read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert (job["completions"], job["completionMode"]) == (3, "Indexed")
    assert "worker-$(JOB_COMPLETION_INDEX)" in container["args"]
    assert container["args"][:5] == ["dayzero", "optimize", "--resume", "-o", "/srv/dayzero/study"]
    assert job["activeDeadlineSeconds"] == 300 + 1800


@pytest.mark.parametrize(
    ("script", "completes"),
    [
        ("echo {}; exit 0", True),
        ("echo {}; exit 1", True),
        ("echo {}; exit 3", True),
        ("exit 3", False),
        ("exit 0", False),
    ],
)
def test_a_job_is_complete_where_it_said_a_verdict_and_fails_where_it_did_not(
    rendered: Path, script: str, *, completes: bool
) -> None:
    (container,) = yaml.safe_load((rendered / "3-confirm.yaml").read_text())["spec"]["template"]["spec"]["containers"]
    words = [word.replace("$$", "$") for word in container["command"]]
    done = subprocess.run([*words, "sh", "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode == 0) is completes
    assert done.stdout == ("{}\n" if completes else "\n")


def test_a_study_that_stands_is_rendered_again_from_its_folder(rendered: Path) -> None:
    before = {file.name: file.read_text() for file in rendered.iterdir()}
    pods = ("--render", "kubernetes", "--workers", "1", "--image", "example/dayzero:1", "--claim", "study-1")
    done = run(["optimize", "--resume", "-o", str(rendered.parent), *pods, "--no-confirm"])
    assert done.returncode == 0, done.stderr
    assert (rendered / "1-stock.yaml").read_text() == before["1-stock.yaml"]
    assert "completionMode" not in (rendered / "2-search.yaml").read_text()
    assert "--no-confirm" in (rendered / "3-confirm.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--render", "kubernetes", "--storage", "postgresql://a@b/c"), "need an image and a claim"),
        (("--render", "kubernetes", "--image", "i", "--claim", "c"), "cannot share a file"),
        (("--slurm", "partition=main", "--storage", "postgresql://a:secret@b/c"), "keep the password"),
    ],
)
def test_what_cannot_be_spread_is_refused_before_anything_is_written(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(searching(tmp_path, *words, "-o", str(tmp_path / "study")))
    assert done.returncode == 2
    assert said in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "study").exists()
