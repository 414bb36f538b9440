"""What is asked of every page, whatever is on it: each gives sentences of what is wrong, none where all is well."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_AXE = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"

# What a keyboard has to reach, in the order of the document.
_REACHABLE = """() => [...document.querySelectorAll(
  'a[href], button, input:not([type=hidden], [type=radio]:not(:checked)), select, textarea, summary, [tabindex="0"]')]
  .filter(element => !element.disabled && element.checkVisibility({visibilityProperty: true}))
  .map(element => window.dayzeroName(element))"""

_NAME = """() => { window.dayzeroName = element => {
  const all = [...document.querySelectorAll('*')];
  const said = (element.getAttribute('aria-label') || element.textContent || element.name || '').trim();
  return `${element.tagName.toLowerCase()} ${all.indexOf(element)} ${said.replace(/\\s+/g, ' ').slice(0, 40)}`;
}; }"""

# The next press of the tab key leads to the first stop, wherever the focus was before.
_FROM_THE_TOP = """() => {
  const start = document.createElement('span');
  start.tabIndex = -1;
  document.body.prepend(start);
  start.focus();
  start.remove();
  scrollTo(0, 0);
}"""

_FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const marked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
  const seen = box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0
    && box.left < innerWidth && box.top < innerHeight;
  return {name: window.dayzeroName(element), marked, seen};
}"""

# Boxes that stick out to the right, unless something around them scrolls or hides what does.
_STICKS_OUT = """() => {
  const held = element => {
    for (let around = element.parentElement; around; around = around.parentElement)
      if (around !== document.body && getComputedStyle(around).overflowX !== 'visible') return true;
    return false;
  };
  const out = [...document.body.querySelectorAll('*')]
    .filter(element => element.getBoundingClientRect().right > innerWidth + 1 && !held(element))
    .map(element => `${element.tagName.toLowerCase()}.${element.className}: ${(element.textContent || '').trim().slice(0, 50)}`);
  return {width: document.documentElement.scrollWidth, window: innerWidth, out};
}"""

_LOADED = "() => [...document.images].filter(image => !image.complete || !image.naturalWidth).map(image => image.src)"


def barriers(page: Page, axe: str) -> list[str]:
    """Have axe-core look for what keeps people from using a page; findings of every impact count.

    Args:
        page: The page, as it is shown now.
        axe: The script of axe-core.
    """
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate(_AXE)
    return [
        f"{finding['id']} ({finding['impact']}): {node['html'][:120]}: {node['failureSummary']}"
        for finding in found
        for node in finding["nodes"]
    ]


def keyboard_faults(page: Page) -> list[str]:
    """Go through a page with the tab key: everything is reached, in the page's order, and where the focus is can be seen."""
    page.evaluate(_NAME)
    wanted: list[str] = page.evaluate(_REACHABLE)
    page.evaluate(_FROM_THE_TOP)
    reached, faults = [], []
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
        focus: dict[str, Any] | None = page.evaluate(_FOCUSED)
        if focus is None:
            continue  # between the last stop and the first the focus may leave the page for the browser's own controls
        if focus["name"] in reached:
            break
        reached.append(focus["name"])
        faults += [f"no mark on the focus: {focus['name']}"] if not focus["marked"] else []
        faults += [f"out of sight with the focus: {focus['name']}"] if not focus["seen"] else []
    faults += [f"never reached: {name}" for name in wanted if name not in reached]
    order = [name for name in wanted if name in reached]
    if [name for name in reached if name in wanted] != order:
        faults.append(f"reached out of order: {reached}")
    return faults


def skip_link_faults(page: Page) -> list[str]:
    """Press Tab and Enter on a fresh page: the next stop is inside the main part."""
    page.keyboard.press("Tab")
    first = page.evaluate(
        "() => [document.activeElement.getAttribute('href') || '', document.activeElement.textContent]"
    )
    if not first[0].startswith("#"):
        return [f"the first stop is no skip link: {first}"]
    page.keyboard.press("Enter")
    if page.evaluate("href => document.querySelector(href)?.closest('main') == null", first[0]):
        return [f"the skip link leads nowhere: {first[0]}"]
    page.keyboard.press("Tab")
    inside = page.evaluate(
        "() => !!document.activeElement.closest('main') || !document.querySelector('main a, main button')"
    )
    return [] if inside else ["after the skip link the focus is not in the main part"]


def width_faults(page: Page) -> list[str]:
    """See whether a page has to be scrolled sideways."""
    found: dict[str, Any] = page.evaluate(_STICKS_OUT)
    faults = [f"sticks out: {box}" for box in found["out"]]
    if found["width"] > found["window"]:
        faults.append(f"{found['width']} px in a window of {found['window']} px")
    return faults


def missing_images(page: Page) -> list[str]:
    """Give the pictures that did not load."""
    found: list[str] = page.evaluate(_LOADED)
    return found


def html_faults(checker: Sequence[str], pages: Path) -> list[str]:
    """Have the Nu HTML Checker read every page in a folder: errors, and warnings too.

    Args:
        checker: The words that start it.
        pages: The folder, or one page.
    """
    words = [*checker, "--format", "json", "--skip-non-html", "--exit-zero-always", "--stdout", str(pages)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [
        f"{message['url'].rpartition(pages.name)[2].lstrip('/')}:{message.get('lastLine', 0)}: {message['message']}"
        for message in json.loads(done.stdout)["messages"]
        if message["type"] == "error" or message.get("subType") == "warning"
    ]
