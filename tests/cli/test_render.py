"""``dayzero render`` as a user calls it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.targets.launches import hostile, launch, plain

from dayzero.cli.main import run
from dayzero.core.launch import Command, Delta, LaunchSpec
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.targets import shell
from dayzero.targets.interface import Target, Validator
from dayzero.wiring import deploy, plugins


class LosesTheLastWord:
    """A target with a defect: its file has one word less."""

    name = "lossy"
    validators: tuple[Validator, ...] = ()

    def file_name(self, spec: LaunchSpec) -> str:
        return f"{spec.name}.lossy"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        assert spec
        return (("beside.lossy", ""),)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        assert spec
        return ()

    def render(self, spec: LaunchSpec) -> str:
        return json.dumps(spec.argv[:-1])

    def parse(self, text: str) -> Command:
        return Command(argv=tuple(json.loads(text)), env=())


@pytest.fixture
def launches_from(monkeypatch: pytest.MonkeyPatch) -> Callable[[LaunchSpec], None]:
    return lambda spec: monkeypatch.setattr(deploy, "launch_of", lambda package: {"demo": spec}[package])


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        deploy, "ask_validators", lambda _target, _file: (("judge", Undecided("judge is not installed")),)
    )


@pytest.mark.usefixtures("unchecked")
def test_every_target_is_written_with_what_was_proven_and_what_was_not_checked(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(hostile())
    assert run(["render", "demo", "-o", str(tmp_path / "out")]) == 0
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["Dockerfile", "compose.yaml", "demo.service", "kubernetes.yaml", "serve.sh"]
    words = len(hostile().argv)
    shown = capsys.readouterr().out
    assert shown.count("  proven: ") == 4
    assert f"serve.sh carries {words} argv words and {words - 8} environment entries, equal to the launch" in shown
    assert shown.count("  not checked: judge is not installed") == 4
    assert "  declared difference: --host 0.0.0.0: inside a container" in shown
    assert "  declared difference: argv[0] /opt/dayzero/demo/.venv/bin/python3: systemd starts" in shown
    assert f"beside: {tmp_path / 'out' / 'Dockerfile'}" in shown


@pytest.mark.usefixtures("unchecked")
def test_one_target_can_be_chosen_and_its_script_can_be_run(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path
) -> None:
    launches_from(plain())
    assert run(["render", "demo", "--target", "shell", "-o", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["serve.sh"]
    assert os.access(tmp_path / "serve.sh", os.X_OK)
    assert (tmp_path / "serve.sh").read_text() == shell.TARGET.render(plain())


@pytest.mark.usefixtures("unchecked")
def test_json_says_the_same(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(plain())
    assert run(["render", "demo", "-t", "compose", "-o", str(tmp_path), "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dayzero/render/v1"
    assert document["launch"] == {"name": "demo", "argv_words": 11, "env_entries": 2}
    (file,) = document["files"]
    assert (file["target"], file["path"], file["proven"]) == ("compose", str(tmp_path / "compose.yaml"), True)
    assert [(delta["flag"], delta["value"]) for delta in file["deltas"]] == [("--host", "0.0.0.0")]
    assert file["validators"] == [{"name": "judge", "answer": "not checked", "reason": "judge is not installed"}]
    assert document["companions"] == [str(tmp_path / "Dockerfile")]


@pytest.mark.usefixtures("unchecked")
def test_a_file_that_differs_is_kept_until_force_and_an_equal_one_is_no_obstacle(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(plain())
    command = ["render", "demo", "-o", str(tmp_path)]
    (tmp_path / "serve.sh").write_text("mine")
    assert run(command) == 2
    assert f"a different file is there already: {tmp_path / 'serve.sh'}" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("serve.sh", "mine")]
    assert run([*command, "--force"]) == 0
    assert run(command) == 0


@pytest.mark.usefixtures("unchecked")
def test_a_file_that_does_not_carry_the_launch_is_a_finding_and_is_not_written(
    launches_from: Callable[[LaunchSpec], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launches_from(launch())
    targets: dict[str, Target] = {"lossy": LosesTheLastWord(), "shell": shell.TARGET}
    monkeypatch.setattr(plugins, "target_names", lambda: tuple(targets))
    monkeypatch.setattr(plugins, "target", targets.__getitem__)
    assert run(["render", "demo", "-o", str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["serve.sh"]
    assert (
        "  refuted, not written: argv word 7 differs: the launch has '8080', demo.lossy has nothing"
        in capsys.readouterr().out
    )


def test_a_refusal_of_an_installed_validator_is_a_finding_and_an_acceptance_is_none(
    launches_from: Callable[[LaunchSpec], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launches_from(plain())
    for verdict, code, word in (
        (Proven("judge accepts it"), 0, "accepted: judge accepts it"),
        (Refuted("judge refuses it: line 3"), 1, "refused: judge refuses it: line 3"),
    ):
        answers = (("judge", verdict),)
        monkeypatch.setattr(deploy, "ask_validators", lambda _target, _file, answers=answers: answers)
        assert run(["render", "demo", "-t", "shell", "-o", str(tmp_path)]) == code
        assert f"  {word}\n" in capsys.readouterr().out


def test_an_unknown_target_is_bad_input(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(plain())
    assert run(["render", "demo", "-t", "helm", "-o", str(tmp_path)]) == 2
    assert "no deploy target called 'helm' is installed" in capsys.readouterr().err


def test_a_launch_that_no_file_can_carry_writes_nothing(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(launch("a\x07"))
    assert run(["render", "demo", "-o", str(tmp_path / "out")]) == 2
    assert "control character" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_said(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(plain())
    (tmp_path / "file").write_text("")
    assert run(["render", "demo", "-o", str(tmp_path / "file" / "out")]) == 3
    assert "cannot write" in capsys.readouterr().err
