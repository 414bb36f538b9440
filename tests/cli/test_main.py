import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from dayzero.cli import main
from dayzero.cli.commands import COMMANDS
from dayzero.core.errors import EvidenceError, InputError, IntegrityError, RemoteError


def test_the_overview_names_every_command_and_every_exit_code(capsys):
    assert main.run(["--help"]) == 0
    printed = capsys.readouterr().out
    assert [entry.name for entry in COMMANDS if not re.search(rf"^  {entry.name} ", printed, re.MULTILINE)] == []
    assert "0 proven or done, 1 findings, 2 usage or bad input, 3 undecided or remote failure, 4 integrity" in printed


def test_the_overview_loads_neither_the_command_line_library_nor_any_part():
    code = (
        "import sys; from dayzero.cli.main import run; run(['--help']);"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in {'cyclopts', 'rich', 'httpx', 'numpy', 'msgspec', 'jinja2'}"
        " or m.startswith('dayzero.wiring')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_words_at_all_is_a_question_of_usage(capsys):
    assert main.run([]) == 2
    assert "dayzero demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "hint"), [("audti", "Did you mean 'dayzero audit'?"), ("xyz", "See 'dayzero --help' for the commands.")]
)
def test_an_unknown_command_is_answered_with_the_nearest_one(capsys, word, hint):
    assert main.run([word]) == 2
    assert capsys.readouterr().err == f"error: no command '{word}'\nhint: {hint}\n"


def test_a_missing_argument_and_an_unknown_option_point_to_the_commands_help(capsys):
    for words in (["audit"], ["audit", "demo-smollm2", "--colour", "red"]):
        assert main.run(words) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert "hint: Try 'dayzero audit --help'." in said


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_loads_and_explains_itself(capsys, entry):
    module, _, name = entry.home.partition(":")
    assert hasattr(import_module(module), name)
    assert main.run([entry.name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"Usage: dayzero {entry.name}")
    assert "[/" not in printed


@pytest.mark.parametrize(
    ("family", "code"), [(InputError, 2), (RemoteError, 3), (IntegrityError, 4), (EvidenceError, 1)]
)
def test_each_family_of_errors_has_its_exit_code_and_says_what_to_do(capsys, monkeypatch, family, code):
    def fail(_argv: object) -> int:
        raise family("it broke", hint="Mend it.")

    monkeypatch.setattr(main, "_dispatch", fail)
    assert main.run(["audit"]) == code
    assert capsys.readouterr().err == "error: it broke\nhint: Mend it.\n"


def test_an_unknown_package_names_those_that_there_are(capsys):
    assert main.run(["audit", "no-such-package"]) == 2
    there = sorted(file.parent.name for file in (Path(__file__).parents[2] / "packages").glob("*/package.toml"))
    assert f"Give a folder, or one of: {', '.join(there)}." in capsys.readouterr().err


def test_a_build_that_the_package_does_not_pin_is_bad_input(capsys):
    assert main.run(["audit", "demo-kimi-k3-tiny", "--engine", "xllamacpp==1.0"]) == 2
    assert "Use one of: xllamacpp==2026.10.11549, xllamacpp==2026.8.10229." in capsys.readouterr().err


def test_a_folder_that_holds_an_earlier_run_is_never_written_into(capsys, tmp_path: Path):
    (tmp_path / "engine.log").write_text("evidence")
    assert main.run(["serve", "demo-kimi-k3-tiny", "-o", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "engine.log").read_text() == "evidence"
