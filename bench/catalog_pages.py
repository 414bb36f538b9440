"""Give other site generators as many pages to build, with the same words on them."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

_BLOCKS: Final = {"p", "li", "tr", "h1", "h2", "h3", "dt", "dd", "pre", "figure", "summary"}
_MKDOCS: Final = "site_name: catalog\nplugins: []\nuse_directory_urls: true\n"
_PELICAN: Final = """
SITENAME = "catalog"
SITEURL = ""
RELATIVE_URLS = True
TIMEZONE = "UTC"
PAGE_PATHS = ["pages"]
ARTICLE_PATHS = ["articles"]
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
DIRECT_TEMPLATES = []
DISPLAY_PAGES_ON_MENU = False
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A generator that is installed: its folder of inputs, and the words that build them."""

    name: str
    words: tuple[str, ...]
    output: Path


class _Words(HTMLParser):
    """Takes the main part of a page apart into blocks of text."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = [""]
        self.inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (the parser's)
        self.inside += tag == "main"
        if tag in _BLOCKS:
            self.blocks.append("# " if tag == "h1" else "## " if tag in {"h2", "h3"} else "")

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "main"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.blocks[-1] += data


def markdown(page: str) -> tuple[str, str]:
    """Give a page's title and its words as Markdown, one paragraph a block."""
    reader = _Words()
    reader.feed(page)
    blocks = (re.sub(r"\s+", " ", block).strip() for block in reader.blocks)
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    return (title[1].replace("\n", " ") if title else "page"), "\n\n".join(
        block for block in blocks if block.strip("# ")
    )


def peers(site: Path, folder: Path, installed: Path) -> Mapping[str, Peer | None]:
    """Lay the words of a built site out for each generator; ``None`` for one that is not installed."""
    found = {name: installed / name / "bin" / name for name in ("mkdocs", "pelican")}
    texts = [markdown(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))]
    return {
        "mkdocs": _mkdocs(folder / "mkdocs", found["mkdocs"], texts) if found["mkdocs"].exists() else None,
        "pelican": _pelican(folder / "pelican", found["pelican"], texts) if found["pelican"].exists() else None,
    }


def _mkdocs(folder: Path, program: Path, texts: Sequence[tuple[str, str]]) -> Peer:
    (folder / "docs").mkdir(parents=True)
    navigation = []
    for number, (title, words) in enumerate(texts):
        (folder / "docs" / f"p{number:06}.md").write_text(f"---\ntitle: {title!r}\n---\n\n{words}\n", encoding="utf-8")
        navigation.append(f"  - p{number:06}.md")
    # One entry, for a menu of every page on every page grows with the square of their number, which no catalog would do.
    (folder / "mkdocs.yml").write_text(f"{_MKDOCS}nav:\n{navigation[0]}\nvalidation: {{omitted_files: ignore}}\n")
    words = (str(program), "build", "--quiet", "-f", str(folder / "mkdocs.yml"), "-d", str(folder / "out"))
    return Peer("mkdocs", words, folder / "out")


def _pelican(folder: Path, program: Path, texts: Sequence[tuple[str, str]]) -> Peer:
    for name in ("pages", "articles"):
        (folder / "content" / name).mkdir(parents=True)
    for number, (title, words) in enumerate(texts):
        head = f"Title: {title}\nSlug: p{number:06}\n\n"
        (folder / "content" / "pages" / f"p{number:06}.md").write_text(head + words + "\n", encoding="utf-8")
    (folder / "settings.py").write_text(_PELICAN)
    words = (str(program), str(folder / "content"), "-q", "-s", str(folder / "settings.py"), "-o", str(folder / "out"))
    return Peer("pelican", words, folder / "out")


def version(installed: Path, name: str) -> str:
    """Say which release of a generator is installed."""
    words = [
        str(installed / name / "bin" / "python"),
        "-c",
        f"from importlib.metadata import version; print(version('{name}'))",
    ]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
