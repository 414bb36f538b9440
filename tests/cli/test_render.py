"""``dayzero render`` as a user calls it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.targets.launches import hostile, k3, k3_two_nodes, launch, plain

from dayzero.cli.main import run
from dayzero.core.launch import Command, Commands, Delta, LaunchSpec
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.targets import shell
from dayzero.targets.interface import Target, Validator
from dayzero.targets.precondition import SEVERAL_NODES
from dayzero.wiring import deploy, plugins


class LosesTheLastWord:
    """A target with a defect: its file has one word less."""

    name = "lossy"
    validators: tuple[Validator, ...] = ()
    inputs: tuple[str, ...] = ()

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

    def parse(self, text: str) -> Commands:
        return Commands(leader=Command(argv=tuple(json.loads(text)), env=()), checked=True)


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
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"Dockerfile", "compose.yaml", "demo.service", "kubernetes.yaml", "serve.sh", "helm"} <= written
    words = len(hostile().argv)
    shown = capsys.readouterr().out
    assert shown.count("  proven: ") == len(plugins.target_names())
    assert f"serve.sh carries {words} argv words and {words - 8} environment entries, equal to the launch" in shown
    assert shown.count("  not checked: judge is not installed") == len(plugins.target_names())
    assert "  declared difference: --host 0.0.0.0: inside a container" in shown
    assert "  declared difference: argv[0] /opt/dayzero/demo/.venv/bin/python3: systemd starts" in shown
    assert f"beside: {tmp_path / 'out' / 'helm' / 'Chart.yaml'}" in shown
    assert shown.count(f"{tmp_path / 'out' / 'Dockerfile'}\n") == 1


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
    assert document["launch"] == {"name": "demo", "argv_words": 11, "env_entries": 2, "nodes": 1}
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
    command = ["render", "demo", "-t", "shell", "-o", str(tmp_path)]
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
    assert run(["render", "demo", "-t", "nomad", "-o", str(tmp_path)]) == 2
    assert "no deploy target called 'nomad' is installed" in capsys.readouterr().err


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
    assert run(["render", "demo", "-o", str(tmp_path / "file" / "out")]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert run(["render", "demo", "-o", str(tmp_path / "file")]) == 2
    assert run(["render", "demo", "-o", "/proc/none/out"]) == 3
    assert "hint: Choose another folder with -o." in capsys.readouterr().err


@pytest.mark.usefixtures("unchecked")
def test_a_limit_of_one_format_leaves_the_others_written(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(launch(env=(("PATH", "/x"),)))
    assert run(["render", "demo", "-o", str(tmp_path)]) == 0
    assert (
        "shell: not written: serve.sh cannot set what bash or its own environment sets: PATH\n"
        in capsys.readouterr().out
    )
    assert (tmp_path / "compose.yaml").exists()
    assert run(["render", "demo", "-t", "shell", "-o", str(tmp_path)]) == 2


@pytest.mark.usefixtures("unchecked")
def test_a_file_of_an_earlier_launch_that_this_one_has_no_place_for_is_named_and_kept(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(plain())
    assert run(["render", "demo", "-o", str(tmp_path)]) == 0
    assert "warning" not in capsys.readouterr().err
    before = (tmp_path / "serve.sh").read_bytes()
    launches_from(launch(env=(("PATH", "/x"),)))
    assert run(["render", "demo", "-o", str(tmp_path), "--force"]) == 0
    assert f"warning: not of this launch, and left as they are: {tmp_path / 'serve.sh'}" in capsys.readouterr().err
    assert (tmp_path / "serve.sh").read_bytes() == before


def test_a_launch_that_each_target_has_a_reason_against_is_refused_with_all_of_them(
    launches_from: Callable[[LaunchSpec], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launches_from(launch(env=(("PATH", "/x"),)))
    monkeypatch.setattr(plugins, "target_names", lambda: ("shell", "skypilot"))
    assert run(["render", "demo", "-o", str(tmp_path / "out")]) == 2
    assert "no deploy target can carry this launch: shell: serve.sh cannot" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("unchecked")
def test_a_launch_on_several_nodes_is_written_where_it_can_be_and_the_others_say_why_not(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(k3_two_nodes())
    assert run(["render", "demo", "-o", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("  proven: ") == len(SEVERAL_NODES)
    assert "compose: not written: this kind of file starts one node, and the launch takes 2\n" in shown
    assert "other nodes: --nnodes 2 --master-addr <leader address> --node-rank <node rank> --headless" in shown
    assert not (tmp_path / "compose.yaml").exists()
    assert run(["render", "demo", "-t", "compose", "-o", str(tmp_path)]) == 2
    assert f"Use one of the targets that carry several: {', '.join(SEVERAL_NODES)}." in capsys.readouterr().err
    assert run(["render", "demo", "-o", str(tmp_path), "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {one["target"] for one in document["not_carried"]} == set(plugins.target_names()) - set(SEVERAL_NODES)
    words = document["files"][0]["deltas"][-1]
    assert words["worker"][3:] == [
        {"placeholder": "leader address"},
        "--node-rank",
        {"placeholder": "node rank"},
        "--headless",
    ]


@pytest.mark.usefixtures("unchecked")
def test_what_only_the_site_knows_is_given_and_shown(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(k3())
    command = ["render", "demo", "-t", "systemd", "-o", str(tmp_path)]
    assert run([*command, "--site", "cache=/mnt/hub", "--site", "user=serving"]) == 0
    shown = capsys.readouterr().out
    assert "  input: cache: /mnt/hub (--site cache=VALUE)\n  input: user: serving (--site user=VALUE)\n" in shown
    unit = (tmp_path / "kimi-k3.service").read_text()
    assert "User=serving\nReadWritePaths=/mnt/hub\n" in unit
    assert 'Environment="HF_HOME=/mnt/hub"' in unit


@pytest.mark.parametrize(
    ("site", "reason"),
    [
        (("cash=/mnt",), "--site 'cash=/mnt' is not NAME=VALUE of a site"),
        (("cache",), "--site 'cache' is not NAME=VALUE of a site"),
        (("cache=/a", "cache=/b"), "--site 'cache=/b' is given twice"),
        (("cache=~/hub",), "not a value of the site's cache that every deploy file can hold: '~/hub'"),
        (("namespace=mine",), "no file of this launch reads the site's namespace"),
    ],
)
def test_a_site_that_would_change_nothing_or_is_no_site_is_bad_input(
    site: tuple[str, ...],
    reason: str,
    launches_from: Callable[[LaunchSpec], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    launches_from(k3())
    given = [word for text in site for word in ("--site", text)]
    assert run(["render", "demo", "-t", "shell", "-o", str(tmp_path / "out"), *given]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("unchecked")
def test_an_input_that_this_launch_does_not_read_is_not_shown(
    launches_from: Callable[[LaunchSpec], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    launches_from(plain())
    assert run(["render", "demo", "-t", "shell", "-o", str(tmp_path)]) == 0
    assert "input:" not in capsys.readouterr().out
