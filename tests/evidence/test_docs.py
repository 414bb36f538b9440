"""The pages about evidence pass the check that they describe, and their examples run."""

import re
import shlex
import textwrap
from pathlib import Path
from typing import get_args

import pytest
from tests.evidence.samples import off_claim, retraction

from dayzero.cli.main import run
from dayzero.evidence.citation import UNITS, Page
from dayzero.evidence.derive import RULES
from dayzero.evidence.locator import Locator
from dayzero.evidence.model import Concern, Correction, Derived, Expiry, Explanation, Reaffirmation, Record, Uncitable
from dayzero.evidence.pages import read_page
from dayzero.evidence.report import Kind
from dayzero.evidence.wire import to_wire
from dayzero.wiring import plugins

_DOCS = Path(__file__).parents[2] / "docs"
_PAGES = (
    "reference/evidence.md",
    "how-to/publish-a-number.md",
    "how-to/retract-a-number.md",
    "how-to/use-it-in-my-repository.md",
    "reference/evidence-toml.md",
    "explanation/evidence.md",
)
_EVENTS: tuple[type[Correction | Concern | Reaffirmation | Expiry], ...] = (Correction, Concern, Reaffirmation, Expiry)
_OTHERS: tuple[Record, ...] = (
    Derived(slug="a", label="", value="1", unit="", rule="sum@1", inputs=("b", "c"), decimals=0),
    Explanation(slug="a", statement="x", facts=("b",)),
    Uncitable(slug="a", topic="x", why="y"),
    *(event(slug="a", reason="x", at="2026-08-02T09:00:00Z") for event in _EVENTS),
)


@pytest.mark.parametrize("name", _PAGES)
def test_the_page_passes_the_check_that_it_describes(name: str):
    reading = read_page(Page(path=name, content=(_DOCS / name).read_bytes()))
    assert (reading.bare, reading.malformed, reading.citations, reading.blocks) == ((), (), (), ())


def test_the_command_of_publishing_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    page = (_DOCS / "how-to/publish-a-number.md").read_text()
    block = re.findall(r"```console\n(.*?)```", page, re.DOTALL)[0].replace("\\\n", "")
    typed, _, shown = textwrap.dedent(block).partition("\n")
    monkeypatch.chdir(tmp_path)
    Path("run.log").write_text("started\nsingle stream p50 140.30 tok/s\n")
    assert run(shlex.split(typed.removeprefix("$ dayzero"))) == 0
    printed = capsys.readouterr().out
    assert shown.strip() in printed
    (citation,) = re.findall(r"`(<!--claim.*?/claim-->)`", page)
    assert citation in printed


def test_the_example_of_publishing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    page = (_DOCS / "how-to/publish-a-number.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("run.log").write_text("started\nsingle stream p50 140.30 tok/s\n")
    exec(compile(textwrap.dedent(example), "publish-a-number.md", "exec"), {})  # noqa: S102  (it is our own page)
    printed = capsys.readouterr().out.strip()
    assert f"`{printed}`" in page
    Path("README.md").write_text(f"Fast: {printed}.\n")
    assert run(["evidence", "check"]) == 0
    Path("README.md").write_text(f"Fast: {printed.replace('140.30', '140.3')}.\n")
    assert run(["evidence", "check"]) == 1


def test_the_reference_names_every_unit_finding_and_record():
    page = (_DOCS / "reference/evidence.md").read_text()
    for word in (*UNITS, *(kind.value for kind in Kind)):
        assert f"`{word}`" in page
    for record in (off_claim(), retraction("a"), *_OTHERS):
        name, body = to_wire(record)
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` | `slug`")]
        assert all(f"`{key}`" in row for key in body)


def test_the_reference_names_every_locator_rule_and_extractor():
    page = (_DOCS / "reference/evidence.md").read_text()
    for locator in (kind.__name__.removesuffix("Locator").lower() for kind in get_args(Locator)):
        assert f"| `{'file' if locator == 'wholefile' else locator}` |" in page
    for name in (*RULES, *plugins.extractors()):
        assert f"| `{name}` |" in page
