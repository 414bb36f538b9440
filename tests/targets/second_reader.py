"""What each kind of deploy file starts, as somebody other than its own parser finds out: a shell that runs it, systemd, Docker's
parser, two readers of YAML.

The environment is given as what the file sets; a program that runs adds nothing of its own to it.
"""

import io
import json
import os
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dockerfile
import yaml
from e2b_dockerfile_utils import ShellLex
from ruamel.yaml import YAML
from tests.targets import generator
from tests.targets.chart import chart_of
from tests.targets.cluster import READERS, command_of, expanded, pods
from tests.targets.foreign import ask, program
from tests.targets.kit import lay_out
from tests.targets.recorder import Call, Recorder
from tests.targets.slurm_job import Job

from dayzero.core.launch import Command, LaunchSpec, Placeholder, apply_deltas
from dayzero.targets.interface import Target
from dayzero.targets.unit_file import INSTALL_FOLDER

Started = tuple[tuple[str, ...], dict[str, str]]
_CAPTURED = re.compile(r'"((?:[^"\\]|\\.)*)"|([^ "]+)')
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)")
# What the cluster says to each of two nodes.
_POD = {"LWS_LEADER_ADDRESS": "n0"}


def meant(target: Target, spec: LaunchSpec) -> list[Started]:
    """Give what each node has to start, by the declared differences alone; the first node is called ``n0``."""
    commands = apply_deltas(spec, target.deltas(spec))
    return [_on_node(commands.leader, "0")] + ([_on_node(commands.worker, "1")] if commands.worker else [])


def _on_node(command: Command, rank: str) -> Started:
    known = {Placeholder.LEADER_ADDRESS: "n0", Placeholder.NODE_RANK: rank}
    return tuple(known[word] if isinstance(word, Placeholder) else word for word in command.argv), dict(command.env)


def _only(env: dict[str, str], call: dict[str, str]) -> dict[str, str]:
    return {name: call[name] for name in env if name in call}


def _kit(target: Target, spec: LaunchSpec, folder: Path) -> tuple[Recorder, Path]:
    kit = folder / "a kit's, folder"
    kit.mkdir()
    lay_out(kit, spec)
    (kit / target.file_name(spec)).write_bytes(target.render(spec).encode())
    return Recorder(folder), kit / target.file_name(spec)


def _shell(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    recorder, script = _kit(target, spec, folder)
    done = recorder.run("bash", str(script))
    assert done.returncode == 0, done.stderr
    call = recorder.calls(spec.argv[0])[-1]
    return [[(call.argv, _only(dict(meant(target, spec)[0][1]), call.env))]]


def _docker_run(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    recorder, script = _kit(target, spec, folder)
    done = recorder.run("bash", str(script))
    assert done.returncode == 0, done.stderr
    words = list(recorder.only("docker", "run").argv[4:])
    options: list[tuple[str, str]] = []
    while words[0].startswith("--"):
        options.append((words.pop(0), words.pop(0)))
    env = dict(value.partition("=")[::2] for name, value in options if name == "--env")
    return [[((dict(options)["--entrypoint"], *words[1:]), env)]]


def _slurm(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    job = Job(folder, target, spec)
    digest = spec.image.partition("@sha256:")[2][:12]
    for suffix in ("sqsh", "sif"):
        job.give_image(f"{spec.name}-{digest}.{suffix}" if digest else f"{spec.name}.{suffix}")
    job.run()
    # The script ends with the first step that ends; another one may still be writing.
    deadline = time.monotonic() + 30
    while len(job.recorder.calls("srun")) < spec.nodes.count and time.monotonic() < deadline:
        time.sleep(0.01)
    calls = sorted(job.recorder.calls("srun"), key=lambda call: call.argv)
    return [[_of_step(call, wanted) for call, wanted in zip(calls, meant(target, spec), strict=True)]]


def _of_step(call: Call, wanted: Started) -> Started:
    # What stands before the engine's words are options of srun and of the container, each with its value after a "=".
    first = next(index for index, word in enumerate(call.argv) if index and _is_program(call.argv, index))
    prefix = "APPTAINERENV_" if "apptainer" in call.argv else ""
    return call.argv[first:], {name: call.env[prefix + name] for name in wanted[1] if prefix + name in call.env}


def _is_program(argv: tuple[str, ...], index: int) -> bool:
    word = argv[index]
    return not word.startswith("-") and word not in {"apptainer", "exec"} and not word.endswith(".sif")


def _skypilot(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    found = []
    for reader in READERS:
        document = _yaml(target.render(spec), reader)
        nodes = [
            _task(document, spec, folder / reader.replace(" ", "") / str(rank), rank)
            for rank in range(spec.nodes.count)
        ]
        found.append(nodes)
    return found


def _task(document: Any, spec: LaunchSpec, folder: Path, rank: int) -> Started:
    work = folder / "sky_workdir"
    work.mkdir(parents=True)
    lay_out(work, spec)
    recorder = Recorder(folder)
    exports = [f"export {name}={shlex.quote(value)}" for name, value in document["envs"].items()]
    script = folder / "sky_app"
    script.write_text("\n".join((f"cd {work}", *exports, document["run"], "")))
    cluster = {
        "SKYPILOT_NODE_IPS": "n0\nn1\n",
        "SKYPILOT_NUM_NODES": str(spec.nodes.count),
        "SKYPILOT_NODE_RANK": str(rank),
    }
    done = recorder.run("bash", "--norc", "-i", str(script), **cluster)
    assert done.returncode == 0, done.stderr
    call = recorder.only(spec.argv[0])
    return call.argv, _only(document["envs"], call.env)


def _yaml(text: str, reader: str) -> Any:
    return yaml.safe_load(text) if reader == "YAML 1.1" else YAML(typ="safe", pure=True).load(io.StringIO(text))


def _compose(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    del folder
    found = []
    for reader in READERS:
        engine = _yaml(target.render(spec), reader)["services"]["engine"]
        # Compose's own rule is the kubelet's: $$ is a $, and nothing else may stand behind one.
        words = tuple(expanded(word) for word in engine["entrypoint"] + engine["command"])
        env = dict(expanded(entry).partition("=")[::2] for entry in engine["environment"])
        found.append([(words, env)])
    return found


def _cluster(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    text = chart_of(spec, folder).objects() if target.name == "helm" else target.render(spec)
    found = []
    for reader in READERS:
        nodes = [
            command_of(pod["containers"][0], _POD | {"LWS_WORKER_INDEX": str(rank)} if spec.nodes.count > 1 else {})
            for rank, pod in enumerate(pods(text, reader))
        ]
        found.append([(words, dict(env)) for words, env in nodes])
    return found


def _dockerfile(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    del folder
    commands = dockerfile.parse_string(target.render(spec))
    of = {
        name: [command for command in commands if command.cmd.upper() == name] for name in ("ENTRYPOINT", "CMD", "ENV")
    }
    lexer = ShellLex("\\")
    env = {line.value[0]: "".join(lexer.process_words(line.value[1])) for line in of["ENV"]}
    return [[((*of["ENTRYPOINT"][0].value, *of["CMD"][0].value), env)]]


def understood(unit: Path) -> str:
    """Give what ``systemd-analyze`` says that it understood of a unit."""
    env = {**os.environ, "SYSTEMD_LOG_LEVEL": "debug", "SYSTEMD_LOG_TARGET": "console", "LC_ALL": "C.UTF-8"}
    done = ask(program("systemd-analyze"), "verify", "--man=no", str(unit), env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout[done.stdout.index(f"-> Unit {unit.name}:") :].split("\t-> Unit ")[0]


def command_line(block: str) -> tuple[str, ...]:
    """Give the words of ``ExecStart=``: systemd prints them quoted and keeps each ``$$`` as it was written."""
    start = block[block.index("-> ExecStart:") :]
    line = start[start.index("Command Line: ") + len("Command Line: ") :].split("\n")[0]
    return unquoted(line)


def unquoted(line: str) -> tuple[str, ...]:
    """Undo the quotes and escapes of a command line, and its ``$$``."""
    words = (quoted if bare == "" else bare for quoted, bare in _CAPTURED.findall(line))
    return tuple(_ESCAPE.sub(_letter, word).replace("$$", "$") for word in words)


def _letter(match: re.Match[str]) -> str:
    escape = match[1]
    return (
        chr(int(escape[1:], 16))
        if escape[0] in "xuU" and len(escape) > 1
        else {"t": "\t", "n": "\n"}.get(escape, escape)
    )


def _systemd(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    root = folder / "opt"
    programs = root / spec.name / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in {"python3", spec.argv[0]}:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    unit = folder / target.file_name(spec)
    unit.write_bytes(target.render(spec).replace(INSTALL_FOLDER, str(root)).encode())
    block = understood(unit)
    lines = (line.lstrip().rstrip("\n") for line in block.split("\n"))
    entries = [line.removeprefix("Environment: ") for line in lines if line.startswith("Environment: ")]
    words = tuple(word.replace(str(root), INSTALL_FOLDER) for word in command_line(block))
    return [[(words, dict(entry.partition("=")[::2] for entry in entries))]]


def podman_run(target: Target, spec: LaunchSpec, folder: Path) -> tuple[str, ...]:
    """Give the words of ``podman run`` as systemd understands the service that the generator makes of the unit."""
    podman = folder / "podman"
    podman.write_text("#!/bin/sh\n")
    podman.chmod(0o755)
    unit = folder / f"{spec.name}.service"
    text = generator.service(target.render(spec), podman=str(podman))
    unit.write_bytes(re.sub(r"WorkingDirectory=.*", f"WorkingDirectory={folder}", text).encode())
    return command_line(understood(unit))


def values(words: tuple[str, ...], option: str) -> list[str]:
    """Give the words behind each such option."""
    return [words[index + 1] for index, word in enumerate(words) if word == option]


def _quadlet(target: Target, spec: LaunchSpec, folder: Path) -> list[list[Started]]:
    words = podman_run(target, spec, folder)
    (entrypoint,) = values(words, "--entrypoint")
    env = dict(value.partition("=")[::2] for value in values(words, "--env"))
    return [[(tuple(json.loads(entrypoint)), env)]]


Reader = Callable[[Target, LaunchSpec, Path], list[list[Started]]]

# What reads each kind of file, and how it says what it read: one list of nodes for each reading of the file.
SECOND: dict[str, tuple[str, Reader]] = {
    "shell": ("run by bash", _shell),
    "docker-run": ("run by bash", _docker_run),
    "compose": ("two YAML readers", _compose),
    "quadlet": ("podman's rules and systemd", _quadlet),
    "systemd": ("systemd", _systemd),
    "dockerfile": ("Docker's parser", _dockerfile),
    "kubernetes": ("two YAML readers", _cluster),
    "leader-worker-set": ("two YAML readers", _cluster),
    "helm": ("helm and two YAML readers", _cluster),
    "kserve": ("two YAML readers", _cluster),
    "slurm-pyxis": ("run by bash", _slurm),
    "slurm-apptainer": ("run by bash", _slurm),
    "skypilot": ("two YAML readers and run by bash", _skypilot),
}
