"""What the pages tell a reader to type exists: every command, and every option given to it."""

import contextlib
import io
import re
from functools import cache
from pathlib import Path

import pytest

from dayzero.cli.commands import COMMANDS
from dayzero.cli.main import run
from dayzero_verify import cli as verifier
from dayzero_verify.report import CHECKS, ExitCode

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
GROUPS = {"evidence", "kit", "keys", "catalog", "gate", "market", "perfdb"}
TYPED = re.compile(r"(?:^|[ `$/(])dayzero ((?:[a-z][a-z-]*)(?: [^`\n|]*)?)")


def typed() -> list[tuple[str, str]]:
    """Find each ``dayzero ...`` inside a code span or a fenced block."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for code in re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL):
            found += [(str(page.relative_to(ROOT)), words) for words in TYPED.findall(code)]
    return found


@cache
def help_of(words: tuple[str, ...]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run([*words, "--help"]) == 0
    return out.getvalue()


def test_the_pages_show_commands_at_all():
    assert len(typed()) > 25


@pytest.mark.parametrize(("page", "words"), sorted(set(typed())))
def test_a_command_that_a_page_shows_exists_with_its_options(page, words):
    command, *rest = words.partition(" -- ")[0].split()  # what follows is another program's
    if command in {"demo", "help"} and not rest:
        return
    assert command in {entry.name for entry in COMMANDS}, f"{page}: dayzero {words}"
    names = (command, rest[0]) if command in GROUPS and rest and re.fullmatch(r"[a-z-]+", rest[0]) else (command,)
    shown = help_of(names)
    options = [word.split("=")[0] for word in rest if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)]
    assert [option for option in options if option not in shown and option != "--help"] == [], (
        f"{page}: dayzero {words}"
    )


def test_the_verifiers_page_has_every_check_option_and_exit_code(capsys: pytest.CaptureFixture[str]):
    page = (ROOT / "verifier" / "README.md").read_text(encoding="utf-8")
    assert verifier.run(["--help"]) == 0
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help", "--version"}
    assert len(options) > 15
    assert sorted(option for option in options if not re.search(rf"`{option}[ `]", page)) == []
    assert [check for check in CHECKS if f"| `{check}` | " not in page] == []
    codes = re.findall(r"^\| (\d+) \| ", page.split("## Exit codes")[1], re.MULTILINE)
    assert [int(code) for code in codes] == sorted(ExitCode)


def test_every_schema_that_the_code_writes_is_documented():
    source = "".join(
        file.read_text(encoding="utf-8") for part in ("src", "verifier/src") for file in (ROOT / part).rglob("*.py")
    )
    schemas = set(re.findall(r"dayzero/[a-z-]+/v\d+", source))
    reference = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    assert len(schemas) > 10
    assert sorted(schema for schema in schemas if schema not in reference) == []
