"""What the unit says, made into a service as podman's generator does and then read by systemd itself."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from tests.targets import generator
from tests.targets.launches import h200_shape, k3, k3_two_nodes, launch, launches, plain
from tests.targets.second_reader import podman_run, values

from dayzero.adapters.validator import ask_validator
from dayzero.core.errors import InputError
from dayzero.core.launch import Budgets, LaunchSpec, LocalModel, apply_deltas
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.targets.dockerfile import FILE_NAME
from dayzero.targets.proof import prove_commands
from dayzero.targets.quadlet import TARGET

# systemd refuses a longer line: man systemd.syntax(7).
_LINE_MAX = 1 << 20


def expected(spec: LaunchSpec) -> tuple[tuple[object, ...], list[str]]:
    command = apply_deltas(spec, TARGET.deltas(spec)).leader
    return command.argv, [f"{name}={value}" for name, value in sorted(command.env)]


def test_podman_is_handed_the_limits_of_the_launch(tmp_path: Path) -> None:
    spec = h200_shape()
    words = podman_run(TARGET, spec, tmp_path)
    for option, value in {
        "--device": "nvidia.com/gpu=all",
        "--ulimit": "memlock=-1:-1",
        "--shm-size": f"{spec.shared_memory_bytes}b",
        "--publish": "127.0.0.1:8000:8000",
        "-v": "/opt/dayzero/h200-shape/model:/srv/dayzero/model:ro,z",
        "--user": "10001:10001",
        "--cap-drop": "all",
        "--stop-timeout": "180",
        "--stop-signal": "SIGTERM",
        "--health-start-period": "1800s",
        "--health-on-failure": "kill",
    }.items():
        assert values(words, option) == [value], option
    (health,) = values(words, "--health-cmd")
    # Podman reads a list that starts with CMD as a line of words instead.
    assert json.loads(health)[:2] == ["python3", "-c"]
    assert {"--sdnotify=healthy", "--init", f"--memory={spec.memory_bytes}b"} <= set(words)
    assert "--privileged" not in words


@given(spec=launches())
def test_the_generator_hands_on_any_launch_word_for_word(spec: LaunchSpec) -> None:
    service = generator.service(TARGET.render(spec), podman="/usr/bin/podman")
    line = next(text for text in service.split("\n") if text.startswith("ExecStart="))
    assert len(line.encode()) < _LINE_MAX
    words = tuple(
        word.replace("%%", "%").replace("$$", "$") for word in generator.split(line.removeprefix("ExecStart="))
    )
    argv, env = expected(spec)
    assert tuple(json.loads(values(words, "--entrypoint")[0])) == argv
    assert values(words, "--env") == env


def test_an_empty_word_in_exec_would_have_cost_all_behind_it() -> None:
    assert generator.split('--a "" --b c') == ["--a"]


def test_the_image_is_built_by_a_unit_of_its_own_from_the_dockerfile_beside_it() -> None:
    companions = dict(TARGET.companions(plain()))
    assert set(companions) == {FILE_NAME, "demo.build"}
    build = dict(generator.sections(companions["demo.build"])["Build"])
    assert build == {
        "ImageTag": "localhost/demo:built-from-this-kit",
        "File": "/opt/dayzero/demo/Dockerfile",
        "SetWorkingDirectory": "/opt/dayzero/demo",
    }
    assert "\nImage=demo.build\nPull=never\n" in TARGET.render(plain())
    assert TARGET.companions(k3()) == ()


def test_the_start_and_the_stop_are_longer_than_the_budgets_of_the_launch() -> None:
    for spec in (plain(), h200_shape(), k3()):
        service = dict(generator.sections(TARGET.render(spec))["Service"])
        assert int(service["TimeoutStartSec"]) >= spec.budgets.start_s + 600
        assert int(service["TimeoutStopSec"]) > spec.budgets.stop_s


def test_the_start_leaves_time_to_check_the_weights() -> None:
    spec = h200_shape()
    assert isinstance(spec.model, LocalModel)
    size = sum(file.size.count for file in spec.model.files)
    quick = Budgets(start_s=10, stop_s=180, pre_stop_s=15, drain_s=120)
    text = TARGET.render(replace(spec, budgets=quick))
    assert f"TimeoutStartSec={-(-size // 100_000_000)}" in text


@pytest.mark.parametrize("letter", ["\ufffe", "\uffff", "\ufdd0", "\U0001ffff"])
def test_a_noncharacter_that_systemd_drops_is_refused_in_a_value_and_carried_in_a_word(letter: str) -> None:
    with pytest.raises(InputError, match="noncharacter"):
        TARGET.render(launch(env=(("A", letter),)))
    assert TARGET.parse(TARGET.render(launch(letter))).leader.argv[-1] == letter


def test_several_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="starts one node, and the launch takes 2"):
        TARGET.render(k3_two_nodes())


def test_podmans_own_generator_is_asked_where_it_is_installed_and_said_to_be_missing_where_not(tmp_path: Path) -> None:
    (validator,) = TARGET.validators
    file = tmp_path / "demo.container"
    file.write_text(TARGET.render(k3()))
    verdict = ask_validator(validator.command, file, folder_variable=validator.folder_variable)
    if Path(validator.command[0]).exists():
        assert isinstance(verdict, Proven)
    else:
        assert verdict == Undecided(f"{validator.command[0]} is not installed")


def test_a_validator_that_reads_folders_is_told_the_folder(tmp_path: Path) -> None:
    stand_in = tmp_path / "stand-in"
    stand_in.write_text('#!/bin/sh\n[ "$#$QUADLET_UNIT_DIRS" = "1$1" ] && echo "$QUADLET_UNIT_DIRS" >&2 && exit 1\n')
    stand_in.chmod(0o755)
    file = tmp_path / "demo.container"
    verdict = ask_validator((str(stand_in), str(tmp_path)), file, folder_variable="QUADLET_UNIT_DIRS")
    assert isinstance(verdict, Refuted)
    assert verdict.reason.endswith(str(tmp_path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[Container]", "[Container]\nEnvironmentFile=/etc/more"),
        ("[Container]", "[Container]\nEnvironmentHost=yes"),
        ("[Container]", "[Container]\nExec=more"),
        ("[Container]", "[Container]\nImage=other"),
        ("[Container]", "[Kube]"),
        ("[Container]\n", ""),
        ("[Container]", "# hidden \\\n  Environment=A=B"),
        ("[Container]", "[Container]\n  AddCapability=all"),
        ("[Service]", "[Service]\nEnvironment=A=B"),
        ("[Service]", "[Service]\nExecStart=/bin/true"),
        ("PodmanArgs=", "PodmanArgs=--privileged "),
        ("sha256sum --check --quiet --strict", "sha256sum --check"),
        ("ExecStartPre=", "ExecStartPre=-"),
        ('"--no-warmup"]', '"--no-warmup"] more'),
        ('"--no-warmup"]', '"--no-warmup", 1]'),
        ('"--no-warmup"]', "'--no-warmup']"),
        ('"--no-warmup"]', '"--no-warmup$X"]'),
        ('"--no-warmup"]', '"--no-warmup%h"]'),
        ('"--no-warmup"]', '"--no-warmup", \\\n  # "--more"]'),
        ('"--no-warmup"]', '"--no-warmup"] \\'),
        ("Pull=never", "Pull=never \\"),
        ("Entrypoint=[", 'Entrypoint={"a": ['),
        ('"OMP_NUM_THREADS=2"', '"OMP_NUM_THREADS=2" "B=1"'),
        ('"OMP_NUM_THREADS=2"', "OMP_NUM_THREADS=2"),
        ('"OMP_NUM_THREADS=2"', '"OMP_NUM_THREADS=$N"'),
        ('"OMP_NUM_THREADS=2"', '"OMP_NUM_THREADS=%n"'),
        ('"OMP_NUM_THREADS=2"', '"OMP_NUM_THREADS"'),
        ('"OMP_NUM_THREADS=2"', '"\\x4fMP_NUM_THREADS=2"'),
    ],
)
def test_a_unit_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


@pytest.mark.parametrize("name", ["demo.container", "demo.build"])
def test_the_units_of_the_plain_launch_are_the_ones_on_record(name: str) -> None:
    written = {TARGET.file_name(plain()): TARGET.render(plain()), **dict(TARGET.companions(plain()))}
    assert written[name] == (Path(__file__).parent / "rendered" / name).read_text()
