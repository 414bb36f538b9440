"""The batch scripts under a real Slurm, with stand-ins for pyxis and Apptainer, which it runs in place of a container."""

import hashlib
import http.client
import json
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import EmbeddedEngine
from tests.targets.launches import h200_shape, hostile, k3, k3_two_nodes, launch, plain
from tests.targets.recorder import Recorder
from tests.targets.slurm_cluster import SlurmCluster, started

from dayzero.core.launch import Budgets, LaunchSpec, LocalModel, Placeholder, apply_deltas
from dayzero.core.pins import FilePin, Sha256
from dayzero.core.quantities import Bytes
from dayzero.engines.llamacpp.engine import ENGINE
from dayzero.targets import slurm_apptainer, slurm_pyxis
from dayzero.targets.interface import Target

TARGETS = (slurm_pyxis.TARGET, slurm_apptainer.TARGET)
each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)

# pyxis is a plug-in that srun takes options for; here srun is told the rest, and no container is made.
_SRUN = """\
#!/bin/bash
words=()
for word in "$@"; do
  [[ "${engine-}" || "$word" != --*container-* ]] && words+=("$word")
  [[ "$word" == --* ]] || engine=yes
done
exec /usr/bin/srun "${words[@]}"
"""
# Apptainer as far as it matters here: a clean environment but for what is handed in, and the command behind the image.
_APPTAINER = f"""\
#!{sys.executable} -ISE
import os, sys
if sys.argv[1] == "pull":
    open(sys.argv[2], "x").write(sys.argv[3])
    sys.exit()
words = sys.argv[2:]
while words[0].startswith("--"):
    words.pop(0)
keep = ("PATH", "DAYZERO_RECORD", "LC_ALL", "PYTHONPATH")
env = {{name: os.environ[name] for name in keep if name in os.environ}}
env |= {{name[13:]: value for name, value in os.environ.items() if name.startswith("APPTAINERENV_")}}
os.execvpe(words[1], words[1:], env)
"""
_ENROOT = """\
#!/bin/bash
set -eu
[ "$1 $2" = 'import --output' ]
printf '%s' "$4" > "$3"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    with started(tmp_path_factory.mktemp("slurm")) as running:
        yield running


class Kit:
    """An unpacked kit on disk with one batch script, and an environment in which containers are stood in for."""

    def __init__(self, folder: Path, target: Target, spec: LaunchSpec, *, engines: tuple[str, ...]) -> None:
        self.recorder = Recorder(folder, programs=engines)
        self.folder = folder / "a kit"
        (self.folder / "model").mkdir(parents=True)
        self.script = target.file_name(spec)
        (self.folder / self.script).write_text(target.render(spec))
        self.lay_out(spec)
        for name, text in (("srun", _SRUN), ("apptainer", _APPTAINER), ("enroot", _ENROOT)):
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.recorder.programs / name).write_text(text)
        (self.recorder.programs / name).chmod(0o755)

    def lay_out(self, spec: LaunchSpec) -> None:
        sums = []
        for number, file in enumerate(spec.model.files):
            path = self.folder / "model" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"weights %d" % number)
            sums.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  model/{file.path}\n")
        (self.folder / "model.sha256").write_text("".join(sums))
        for suffix in ("sqsh", "sif"):
            (self.folder / f"{spec.name}.{suffix}").write_bytes(b"image")
            digest = hashlib.sha256(b"image").hexdigest()
            (self.folder / f"{spec.name}.{suffix}.sha256").write_text(f"{digest}  -\n")

    def submit(self, cluster: SlurmCluster, **env: str) -> str:
        return cluster.submit(self.script, cwd=self.folder, env=self.recorder.environment(**env))

    def log(self) -> str:
        return (self.folder / "job.log").read_text()


# What Slurm itself says of the file.


@each_target
@pytest.mark.parametrize("spec", [hostile(), h200_shape(), k3(), k3_two_nodes()], ids=lambda spec: spec.name)
def test_slurm_would_take_the_script(cluster: SlurmCluster, target: Target, spec: LaunchSpec, tmp_path: Path) -> None:
    file = tmp_path / target.file_name(spec)
    file.write_text(target.render(spec))
    done = cluster.ask("sbatch", "--test-only", str(file))
    assert done.returncode == 0, done.stderr
    # One node is whichever is idle: the job of another test may still be leaving the first.
    places = ("nodes n[0-1] ",) if spec.nodes.count > 1 else ("nodes n0 ", "nodes n1 ")
    assert any(place in done.stderr for place in places), done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("--gpus-per-node=8", "--gpus-per-node=16", "Requested node configuration is not available"),
        ("--gpus-per-node=8", "--gpus-per-nodes=8", "unrecognized option '--gpus-per-nodes=8'"),
        (
            "--nodes=1",
            "--nodes=3",
            "More processors requested than permitted|configuration is not available|node count",
        ),
        ("--mem=2097152M", "--mem=9999999M", "Memory|configuration is not available"),
    ],
)
def test_slurm_refuses_a_script_that_asks_for_what_is_not_there(
    cluster: SlurmCluster, tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = TARGETS[0].render(k3())
    assert old in text
    file = tmp_path / "job"
    file.write_text(text.replace(old, new))
    done = cluster.ask("sbatch", "--test-only", str(file))
    assert done.returncode != 0
    assert any(part in done.stderr for part in said.split("|")), done.stderr


def test_partition_and_nodes_of_the_site_are_what_slurm_reads(cluster: SlurmCluster, tmp_path: Path) -> None:
    def told(partition: str, nodes: str) -> str:
        spec = k3()
        file = tmp_path / "job"
        file.write_text(TARGETS[0].render(replace(spec, site=replace(spec.site, partition=partition, nodes=nodes))))
        return cluster.ask("sbatch", "--test-only", str(file)).stderr

    assert "on nodes n1 in partition main" in told("main", "n1")
    assert "invalid partition specified: other" in told("other", "")


# What runs.


@each_target
def test_slurm_starts_the_launch_word_for_word(cluster: SlurmCluster, tmp_path: Path, target: Target) -> None:
    spec = hostile()
    kit = Kit(tmp_path, target, spec, engines=("python3",))
    job = kit.submit(cluster)
    assert cluster.wait(job) == "COMPLETED 0:0", kit.log()
    call = kit.recorder.only("python3")
    assert call.argv == apply_deltas(spec, target.deltas(spec)).leader.argv
    assert {name: call.env.get(name) for name, _ in spec.env} == dict(spec.env)


@each_target
def test_two_nodes_get_what_differs_between_them_and_no_more(
    cluster: SlurmCluster, tmp_path: Path, target: Target
) -> None:
    looks_like_it = ('"$dayzero_leader"', "$dayzero_rank", "<node rank>")
    spec = replace(k3_two_nodes(), env=(*k3().env, ("RANK", "$dayzero_rank")))
    spec = replace(spec, argv=(*spec.argv, *looks_like_it))
    commands = apply_deltas(spec, target.deltas(spec))
    kit = Kit(tmp_path, target, spec, engines=())
    # Both wait for each other, so that the first to end does not end the other.
    kit.program("vllm", _WAITS_FOR_TWO.format(python=sys.executable))
    assert cluster.wait(kit.submit(cluster)) == "COMPLETED 0:0", kit.log()
    calls = {name: json.loads((kit.recorder.folder / name).read_text()) for name in ("n0", "n1")}
    known = {Placeholder.LEADER_ADDRESS: "n0", Placeholder.NODE_RANK: "1"}
    for name, command in zip(calls, (commands.leader, commands.worker), strict=True):
        assert command is not None
        words = [known[word] if isinstance(word, Placeholder) else word for word in command.argv[1:]]
        assert calls[name]["argv"] == words
        assert {key: calls[name]["env"].get(key) for key, _ in command.env} == dict(command.env)
    assert commands.worker is not None
    assert {Placeholder.LEADER_ADDRESS, Placeholder.NODE_RANK} < set(commands.worker.argv)


_WAITS_FOR_TWO = """\
#!{python} -ISE
import json, os, pathlib, sys, time
rank = sys.argv[sys.argv.index("--node-rank") + 1]
folder = pathlib.Path(os.environ["DAYZERO_RECORD"])
(folder / "part").with_name("part" + rank).write_text(json.dumps({{"argv": sys.argv[1:], "env": dict(os.environ)}}))
(folder / ("part" + rank)).rename(folder / ("n" + rank))
while not ((folder / "n0").exists() and (folder / "n1").exists()):
    time.sleep(0.05)
"""


def test_a_job_of_another_size_does_not_start_the_engine(cluster: SlurmCluster, tmp_path: Path) -> None:
    kit = Kit(tmp_path, TARGETS[0], plain(), engines=("python3",))
    text = (kit.folder / kit.script).read_text()
    (kit.folder / kit.script).write_text(text.replace("#SBATCH --nodes=1", "#SBATCH --nodes=2"))
    assert cluster.wait(kit.submit(cluster)) == "FAILED 2:0"
    assert "error: the launch takes 1 nodes, and this job has 2\n" in kit.log()
    assert kit.recorder.calls() == ()


# An engine that writes down what happens to it, with a process of its own.
_ENGINE = """\
#!{python} -ISE
import http.server, os, pathlib, signal, subprocess, sys, threading, time
record = pathlib.Path(os.environ["DAYZERO_RECORD"])
drain, port = float(os.environ["DRAIN_S"]), int(sys.argv[sys.argv.index("--port") + 1])
def note(text):
    with (record / "notes").open("a") as notes:
        notes.write(text + "\\n")
if "--child" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: note("child got SIGTERM"))
    while os.getppid() != 1:
        time.sleep(0.05)
    sys.exit()
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
    def log_message(self, *_):
        pass
if port:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
child = subprocess.Popen([*sys.argv, "--child"])
asked = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: (note("engine got SIGTERM"), asked.set()))
note("up")
asked.wait()
time.sleep(drain)
child.kill()
note("drained")
"""

_SLEEP = """\
#!/bin/bash
[ "$1" != 2 ] || echo waited >> "$DAYZERO_RECORD/notes"
exec /usr/bin/sleep "$1"
"""


def _serving(tmp_path: Path, budgets: Budgets, *, drains_s: int = 1, listens: bool = True) -> Kit:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    spec = replace(launch(port=port), budgets=budgets)
    spec = spec if listens else replace(spec, argv=tuple("0" if word == str(port) else word for word in spec.argv))
    kit = Kit(
        tmp_path,
        TARGETS[1],
        replace(spec, argv=("engine", *spec.argv[1:]), env=(("DRAIN_S", str(drains_s)),)),
        engines=(),
    )
    kit.program("engine", _ENGINE.format(python=sys.executable))
    return kit


def _wait_for(kit: Kit, text: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not (kit.folder / "job.log").exists() or text not in kit.log():
        assert time.monotonic() < deadline, kit.log()
        time.sleep(0.05)


def _notes(kit: Kit) -> list[str]:
    return (kit.recorder.folder / "notes").read_text().splitlines()


def test_a_job_that_is_asked_to_stop_drains_and_ends_well(cluster: SlurmCluster, tmp_path: Path) -> None:
    kit = _serving(tmp_path, Budgets(start_s=30, pre_stop_s=2, drain_s=1, stop_s=20))
    kit.program("sleep", _SLEEP)
    job = kit.submit(cluster)
    _wait_for(kit, "healthy after ")
    cluster.ask("scancel", "--batch", "--signal=TERM", job)
    assert cluster.wait(job) == "COMPLETED 0:0", kit.log()
    # The engine's own process was asked, alone, when traffic had gone elsewhere, and was left its time.
    assert _notes(kit) == ["up", "waited", "engine got SIGTERM", "drained"]


def test_an_engine_that_does_not_stop_is_ended_when_its_time_is_over(cluster: SlurmCluster, tmp_path: Path) -> None:
    kit = _serving(tmp_path, Budgets(start_s=30, stop_s=1), drains_s=60)
    job = kit.submit(cluster)
    _wait_for(kit, "healthy after ")
    cluster.ask("scancel", "--batch", "--signal=TERM", job)
    assert cluster.wait(job) == "FAILED 3:0", kit.log()
    assert "error: the engine still ran 1 s after the request to stop\n" in kit.log()
    assert _notes(kit) == ["up", "engine got SIGTERM"]


def test_an_engine_that_is_late_ends_the_job(cluster: SlurmCluster, tmp_path: Path) -> None:
    kit = _serving(tmp_path, Budgets(start_s=1, stop_s=10), listens=False)
    assert cluster.wait(kit.submit(cluster)) == "FAILED 3:0", kit.log()
    assert "error: not healthy after 1 s\n" in kit.log()


def test_an_engine_that_ends_gives_the_job_its_exit_code(cluster: SlurmCluster, tmp_path: Path) -> None:
    kit = Kit(tmp_path, TARGETS[0], plain(), engines=("python3",))
    kit.recorder.answer("python3", returncode=7)
    assert cluster.wait(kit.submit(cluster)) == "FAILED 7:0", kit.log()


@pytest.mark.engine
def test_slurm_starts_the_demo_and_it_answers(
    cluster: SlurmCluster, tmp_path: Path, embedded_engine: EmbeddedEngine, tiny_k3: Path
) -> None:
    """Slurm, the script and the engine are the real ones; the container alone is stood in for by this machine's own files."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    spec = _demo(tiny_k3, port)
    kit = Kit(tmp_path, TARGETS[1], spec, engines=())
    shutil.copy(tiny_k3, kit.folder / "model" / tiny_k3.name)
    (kit.folder / "model.sha256").write_text(f"{spec.model.files[0].sha256.hex}  model/{tiny_k3.name}\n")
    for name, content in ENGINE.launch_files():
        (kit.folder / name).write_bytes(content)
    kit.program("python3", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    job = kit.submit(cluster, PYTHONPATH=str(embedded_engine.site))
    _wait_for(kit, "healthy after ", seconds=90)
    assert _request(port, "GET", "/health")[0] == 200
    status, body = _request(port, "POST", "/v1/completions", {"prompt": "a b c", "max_tokens": 4})
    assert (status, body["usage"]["completion_tokens"]) == (200, 4)
    cluster.ask("scancel", "--batch", "--signal=TERM", job)
    assert cluster.wait(job) == "COMPLETED 0:0", kit.log()


def _demo(weights: Path, port: int) -> LaunchSpec:
    words = ("--n-ctx", "2048", "--n-parallel", "1", "--cpuparams.n-threads", "1", "--kv-unified", "true")
    address = ("--host", "127.0.0.1", "--port", str(port))
    digest = Sha256(hashlib.sha256(weights.read_bytes()).hexdigest())
    pin = FilePin(path=weights.name, sha256=digest, size=Bytes(weights.stat().st_size))
    argv = ("python3", "serve.py", "--model", f"model/{weights.name}", "--alias", "demo", *address, *words)
    return replace(launch(port=port), argv=argv, model=LocalModel(files=(pin,)), budgets=Budgets(start_s=60, stop_s=15))


def _request(
    port: int, method: str, path: str, body: dict[str, object] | None = None
) -> tuple[int, dict[str, dict[str, int]]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        found: dict[str, dict[str, int]] = json.loads(answer.read())
        return answer.status, found
    finally:
        connection.close()
