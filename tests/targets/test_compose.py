"""What ``compose.yaml`` says to readers other than dayzero."""

import json
from pathlib import Path

import pytest
import yaml
from tests.targets.foreign import ask, program
from tests.targets.launches import hostile, launch, plain

from dayzero.core.launch import LaunchSpec
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.compose import TARGET
from dayzero.targets.proof import prove_commands

IMAGE = "registry.test/engine@sha256:" + "a" * 64
SPECS = {"plain": plain(), "hostile": hostile(), "gpus": launch(accelerators=8), "image": launch(image=IMAGE)}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_schema_of_the_compose_specification_accepts_the_file(tmp_path: Path, spec: LaunchSpec) -> None:
    (validator,) = TARGET.validators
    file = tmp_path / "compose.yaml"
    file.write_bytes(TARGET.render(spec).encode())
    done = ask(program(validator.name), *validator.command[1:], str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_is_not_blind(tmp_path: Path) -> None:
    (validator,) = TARGET.validators
    file = tmp_path / "compose.yaml"
    file.write_text(TARGET.render(plain()).replace("stop_grace_period", "stop_grace_perio"))
    assert ask(program(validator.name), *validator.command[1:], str(file)).returncode == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    init: true\n", '    init: true\n    env_file: "more.env"\n'),
        ("    init: true\n", '    init: true\n    extends: {service: "other"}\n'),
        ('      - "ENGINE_LOG=info"\n', '      - "ENGINE_LOG"\n'),
        ('      - "ENGINE_LOG=info"\n', '      - "ENGINE_LOG=$LOG"\n'),
        ('      - "ENGINE_LOG=info"\n', "      - ENGINE_LOG=info\n"),
        ('      - "2048"\n', "      - 2048\n"),
        ('      - "2048"\n', '      - "${SIZE:-2048}"\n'),
        ('      - "--strict"\n', ""),
        ('    entrypoint:\n      - "python3"\n', '    entrypoint:\n      - "nice"\n      - "python3"\n'),
        ('    entrypoint:\n      - "python3"\n', ""),
        ("services:\n", 'include:\n  - "more.yaml"\nservices:\n'),
        ("  engine:\n", "  sidecar:\n    init: true\n  engine:\n"),
        ("  engine:\n", "  engine: &e\n    init: true\n"),
        ('name: "demo"\n', 'name: "demo"\n---\n'),
    ],
)
def test_a_file_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def _engine(spec: LaunchSpec) -> dict[str, object]:
    engine: dict[str, object] = yaml.safe_load(TARGET.render(spec))["services"]["engine"]
    return engine


def test_only_this_machine_reaches_the_published_port() -> None:
    assert _engine(plain())["ports"] == ["127.0.0.1:8080:8080"]


def test_budgets_and_memory_come_from_the_launch() -> None:
    engine = _engine(plain())
    assert engine["healthcheck"]["start_period"] == "95s"  # type: ignore[index]
    assert engine["stop_grace_period"] == "30s"
    assert engine["mem_limit"] == f"{512 * 1024**2}b"


def test_the_weights_are_checked_before_the_engine_and_mounted_for_reading_only() -> None:
    engine = _engine(plain())
    assert engine["depends_on"] == {"check-weights": {"condition": "service_completed_successfully"}}
    assert all(volume["read_only"] for volume in engine["volumes"])  # type: ignore[attr-defined]


def test_gpus_are_reserved_only_where_the_launch_takes_some() -> None:
    assert "deploy" not in _engine(plain())
    devices = json.dumps(_engine(launch(accelerators=8))["deploy"])
    assert '"count": 8' in devices


def test_a_pinned_image_is_not_built() -> None:
    engine = _engine(launch(image=IMAGE))
    assert engine["image"] == IMAGE
    assert "build" not in engine


def test_the_file_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / "compose.yaml").read_text()
