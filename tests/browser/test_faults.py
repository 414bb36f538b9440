"""Each check sees the fault that it is for, on a page where nothing else is wrong."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.atom import feed_faults
from tests.browser.checks import barriers, html_faults, keyboard_faults, skip_link_faults, width_faults
from tests.browser.window import NARROW, Window, window

from dayzero.adapters.site.server import serve

pytestmark = pytest.mark.browser

SOUND = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A page</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
</head>
<body>
<a href="#main">Skip to content</a>
<main id="main">
<h1>A page</h1>
<p>It says <a href="index.html">something</a>.</p>
<form action="index.html"><label>Words <input name="q"></label> <button>Find</button></form>
</main>
</body>
</html>
"""
STYLE = """
body { color: #111; background: #fff } a { color: #00429d } :focus-visible { outline: 2px solid #00429d }
.wide { width: 100rem } .pale { color: #bbb } .unmarked:focus-visible { outline: none } .away { position: fixed; left: -99rem }
"""


def all_of(shown: Window, axe: str) -> list[str]:
    page = shown.open("index.html")
    page.wait_for_load_state("load")
    found = [*barriers(page, axe), *keyboard_faults(page), *width_faults(page)]
    return [*found, *shown.complaints, *(f"asked elsewhere: {url}" for url in shown.elsewhere)]


def seen(browser: Browser, axe: str, folder: Path, page: str) -> list[str]:
    (folder / "index.html").write_text(page)
    (folder / "style.css").write_text(STYLE)
    with serve(folder, host="127.0.0.1", port=0) as address, window(browser, address, width=NARROW) as shown:
        return all_of(shown, axe)


def test_a_sound_page_has_no_fault(browser, axe, checker, folder_of_pages):
    assert seen(browser, axe, folder_of_pages, SOUND) == []
    assert html_faults(checker, folder_of_pages) == []
    with serve(folder_of_pages, host="127.0.0.1", port=0) as address, window(browser, address) as shown:
        assert skip_link_faults(shown.open("index.html")) == []


@pytest.mark.parametrize(
    "fault",
    [
        ('<label>Words <input name="q"></label>', '<input name="q">', "label (critical)"),
        ("<h1>", "<p style='color: red'>red</p><h1>", "Content Security Policy"),
        ("<h1>", '<img src="https://example.org/a.png" alt="A picture"><h1>', "asked elsewhere: https://example.org/a"),
        ("<h1>", "<script>document.title = 'Other'</script><h1>", "Content Security Policy"),
        ("<h1>", '<img src="absent.png" alt="A picture"><h1>', "404 for"),
        ("<h1>", '<p class="wide">wide</p><h1>', "sticks out: p.wide"),
        ("<h1>", '<p class="pale">pale</p><h1>', "color-contrast (serious)"),
        ("<button>", '<button class="unmarked">', "no mark on the focus: button"),
        ("<button>", '<button class="away">', "out of sight with the focus: button"),
        ("<p>It", '<p><a href="#main" tabindex="2">first</a> It', "reached out of order"),
        ("<h1>", '<div tabindex="-1"><a href="#main" tabindex="-1">lost</a></div><h1>', "never reached: a"),
        ('<html lang="en">', "<html>", "html-has-lang (serious)"),
    ],
)
def test_a_planted_fault_is_seen(browser, axe, folder_of_pages, fault):
    old, new, said = fault
    assert old in SOUND
    found = seen(browser, axe, folder_of_pages, SOUND.replace(old, new, 1))
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("</form>", "</div></form>", "Stray end tag"),
        ("<h1>", '<p id="main">again</p><h1>', "Duplicate ID"),
        ("<title>A page</title>", "", "title"),
        ("<p>It", '<p width="3">It', "width"),
    ],
)
def test_broken_html_is_named_with_its_line(checker, folder_of_pages, old, new, said):
    (folder_of_pages / "index.html").write_text(SOUND.replace(old, new, 1))
    found = html_faults(checker, folder_of_pages)
    assert any(said in fault and fault.startswith("index.html:") for fault in found), found


def test_a_skip_link_that_leads_nowhere_is_seen(browser, folder_of_pages):
    (folder_of_pages / "index.html").write_text(SOUND.replace('href="#main"', 'href="#nowhere"'))
    (folder_of_pages / "style.css").write_text(STYLE)
    with serve(folder_of_pages, host="127.0.0.1", port=0) as address, window(browser, address) as shown:
        assert skip_link_faults(shown.open("index.html")) == ["the skip link leads nowhere: #nowhere"]


FEED = """<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:a</id><title>A</title><updated>2026-11-30T10:00:00Z</updated>
<author><name>A</name></author><link rel="self" href="feed.atom"/>
<entry><id>urn:b</id><title>B</title><updated>2026-11-30T09:00:00Z</updated><link href="b.html"/></entry></feed>"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("<id>urn:b</id>", "", "entry 0: 0 of id"),
        ("urn:b", "b", "no IRI with a scheme"),
        ("T09:00:00Z", "", "no RFC 3339 instant"),
        ("2026-11-30T09", "2026-11-30T11", "an entry is newer"),
        ("<author><name>A</name></author>", "", "entry 0 has no author"),
        ('<link rel="self" href="feed.atom"/>', "", "no link to itself"),
        ('<link href="b.html"/>', "", "neither content nor an alternate link"),
        ("<title>B</title>", "<title>B</title><title>C</title>", "2 of title"),
        ("</entry>", '<link href="c.html"/></entry>', "two alternates"),
    ],
)
def test_a_fault_of_a_feed_is_named(old, new, said):
    found = feed_faults(FEED.replace(old, new, 1).encode())
    assert found == [] if not said else any(said in fault for fault in found), found
