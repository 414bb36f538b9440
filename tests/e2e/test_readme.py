"""The README stays true: its numbers, its commands and its links; that the demo prints what it shows is in test_demo.py."""

import json
import re
from pathlib import Path

from tests.e2e.conftest import Run

ROOT = Path(__file__).parents[2]


def test_every_number_in_the_repositorys_pages_is_backed(dayzero: Run):
    done = dayzero("evidence", "check", "--output-format", "json", cwd=ROOT)
    report = json.loads(done.stdout)
    assert report["findings"] == [], json.dumps(report["findings"], indent=1)
    assert done.returncode == 0


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


def test_every_page_of_the_docs_is_reached_from_the_readme():
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)#]+?\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        led_to = {(page.parent / link).resolve() for link in links if "://" not in link}
        waiting += led_to - reached - set(waiting)
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert [str(page.relative_to(ROOT)) for page in pages if page not in reached] == []
