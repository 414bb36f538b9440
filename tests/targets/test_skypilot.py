"""``skypilot.yaml``: read by SkyPilot's own parser, and its scripts run as SkyPilot runs them."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.targets.foreign import program
from tests.targets.launches import h200_shape, hostile, k3, k3_two_nodes, launch, plain, source_build
from tests.targets.recorder import Recorder

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, Placeholder, Site, apply_deltas
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.interface import NotCarriedError
from dayzero.targets.proof import prove_commands
from dayzero.targets.skypilot import TARGET
from dayzero.wiring.settings import cache_folder

NODE = {"SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2\n", "SKYPILOT_NUM_NODES": "2"}
_ASK = """\
import json, sys, sky
task = sky.Task.from_yaml(sys.argv[1])
(resources,) = task.resources
probe = task.service
print(json.dumps({
    "name": task.name, "run": task.run, "setup": task.setup, "envs": task.envs, "num_nodes": task.num_nodes,
    "accelerators": resources.accelerators, "image": resources.extract_docker_image(), "ports": resources.ports,
    "memory": resources.memory, "path": probe.readiness_path, "delay": probe.initial_delay_seconds,
}))
"""


class Task:
    """The scripts of a rendered task, run as SkyPilot runs them: under ``bash -i``, the variables exported and quoted before."""

    def __init__(self, recorder: Recorder, spec: LaunchSpec) -> None:
        self.recorder = recorder
        self.document = yaml.safe_load(TARGET.render(spec))
        self.folder = recorder.folder / "sky_workdir"
        self.folder.mkdir()

    def run(self, key: str, **env: str) -> subprocess.CompletedProcess[str]:
        exports = [f"export {name}={shlex.quote(str(value))}" for name, value in self.document["envs"].items()]
        script = self.recorder.folder / "sky_app"
        script.write_text("\n".join((f"cd {self.folder}", *exports, self.document[key], "")))
        return self.recorder.run("bash", "--norc", "-i", str(script), **env)


@pytest.mark.parametrize("spec", [plain(), hostile()], ids=["plain", "hostile"])
def test_the_engine_gets_the_launch_word_for_word(recorder: Recorder, spec: LaunchSpec) -> None:
    program("bash")
    task = Task(recorder, spec)
    (task.folder / "model.sha256").write_text("")
    assert task.run("run").returncode == 4
    assert recorder.calls() == ()
    (task.folder / "weights").write_text("")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (task.folder / "model.sha256").write_text(f"{empty}  weights\n")
    done = task.run("run")
    assert done.returncode == 0, done.stderr
    call = recorder.only("python3")
    assert call.argv == apply_deltas(spec, TARGET.deltas(spec)).leader.argv
    assert {name: call.env[name] for name, _ in spec.env} == dict(spec.env)


@pytest.mark.parametrize("rank", ["0", "1"])
def test_each_node_gets_its_own_words(recorder: Recorder, rank: str) -> None:
    program("bash")
    spec = k3_two_nodes()
    spec = replace(spec, argv=(*spec.argv, '"$dayzero_leader"', "$SKYPILOT_NODE_RANK"))
    commands = apply_deltas(spec, TARGET.deltas(spec))
    task = Task(recorder, spec)
    assert task.run("run", **NODE, SKYPILOT_NODE_RANK=rank).returncode == 0
    command = commands.leader if rank == "0" else commands.worker
    assert command is not None
    known = {Placeholder.LEADER_ADDRESS: "10.0.0.1", Placeholder.NODE_RANK: rank}
    assert recorder.only("vllm").argv == tuple(
        known[word] if isinstance(word, Placeholder) else word for word in command.argv
    )


def test_a_cluster_of_another_size_does_not_start_the_engine(recorder: Recorder) -> None:
    program("bash")
    task = Task(recorder, k3_two_nodes())
    assert task.run("run", **{**NODE, "SKYPILOT_NUM_NODES": "3"}, SKYPILOT_NODE_RANK="0").returncode == 2
    assert recorder.calls() == ()


def test_the_environment_of_the_locked_wheels_is_made_once(recorder: Recorder) -> None:
    program("bash")
    task = Task(recorder, plain())
    (task.folder / "requirements.lock").write_text("engine==1.0 --hash=sha256:00\n")
    assert task.run("setup").returncode == 0
    assert task.run("setup").returncode == 0
    assert [call.argv[2] for call in recorder.calls("python3", "-m")] == ["venv", "pip"]
    assert "--require-hashes" in recorder.calls("python3", "-m", "pip")[0].argv


def test_a_pinned_image_needs_no_environment_and_gets_memory_and_cache() -> None:
    document = yaml.safe_load(TARGET.render(replace(k3(), site=Site(cache="/mnt/hub"))))
    assert "setup" not in document
    assert document["resources"]["image_id"] == f"docker:{k3().image}"
    assert document["config"]["docker"]["run_options"] == [
        f"--shm-size={64 * 1024**3}b",
        "--ulimit=memlock=-1",
        "--volume=/mnt/hub:/srv/dayzero/hub",
    ]
    assert document["envs"]["HF_HOME"] == "/srv/dayzero/hub"


def test_without_an_image_the_hubs_cache_is_the_machines_own_folder() -> None:
    document = yaml.safe_load(TARGET.render(replace(k3(), image="", site=Site(cache="/mnt/hub"))))
    assert document["envs"]["HF_HOME"] == "/mnt/hub"
    assert "[ -w /mnt/hub ] || sudo install -d " in document["setup"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda _: source_build(), NotCarriedError),
        (lambda _: replace(k3(), site=Site(cache="/a:b")), InputError),
        (lambda _: replace(h200_shape(), accelerator=""), InputError),
        (lambda spec: replace(spec, env=(("PATH", "/x"),)), InputError),
        (lambda spec: replace(spec, env=(("SKYPILOT_NODE_RANK", "0"),)), InputError),
    ],
)
def test_what_a_task_cannot_carry_is_refused(
    change: Callable[[LaunchSpec], LaunchSpec], error: type[InputError]
) -> None:
    with pytest.raises(error) as caught:
        TARGET.render(change(plain()))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("set -euo pipefail", "set -uo pipefail"),
        ("  sha256sum --check --quiet --strict model.sha256 || exit 4\\n\\\n", ""),
        ("|| exit 4", "|| true"),
        ("exec python3", "python3"),
        ("exec python3", "exec env A=B python3"),
        ("--no-warmup", "--no-warmup &"),
        ("--no-warmup", '--no-warmup \\"$HOME\\"'),
        ("--require-hashes", "--pre"),
        ("--ctx-size 2048", "--ctx-size\\ 2048"),  # the same string, written in another way
        ("num_nodes: 1", "num_nodes: 2"),
        ('workdir: "."\n', 'workdir: "."\nfile_mounts: {}\n'),
        ('  ENGINE_LOG: "info"', "  ENGINE_LOG: info"),
        ('run: "', 'run: "exit\\n'),
    ],
)
def test_a_task_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def _sky(folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    venv = Path(os.environ.get("DAYZERO_SKYPILOT_ENV") or cache_folder() / "skypilot-0.14.1" / "venv")
    python = venv / "bin" / "python"
    if not python.exists():
        pytest.skip(
            f"no SkyPilot in {venv}: install it with tools/tool_env.sh skypilot, or name it in DAYZERO_SKYPILOT_ENV"
        )
    return subprocess.run(
        (str(python), "-c", _ASK, str(file)),
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


SPECS = (launch(), plain(), hostile(), h200_shape(), k3(), k3_two_nodes())


@pytest.mark.skypilot
@pytest.mark.parametrize("spec", SPECS, ids=["bare", "plain", "hostile", "h200_shape", "k3", "k3_two_nodes"])
def test_skypilot_reads_what_the_file_says(tmp_path: Path, spec: LaunchSpec) -> None:
    file = tmp_path / "skypilot.yaml"
    file.write_text(TARGET.render(spec))
    done = _sky(tmp_path, file)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    written = yaml.safe_load(file.read_text())
    assert {key: read[key] for key in ("name", "run", "num_nodes")} == {
        key: written[key] for key in ("name", "run", "num_nodes")
    }
    assert read["setup"] == written.get("setup")
    commands = apply_deltas(spec, TARGET.deltas(spec))
    assert list(read["envs"].items()) == list(commands.leader.env)
    kinds = {spec.accelerator.upper(): spec.accelerators} if spec.accelerators else None
    assert (read["accelerators"], read["image"], read["ports"]) == (kinds, spec.image or None, [str(spec.port)])
    assert float(read["memory"].removesuffix("+")) * 1024**3 >= spec.memory_bytes
    assert (read["path"], read["delay"]) == (spec.ready_path, spec.budgets.start_s)


@pytest.mark.skypilot
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("num_nodes:", "num_node:", "did you mean 'num_nodes'"),
        ("image_id:", "image:", "image"),
        ("initial_delay_seconds: 3600", 'initial_delay_seconds: "soon"', "initial_delay_seconds"),
    ],
)
def test_skypilot_refuses_a_file_that_is_not_a_task(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "skypilot.yaml"
    file.write_text(TARGET.render(k3()).replace(old, new))
    done = _sky(tmp_path, file)
    assert done.returncode != 0
    assert said in done.stderr
