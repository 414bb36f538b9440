"""Read published pages, and write the citations that they carry."""

from html import escape
from pathlib import PurePath

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.citation import Malformed, Page, Reading, on_line
from dayzero.evidence.html_page import read_html
from dayzero.evidence.locate import lines_between
from dayzero.evidence.markdown_page import read_markdown
from dayzero.evidence.model import Claim

_READERS = {".md": read_markdown, ".markdown": read_markdown, ".html": read_html, ".htm": read_html}


def read_page(page: Page) -> Reading:
    """Find what a page says with numbers.

    Raises:
        InputError: It is neither Markdown nor HTML.
    """
    reader = _READERS.get(PurePath(page.path).suffix.lower())
    if reader is None:
        raise InputError(
            f"{page.path} is neither Markdown nor HTML", hint=f"Name a file that ends in {', '.join(_READERS)}."
        )
    try:
        return reader(page)
    except UnicodeDecodeError as error:
        line = page.content.count(b"\n", 0, error.start) + 1
        return Reading(malformed=(Malformed(reason="the page is not UTF-8", place=on_line(page.path, line)),))


def cite_markdown(claim: Claim) -> str:
    """Write a claim for Markdown, so that the check finds it again."""
    return f"<!--claim {claim.slug}-->{claim.text}<!--/claim-->"


def cite_html(claim: Claim) -> str:
    """Write a claim for HTML, so that the check finds it again."""
    return f'<data data-claim="{escape(claim.slug)}" value="{escape(claim.value)}">{escape(claim.text)}</data>'


def quote_markdown(digest: Sha256, raw: bytes, first: int, last: int) -> str:
    """Quote lines of a raw file for Markdown, in a fence longer than any run of backticks in them.

    Raises:
        EvidenceError: The file has no such lines.
    """
    text = b"\n".join(lines_between(raw, first, last)).decode("utf-8")
    fence = "```"
    while fence in text:
        fence += "`"
    return f"<!--raw {digest} lines {first}-{last}-->\n{fence}text\n{text}\n{fence}\n<!--/raw-->"
