"""Every kind of page, light and dark, narrow and wide: nothing keeps anybody from using it.

``DAYZERO_SCREENSHOTS=FOLDER`` keeps a picture of each.
"""

import os
from pathlib import Path
from typing import TypeAlias

import pytest
from playwright.sync_api import Browser, Page
from tests.browser import shop
from tests.browser.checks import barriers, keyboard_faults, missing_images, skip_link_faults, width_faults
from tests.browser.conftest import Place
from tests.browser.window import NARROW, WIDE, Scheme, Window, window

pytestmark = pytest.mark.browser

KINDS = {
    "listing": "index.html",
    "found": "find/gpu/h200/index.html",
    "facet": "find/gpu/index.html",
    "with-kit": f"packages/{shop.WITH_KIT}/index.html",
    "measured": f"packages/{shop.ANEW}/1.1.0/index.html",
    "yanked": f"packages/{shop.YANKED}/1.0.0/index.html",
    "retracted-number": f"packages/{shop.LICENSED}/1.0.0/index.html",
    "draft": f"packages/{shop.DRAFT}/index.html",
    "compare": f"compare/{shop.ANEW}@1.0.0...{shop.ANEW}@1.1.0/index.html",
    "claim": f"claims/{shop.ANEW}/c8-output-tok-s/index.html",
    "claim-retracted": f"claims/{shop.RETRACTED}/index.html",
    "retractions": "retractions/index.html",
    "how-to-read": "how-to-read/index.html",
    "operators": "perfdb/index.html",
}
LIVE = {
    "listing": "index.html",
    "found": "find?gpu=h200&q=qwen3",
    "nothing-found": "find?q=nosuchword",
    "measured": f"packages/{shop.ANEW}/1.1.0/index.html",
    "fit": f"packages/{shop.ANEW}/1.1.0/fit?gpu=l40s&count=1",
    "fit-unknown": f"packages/{shop.ANEW}/1.1.0/fit?gpu=mi300x&count=8",
    "compare": f"compare?a={shop.ANEW}@1.1.0&b={shop.YANKED}@1.1.0",
}
REFUSED = {
    "no-such-page": ("packages/nosuch/index.html", 404),
    "no-such-version": (f"compare?a={shop.ANEW}@9.9.9&b={shop.YANKED}@1.1.0", 404),
    "no-whole-machines": (f"packages/{shop.ANEW}/1.1.0/fit?gpu=l40s&count=77", 422),
    "not-a-number": ("find?max_memory_gib=much", 422),
}
Look: TypeAlias = tuple[int, Scheme]
LOOKS: tuple[Look, ...] = ((NARROW, "light"), (NARROW, "dark"), (WIDE, "light"), (WIDE, "dark"))
# The page that holds the most is seen in every CI run, once in each width and in each scheme; the others by hand.
SEEN = tuple(
    pytest.param(
        kind,
        look,
        id=f"{kind}-{look[0]}-{look[1]}",
        marks=pytest.mark.walk if kind == "measured" and look in {(NARROW, "dark"), (WIDE, "light")} else (),
    )
    for kind in KINDS
    for look in LOOKS
)


def everything(shown: Window, page: Page, axe: str) -> list[str]:
    faults = [*barriers(page, axe), *width_faults(page), *keyboard_faults(page), *missing_images(page)]
    return [*faults, *shown.complaints, *(f"asked elsewhere: {url}" for url in shown.elsewhere)]


def keep(page: Page, name: str) -> None:
    """Keep a picture of the whole page, where a folder for pictures is named."""
    folder = os.environ.get("DAYZERO_SCREENSHOTS")
    if folder:
        page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0); }")
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(("kind", "look"), SEEN)
def test_a_page_can_be_used_by_everybody(browser: Browser, axe: str, static: Place, kind: str, look: Look):
    width, scheme = look
    with window(browser, static.origin, width=width, scheme=scheme) as shown:
        page = shown.open(KINDS[kind])
        faults = everything(shown, page, axe)
        keep(page, f"{kind}-{width}-{scheme}")
        assert faults == []


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
@pytest.mark.parametrize("kind", LIVE)
def test_a_live_page_can_be_used_by_everybody(browser: Browser, axe: str, live: Place, kind: str, look: Look):
    width, scheme = look
    with window(browser, live.origin, width=width, scheme=scheme) as shown:
        page = shown.open(LIVE[kind])
        faults = everything(shown, page, axe)
        keep(page, f"live-{kind}-{width}-{scheme}")
        assert faults == []


@pytest.mark.parametrize("kind", REFUSED)
def test_a_page_that_refuses_is_a_page_too(browser: Browser, axe: str, live: Place, kind: str):
    path, status = REFUSED[kind]
    with window(browser, live.origin, width=NARROW) as shown:
        answer = shown.page.goto(f"{live.origin}/{path}")
        assert answer is not None
        assert answer.status == status
        assert answer.headers["content-type"].startswith("text/html")
        shown.complaints.clear()  # the browser complains about the status itself
        assert everything(shown, shown.page, axe) == []
        keep(shown.page, f"live-{kind}-{NARROW}-light")


@pytest.mark.parametrize("kind", KINDS)
def test_without_javascript_a_page_is_as_wide_and_as_reachable(browser: Browser, static: Place, kind: str):
    with window(browser, static.origin, width=NARROW, script=False) as shown:
        page = shown.open(KINDS[kind])
        assert [*width_faults(page), *keyboard_faults(page), *shown.complaints] == []


def test_everything_behind_a_summary_is_reached_once_it_is_open(browser: Browser, axe: str, static: Place):
    with window(browser, static.origin, width=NARROW) as shown:
        page = shown.open(KINDS["measured"])
        closed = page.locator("details:not([open])")
        assert closed.count() > 0
        for _ in range(closed.count()):
            closed.first.locator("summary").focus()
            page.keyboard.press("Enter")
        assert closed.count() == 0
        assert everything(shown, page, axe) == []


@pytest.mark.parametrize("kind", ["listing", "measured", "compare", "claim"])
def test_the_skip_link_leads_past_the_navigation(browser: Browser, place: Place, kind: str):
    with window(browser, place.origin) as shown:
        path = LIVE["compare"] if place.live and kind == "compare" else KINDS[kind]
        assert skip_link_faults(shown.open(path)) == []


def test_text_at_twice_its_size_needs_no_scrolling_sideways(browser: Browser, static: Place):
    """A window of 1440 px at 400 % is one of 360 px, which the tests above see; here text alone grows."""
    with window(browser, static.origin, width=WIDE) as shown:
        for path in KINDS.values():
            page = shown.open(path)
            page.evaluate("() => { document.documentElement.style.fontSize = '200%'; }")
            assert width_faults(page) == [], path
