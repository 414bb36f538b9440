"""What ``serve.sh`` does, seen by running it under bash with a recorder in the engine's place."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.targets.foreign import ask, program
from tests.targets.kit import lay_out
from tests.targets.launches import hostile, launch, launches, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.proof import prove_commands
from dayzero.targets.shell import TARGET

# Stands in for python3: makes an "environment" that holds itself, counts what pip is asked, and records the launch.
RECORDER = f"""\
#!{sys.executable} -ISE
import json, os, pathlib, shutil, sys
here = pathlib.Path.cwd()
if sys.argv[1:3] == ["-m", "venv"]:
    (here / sys.argv[3] / "bin").mkdir(parents=True)
    shutil.copy(sys.argv[0], here / sys.argv[3] / "bin" / "python3")
elif sys.argv[1:3] == ["-m", "pip"]:
    with (here / "pip.jsonl").open("a") as log:
        log.write(json.dumps(sys.argv[3:]) + "\\n")
    sys.exit(int(os.environ.get("PIP_FAILS", "0")))
else:
    env = {{os.fsdecode(k): os.fsdecode(v) for k, v in os.environb.items()}}
    seen = {{"argv": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]], "program": sys.argv[0], "env": env, "cwd": str(here)}}
    (here / "seen.json").write_text(json.dumps(seen))
"""
AMBIENT = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
MADE_BY_BASH = {"PATH", "PWD", "OLDPWD", "SHLVL", "_", *AMBIENT}


class Kit:
    """An unpacked kit on disk, and what its ``serve.sh`` did."""

    def __init__(self, folder: Path, spec: LaunchSpec) -> None:
        self.folder = folder / "a kit's folder"
        self.tools = folder / "tools"
        self.folder.mkdir()
        self.tools.mkdir()
        self.weights = [self.folder / "model" / file.path for file in spec.model.files]
        lay_out(self.folder, spec)
        recorder = self.tools / "python3"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
        self.write(spec)

    def write(self, spec: LaunchSpec) -> None:
        (self.folder / "serve.sh").write_bytes(TARGET.render(spec).encode())

    def run(self, *, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.tools}:/usr/bin:/bin"
        (self.folder / "seen.json").unlink(missing_ok=True)
        return subprocess.run(
            [shutil.which("bash") or "bash", str(self.folder / "serve.sh")],
            env={"PATH": path, **AMBIENT, **env},
            cwd=cwd or self.tools,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def seen(self) -> dict[str, object]:
        seen: dict[str, object] = json.loads((self.folder / "seen.json").read_text())
        return seen

    def pip_calls(self) -> list[list[str]]:
        log = self.folder / "pip.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def assert_same_launch(kit: Kit, spec: LaunchSpec) -> None:
    done = kit.run()
    assert (done.returncode, done.stderr) == (0, "")
    seen = kit.seen()
    assert seen["argv"] == list(spec.argv)
    env = seen["env"]
    assert isinstance(env, dict)
    assert {name: env[name] for name, _ in spec.env} == dict(spec.env)
    assert set(env) - dict(spec.env).keys() <= MADE_BY_BASH


@pytest.mark.parametrize("spec", [plain(), hostile(), launch()], ids=["plain", "hostile", "bare"])
def test_the_engine_gets_the_launch_word_for_word(tmp_path: Path, spec: LaunchSpec) -> None:
    program("bash")
    assert_same_launch(Kit(tmp_path, spec), spec)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=launches())
def test_the_engine_gets_any_launch_word_for_word(tmp_path_factory: pytest.TempPathFactory, spec: LaunchSpec) -> None:
    program("bash")
    assert_same_launch(Kit(tmp_path_factory.mktemp("kit"), spec), spec)


def test_the_engine_runs_from_the_kit_with_the_environments_own_programs_first(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    kit.run()
    seen = kit.seen()
    assert seen["cwd"] == str(kit.folder)
    assert seen["program"] == str(kit.folder / ".venv" / "bin" / "python3")


def test_a_cdpath_of_the_caller_does_not_lead_elsewhere(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    decoy = tmp_path / "decoy" / kit.folder.name
    decoy.mkdir(parents=True)
    done = subprocess.run(
        ["bash", f"{kit.folder.name}/serve.sh"],
        env={"PATH": f"{kit.tools}:/usr/bin:/bin", "CDPATH": str(tmp_path / "decoy")},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert done.stdout == b""
    assert kit.seen()["cwd"] == str(kit.folder)


def test_names_that_the_script_uses_itself_reach_the_engine_as_the_caller_set_them(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    kit.run(file="mine", lock="mine")
    env = kit.seen()["env"]
    assert isinstance(env, dict)
    assert (env["file"], env["lock"]) == ("mine", "mine")


def test_the_environment_is_made_once_and_again_when_the_lock_changes(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    kit.run()
    kit.run()
    assert len(kit.pip_calls()) == 1
    assert kit.pip_calls()[0] == [
        *("install", "--disable-pip-version-check", "--require-hashes", "--no-deps", "-r", "requirements.lock")
    ]
    (kit.folder / "requirements.lock").write_text("engine==1.0 --hash=sha256:11\n")
    kit.run()
    assert len(kit.pip_calls()) == 2


def test_an_environment_that_could_not_be_made_is_not_taken_for_one(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    assert kit.run(PIP_FAILS="1").returncode == 1
    assert not (kit.folder / "seen.json").exists()
    assert kit.run().returncode == 0
    assert len(kit.pip_calls()) == 2


def test_missing_weights_end_the_start_with_3_and_say_how_to_get_them(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    kit.weights[1].unlink()
    done = kit.run()
    assert done.returncode == 3
    assert done.stderr == (
        "error: the weights are not here: model/more/second half.gguf\nhint: dayzero weights package.toml -o model\n"
    )
    assert not (kit.folder / "seen.json").exists()
    assert kit.pip_calls() == []


def test_changed_weights_end_the_start_with_4(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    kit.weights[0].write_bytes(b"weights 9")
    done = kit.run()
    assert done.returncode == 4
    assert "model/tiny.gguf: FAILED" in done.stderr
    assert "error: the weights are not the pinned bytes" in done.stderr
    assert not (kit.folder / "seen.json").exists()


def test_an_empty_checksum_list_is_no_pass(tmp_path: Path) -> None:
    program("bash")
    kit = Kit(tmp_path, plain())
    (kit.folder / "model.sha256").write_text("")
    assert kit.run().returncode == 4


def _names_of_bash() -> list[str]:
    listed = ask(program("bash"), "--norc", "-c", "compgen -v", env={"PATH": os.environ["PATH"]}).stdout.split()
    return sorted(
        set(listed) | {"RANDOM", "SECONDS", "LINENO", "UID", "OPTARG", "BASH_ENV", "IFS", "PS4", "ENV", "CDPATH"}
    )


def test_a_variable_that_bash_would_change_is_refused_and_every_other_comes_through(tmp_path: Path) -> None:
    carried, refused = [], []
    for name in _names_of_bash():
        try:
            TARGET.render(launch(env=((name, "7"),)))
        except InputError:
            refused.append(name)
        else:
            carried.append((name, "7"))
    assert {"PATH", "SHELLOPTS", "RANDOM", "UID", "BASHOPTS"} <= set(refused)
    assert {"IFS", "PS4", "HOSTNAME", "TERM"} & {name for name, _ in carried}
    spec = launch(env=tuple(carried))
    assert_same_launch(Kit(tmp_path, spec), spec)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("set -euo pipefail", "set -uo pipefail"),
        ("make_environment\n\n", "make_environment\n\nunset HOME\n"),
        ("make_environment\n\nexport", "\nexport"),
        ("check_weights tiny", "true demo"),
        ("check_weights tiny", "check_weights $HOME"),
        ("exec python3", "python3"),
        ("exec python3", "exec env A=B python3"),
        ("export ENGINE_LOG=info", "export ENGINE_LOG=$(id)"),
        ("export ENGINE_LOG=info", "ENGINE_LOG=info"),
        ("export ENGINE_LOG=info", "export ENGINE_LOG=info more"),
        ("export ENGINE_LOG=info", "export -n ENGINE_LOG=info"),
        ("export PATH=", "export LD_PRELOAD=x PATH="),
        ("exec python3", "exec python3 \\\n  $EXTRA"),
        ("--no-warmup", "--no-warmup &"),
        ("--no-warmup", "--no-warmup; id"),
        ("--no-warmup", "--no-warmup \\"),
        ("--no-warmup", "--no-warmup > log"),
        ("--ctx-size", "--ctx-size '"),
    ],
)
def test_a_script_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def test_a_changed_check_at_the_top_is_named() -> None:
    text = TARGET.render(plain()).replace("exit 4", "exit 0")
    verdict = prove_commands(plain(), TARGET, text)
    assert isinstance(verdict, Refuted)
    assert "the checks at the top of serve.sh are not the ones that are rendered" in verdict.reason


@pytest.mark.parametrize("spec", [plain(), hostile()], ids=["plain", "hostile"])
@pytest.mark.parametrize("validator", TARGET.validators, ids=lambda validator: validator.name)
def test_bash_and_shellcheck_accept_the_script(tmp_path: Path, validator: object, spec: LaunchSpec) -> None:
    name, *arguments = next(v.command for v in TARGET.validators if v is validator)
    file = tmp_path / "serve.sh"
    file.write_bytes(TARGET.render(spec).encode())
    done = ask(program(name), *arguments, str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_script_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / "serve.sh").read_text()
