"""A repository that is not this one: a README, two result files, a config of ten lines; and the how-to that follows it."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

_HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "use-it-in-my-repository.md"
_DAYZERO = (sys.executable, "-m", "dayzero")


def _blocks(language: str) -> list[str]:
    """Give the page's fenced blocks of a language, in order, without their indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", _HOW_TO.read_text(), re.DOTALL | re.MULTILINE)
    return ["".join(line.removeprefix(indent) for line in body.splitlines(keepends=True)) for indent, body in found]


def _run(root: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([*_DAYZERO, *words], cwd=root, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the sample as the how-to tells it, by its own commands."""
    root = tmp_path_factory.mktemp("sample")
    (root / "results").mkdir()
    results = iter(_blocks("text"))
    (root / "results" / "latency.json").write_text(next(results))
    (root / "results" / "load.log").write_text(next(results))
    (config,) = _blocks("toml")
    (root / "evidence.toml").write_text(config)
    assert len([line for line in config.splitlines() if line.strip()]) <= 10
    for command in _commands(_blocks("console")[0]):
        code, said = _run(root, *command)
        assert code == 0, said
    (page,) = _blocks("markdown")
    (root / "README.md").write_text(page)
    return root


@pytest.fixture
def sample(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "sample")
    return tmp_path / "sample"


def _commands(block: str) -> list[list[str]]:
    typed = re.findall(r"^\$ dayzero (.*)$", block.replace("\\\n", " "), re.MULTILINE)
    return [shlex.split(words) for words in typed]


def test_the_sample_passes_its_check(sample: Path):
    code, said = _run(sample, "evidence", "check")
    assert code == 0
    assert said == snapshot("""\
proven: every claim that stands was extracted or computed again, and every citation says what it says
checked: 2 standing claims, 2 raw files, 1 page, 2 citations, 0 quoted blocks
""")


def test_a_stale_number_is_found_with_its_line_and_passes_when_it_is_mended(sample: Path):
    _edit(sample / "README.md", "-->41.7 ms", "-->38.2 ms")
    code, said = _run(sample, "evidence", "check")
    assert code == 1
    line = next(n for n, text in enumerate((sample / "README.md").read_text().splitlines(), 1) if "38.2 ms" in text)
    assert said.startswith(f"README.md:{line}: the page says '38.2 ms', the claim cache/p50 says '41.7 ms'")
    _edit(sample / "README.md", "-->38.2 ms", "-->41.7 ms")
    assert _run(sample, "evidence", "check")[0] == 0


def test_a_number_that_was_typed_is_found_with_its_line(sample: Path):
    with (sample / "README.md").open("a") as page:
        page.write("\nUp to 1500 req/s.\n")
    code, said = _run(sample, "evidence", "check")
    line = len((sample / "README.md").read_text().splitlines())
    assert (code, said.partition(" [")[0]) == (
        1,
        f"README.md:{line}: '1500 req/s' cites no claim, and nothing says that it is none",
    )


def test_a_result_file_that_was_edited_where_it_lies_is_found_with_every_line_that_prints_it(sample: Path):
    _edit(sample / "results" / "latency.json", "41.7", "38.2")
    code, said = _run(sample, "evidence", "check")
    assert code == 1
    assert said.startswith("results/latency.json: the raw file results/latency.json was changed: its SHA-256 is")
    assert "\n    see README.md:3\n" in said
    (sample / "results" / "latency.json").unlink()
    code, said = _run(sample, "evidence", "check")
    assert code == 1
    assert said.startswith("results/latency.json: the raw file results/latency.json is gone [raw-missing]")


def test_a_topic_on_which_nothing_is_said_is_found_with_its_line_in_the_config(sample: Path):
    with (sample / "evidence.toml").open("a") as config:
        config.write('\n[[topic]]\nname = "memory"\nclaims = "cache/memory"\n')
    code, said = _run(sample, "evidence", "check")
    line = (sample / "evidence.toml").read_text().splitlines().index('name = "memory"')
    assert code == 1
    assert said.startswith(f"evidence.toml:{line}: the topic 'memory' is neither measured")
    assert _run(sample, "evidence", "not-measured", "memory", "--why", "no counter was read")[0] == 0
    assert _run(sample, "evidence", "check")[0] == 0


def test_a_config_that_is_wrong_is_said_with_file_line_and_key(sample: Path):
    _edit(sample / "evidence.toml", "pages", "page")
    code, said = _run(sample, "evidence", "check")
    assert code == 2
    assert said.startswith("error: evidence.toml:1: page: Object contains unknown field `page`\nhint: ")


def test_a_page_that_the_config_names_and_that_is_not_there_is_not_passed_over(sample: Path):
    (sample / "README.md").rename(sample / "READYOU.md")
    code, said = _run(sample, "evidence", "check")
    assert (code, said.partition("\n")[0]) == (2, "error: evidence.toml names the page README.md, which is not there")


def test_what_git_leaves_out_of_the_repository_is_found(sample: Path):
    subprocess.run(["git", "init", "-q", str(sample)], check=True)
    assert _run(sample, "evidence", "check")[0] == 0
    (sample / ".gitignore").write_text("*.json\n")
    code, said = _run(sample, "evidence", "check")
    assert code == 1
    assert said.startswith("results/latency.json: git ignores the raw file results/latency.json")
    (sample / ".gitignore").write_text("*\n")
    assert _run(sample, "evidence", "check")[0] == 0, "a scratch folder, which git is to leave out as a whole"


def test_the_check_is_the_same_from_outside(sample: Path):
    code, said = _run(sample.parent, "evidence", "check", str(sample))
    assert code == 0
    assert "2 standing claims" in said


def test_a_ledger_with_half_a_record_is_said_and_goes_on(sample: Path):
    with (sample / "evidence" / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"body":{')
    code, said = _run(sample, "evidence", "check")
    assert code == 1
    assert "the last line was not written to its end and is set aside" in said
    code, said = _run(sample, "evidence", "not-measured", "memory", "--why", "no counter was read")
    assert (code, "moved to evidence/ledger.torn-1" in said) == (0, True)
    assert _run(sample, "evidence", "check")[0] == 0


def test_the_how_to_shows_what_the_check_prints(sample: Path):
    (check,) = [block for block in _blocks("console") if "evidence check" in block]
    assert _run(sample, "evidence", "check")[1].startswith(check.partition("\n")[2])
    _edit(sample / "README.md", "-->41.7 ms", "-->38.2 ms")
    assert _run(sample, "evidence", "check")[1].startswith(_blocks("text")[2])
