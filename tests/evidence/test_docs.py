"""The pages about evidence pass the check that they describe, and their examples run."""

import re
import textwrap
from pathlib import Path

import pytest
from tests.evidence.samples import off_claim, retraction

from dayzero.cli.main import run
from dayzero.evidence.citation import UNITS, Page
from dayzero.evidence.model import Record
from dayzero.evidence.pages import read_page
from dayzero.evidence.report import Kind
from dayzero.evidence.wire import to_wire

_DOCS = Path(__file__).parents[2] / "docs"
_PAGES = (
    "reference/evidence.md",
    "how-to/publish-a-number.md",
    "how-to/retract-a-number.md",
    "explanation/evidence.md",
)


@pytest.mark.parametrize("name", _PAGES)
def test_the_page_passes_the_check_that_it_describes(name: str):
    reading = read_page(Page(path=name, content=(_DOCS / name).read_bytes()))
    assert (reading.bare, reading.malformed, reading.citations, reading.blocks) == ((), (), (), ())


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
    records: tuple[Record, ...] = (off_claim(), retraction("a"))
    for record in records:
        name, body = to_wire(record)
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` | `slug`")]
        assert all(f"`{key}`" in row for key in body)
