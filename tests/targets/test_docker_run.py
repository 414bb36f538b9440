"""What ``docker-run.sh`` does: run under bash with a recorder in Docker's place, and read by Docker's own command line."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.targets.daemon import asked_to_create
from tests.targets.foreign import ask, program
from tests.targets.kit import lay_out
from tests.targets.launches import h200_shape, hostile, k3, k3_two_nodes, launches, plain
from tests.targets.recorder import Call, Recorder

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, Site, apply_deltas, at_site
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.docker_run import TARGET
from dayzero.targets.proof import prove_commands

# From there on the source of a mount may be relative.
_OLDEST_DOCKER = 23
BUILT = "localhost/demo:built-from-this-kit"


class Kit:
    """An unpacked kit on disk, and what its ``docker-run.sh`` does."""

    def __init__(self, folder: Path, spec: LaunchSpec) -> None:
        self.folder = folder / "a kit's, folder"
        self.recorder = Recorder(folder)
        self.script = self.folder / TARGET.file_name(spec)
        self.weights = [self.folder / "model" / file.path for file in spec.model.files]
        self.folder.mkdir()
        lay_out(self.folder, spec)
        self.script.write_bytes(TARGET.render(spec).encode())

    def run(self, **env: str) -> subprocess.CompletedProcess[str]:
        return self.recorder.run("bash", str(self.script), **env)


def options(argv: tuple[str, ...]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Split the words of ``docker run --rm --init`` into its options, each with a value, and the rest."""
    assert argv[:4] == ("docker", "run", "--rm", "--init")
    found, rest = [], argv[4:]
    while rest[0].startswith("--"):
        found.append((rest[0], rest[1]))
        rest = rest[2:]
    return found, rest


def started(call: Call) -> tuple[tuple[str, ...], list[str]]:
    """Give the command and the environment that a recorded ``docker run`` asks for."""
    found, (_, *arguments) = options(call.argv)
    return (dict(found)["--entrypoint"], *arguments), [value for name, value in found if name == "--env"]


def expected(spec: LaunchSpec) -> tuple[tuple[object, ...], list[str]]:
    command = apply_deltas(spec, TARGET.deltas(spec)).leader
    return command.argv, [f"{name}={value}" for name, value in command.env]


def at(spec: LaunchSpec, folder: Path) -> LaunchSpec:
    return at_site(spec, Site(cache=str(folder)))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=launches())
def test_docker_is_asked_to_start_any_launch_word_for_word(
    tmp_path_factory: pytest.TempPathFactory, spec: LaunchSpec
) -> None:
    kit = Kit(tmp_path_factory.mktemp("kit"), spec)
    assert kit.run().returncode == 0
    assert started(kit.recorder.only("docker", "run")) == expected(spec)


def _create(folder: Path, spec: LaunchSpec) -> dict[str, Any]:
    kit = Kit(folder, spec)
    real = program("docker")
    version = ask(real, "--version").stdout.removeprefix("Docker version ").split(".")[0]
    if int(version) < _OLDEST_DOCKER:
        pytest.skip(f"Docker's client is older than {_OLDEST_DOCKER}: {version}")
    for stand_in in kit.recorder.programs.iterdir():
        stand_in.unlink()
    (kit.recorder.programs / "docker").write_text(f'#!/bin/sh\n[ "$1" = build ] || exec {real} "$@"\n')
    (kit.recorder.programs / "docker").chmod(0o755)
    with asked_to_create(folder) as (address, bodies):
        done = kit.run(DOCKER_HOST=address, HOME=str(folder))
    assert (done.returncode, len(bodies)) == (125, 1), done.stderr
    assert "written down" in done.stderr
    return bodies[0]


@pytest.mark.parametrize("spec", [plain(), hostile(), h200_shape()], ids=["plain", "hostile", "h200"])
def test_dockers_own_command_line_reads_the_launch_word_for_word(tmp_path: Path, spec: LaunchSpec) -> None:
    asked = _create(tmp_path, spec)
    argv, env = expected(spec)
    assert (*asked["Entrypoint"], *asked["Cmd"]) == argv
    assert sorted(asked["Env"]) == sorted(env)  # it keeps no order of its own
    assert asked["Image"] == f"localhost/{spec.name}:built-from-this-kit"


def test_dockers_own_command_line_reads_the_limits_of_the_launch(tmp_path: Path) -> None:
    spec = h200_shape()
    asked = _create(tmp_path, spec)
    host = asked["HostConfig"]
    (gpus,) = host["DeviceRequests"]
    assert (gpus["DeviceIDs"], gpus["Capabilities"]) == ([str(number) for number in range(8)], [["gpu"]])
    assert (host["ShmSize"], host["Memory"]) == (spec.shared_memory_bytes, spec.memory_bytes)
    assert host["Ulimits"] == [{"Name": "memlock", "Hard": -1, "Soft": -1}]
    assert host["PortBindings"] == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8000"}]}
    kit = tmp_path / "a kit's, folder"
    assert host["Mounts"] == [
        {"Type": "bind", "Source": str(kit / "model"), "Target": "/srv/dayzero/model", "ReadOnly": True}
    ]
    assert (host["Init"], host["AutoRemove"], host["Privileged"]) == (True, True, False)
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert (asked["User"], asked["WorkingDir"]) == ("10001:10001", "/srv/dayzero")
    assert (asked["StopSignal"], asked["StopTimeout"]) == ("SIGTERM", 190)
    assert asked["Healthcheck"]["StartPeriod"] == 1800 * 10**9
    kind, line = asked["Healthcheck"]["Test"]
    assert kind == "CMD-SHELL"
    probe = ask("sh", "-c", f"set -- {line}; printf '%s\\n' \"$@\"").stdout.splitlines()
    assert (probe[:2], probe[3:]) == (["python3", "-c"], ["http://127.0.0.1:8000/health"])


def test_weights_from_the_hub_are_kept_in_the_sites_folder(tmp_path: Path) -> None:
    cache = tmp_path / "hub"
    cache.mkdir()
    kit = Kit(tmp_path, at(k3(), cache))
    assert kit.run().returncode == 0
    call = kit.recorder.only()
    assert started(call) == expected(k3())
    found, (image, *_) = options(call.argv)
    assert image == k3().image
    assert dict(found)["--mount"] == f"type=bind,source={cache},target=/srv/dayzero/hub"
    assert "HF_HOME=/srv/dayzero/hub" in [value for name, value in found if name == "--env"]


def test_a_missing_folder_for_the_hub_ends_the_start_with_3_and_says_how_to_make_it(tmp_path: Path) -> None:
    kit = Kit(tmp_path, at(k3(), tmp_path / "hub"))
    done = kit.run()
    assert done.returncode == 3
    assert done.stderr == (
        f"error: the folder for the weights is not here: {tmp_path}/hub\n"
        f"hint: sudo install --directory --owner 10001 --group 10001 {tmp_path}/hub\n"
    )
    assert kit.recorder.calls() == ()


def test_the_image_is_made_from_the_kit_before_it_is_run_and_never_fetched(tmp_path: Path) -> None:
    kit = Kit(tmp_path, plain())
    kit.run()
    build, run = kit.recorder.calls()
    assert build.argv == ("docker", "build", "--tag", BUILT, "--file", "Dockerfile", ".")
    assert (build.cwd, run.cwd) == (str(kit.folder), str(kit.folder))
    found, (image, *_) = options(run.argv)
    assert (image, dict(found)["--pull"]) == (BUILT, "never")


def test_an_image_that_could_not_be_made_is_not_run(tmp_path: Path) -> None:
    kit = Kit(tmp_path, plain())
    kit.recorder.answer("docker", "build", returncode=1)
    assert kit.run().returncode == 1
    assert kit.recorder.calls("docker", "run") == ()


def test_missing_weights_end_the_start_with_3_and_changed_ones_with_4(tmp_path: Path) -> None:
    kit = Kit(tmp_path, plain())
    kit.weights[0].write_bytes(b"other")
    changed = kit.run()
    assert (changed.returncode, "model/tiny.gguf: FAILED" in changed.stderr) == (4, True)
    kit.weights[1].unlink()
    missing = kit.run()
    assert (missing.returncode, "not here: model/more/second half.gguf" in missing.stderr) == (3, True)
    assert kit.recorder.calls() == ()


def test_docker_takes_the_place_of_the_script_so_that_signals_reach_it(tmp_path: Path) -> None:
    kit = Kit(tmp_path, plain())
    with subprocess.Popen(["/usr/bin/bash", str(kit.script)], env=kit.recorder.environment()) as process:
        assert process.wait(60) == 0
    assert kit.recorder.only("docker", "run").pid == process.pid


def test_what_docker_is_given_for_itself_comes_from_the_caller_alone(tmp_path: Path) -> None:
    kit = Kit(tmp_path, hostile())
    kit.run(DOCKER_HOST="unix:///mine", file="mine")
    env = kit.recorder.only("docker", "run").env
    assert (env["DOCKER_HOST"], env["file"]) == ("unix:///mine", "mine")
    assert not [name for name in env if name.startswith("HOSTILE")]


def test_several_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="starts one node, and the launch takes 2"):
        TARGET.render(k3_two_nodes())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("set -euo pipefail", "set -uo pipefail"),
        ("exit 4", "exit 0"),
        ("check_weights tiny", "true demo"),
        ("check_weights tiny", "check_weights $HOME"),
        ("make_image localhost/demo", "make_image localhost/other"),
        (f"make_image {BUILT}\n", ""),
        (f"make_image {BUILT}\n", f"make_image {BUILT}\nunset HOME\n"),
        ("exec docker run", "docker run"),
        ("exec docker run", "exec sudo docker run"),
        ("--rm --init", "--rm --init --privileged"),
        ("--rm --init", "--rm --init --env-file more"),
        ("--rm --init", "--rm"),
        ("--cap-drop ALL", "--cap-add ALL"),
        ("--cap-drop ALL \\\n  ", ""),
        ("--pull never", "--pull always"),
        ("--user 10001:10001", "--user 0:0"),
        ("127.0.0.1:8080:8080", "0.0.0.0:8080:8080"),
        ("127.0.0.1:8080:8080", "127.0.0.1:8080:8081"),
        ("target=/srv/dayzero/model,readonly", "target=/srv/dayzero/model"),
        ("--mount type", "--mount type=bind,source=./model,target=/srv/dayzero/model,readonly --mount type"),
        ("--entrypoint python3", "--entrypoint sh"),
        ("--entrypoint python3", "--entrypoint python3 --entrypoint python3"),
        ("--env OMP_NUM_THREADS=2", "--env OMP_NUM_THREADS"),
        ("--env OMP_NUM_THREADS=2", "--env OMP_NUM_THREADS=$N"),
        (f"{BUILT} serve", "engine:latest serve"),
        ("--no-warmup", "--no-warmup &"),
        ("--no-warmup", "--no-warmup; id"),
        ("--no-warmup", "--no-warmup > log"),
        ("--no-warmup", "--no-warmup \\"),
        ("--no-warmup", '"--no-warmup"'),
        ("# Declared", "id\n# Declared"),
        ("exec docker run", "id\nexec docker run"),
    ],
)
def test_a_script_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


@pytest.mark.parametrize("spec", [plain(), hostile(), k3(), h200_shape()], ids=["plain", "hostile", "k3", "h200"])
@pytest.mark.parametrize("validator", TARGET.validators, ids=lambda validator: validator.name)
def test_bash_and_shellcheck_accept_the_script(tmp_path: Path, validator: object, spec: LaunchSpec) -> None:
    name, *arguments = next(v.command for v in TARGET.validators if v is validator)
    file = tmp_path / "docker-run.sh"
    file.write_bytes(TARGET.render(spec).encode())
    done = ask(program(name), *arguments, str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_script_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / "docker-run.sh").read_text()
