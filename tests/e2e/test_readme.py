"""The README stays true: its output is a raw file, and the demo still prints the same story."""

import json
import re
from pathlib import Path

import pytest
from tests.e2e.conftest import Run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!--raw [0-9a-f]{64} lines 1-\d+-->\n```text\n(.*?)```\n<!--/raw-->", re.DOTALL)


def story(text: str) -> list[str]:
    """Leave out what differs from run to run and from machine to machine: digits, key ids and the spacing around them."""
    without_ids = re.sub(r"\b[0-9a-f]{16}\b", "ID", text)
    masked = re.sub(r"\d+(?:\.\d+)?", "N", without_ids)
    units = re.sub(r"\b(?:KiB|MiB|GiB)\b", "SIZE", masked)
    return [" ".join(line.split()) for line in units.strip().splitlines()]


def test_every_number_in_the_repositorys_pages_is_backed(dayzero: Run):
    done = dayzero("evidence", "check", "--output-format", "json", cwd=ROOT)
    report = json.loads(done.stdout)
    assert report["findings"] == [], json.dumps(report["findings"], indent=1)
    assert done.returncode == 0


@pytest.mark.engine
def test_the_demo_prints_what_the_readme_shows(tiny_demo):
    (shown,) = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    _, done = tiny_demo
    assert story(done.stdout) == story(shown)


def test_every_make_verb_and_command_that_the_readme_names_exists():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = set(re.findall(r"make ([a-z-]+)", text))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert verbs
    assert verbs <= targets


def test_every_link_in_the_readme_and_the_docs_leads_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []
