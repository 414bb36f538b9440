"""Where the browser and what judges its pages lie; a test that needs one of them skips where it is not there."""

import os
import shutil
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOLDER = "DAYZERO_BROWSER_TOOLS"


def browser_program() -> Path:
    """Find the system's browser."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed (Debian: chromium)")
    return Path(found)


def axe_script() -> str:
    """Read axe-core, which finds what keeps people from using a page."""
    return _installed("axe-core/axe.min.js").read_text(encoding="utf-8")


def html_checker() -> tuple[str, ...]:
    """Give the words that start the Nu HTML Checker."""
    if shutil.which("java") is None:
        pytest.skip("no Java is installed for the HTML checker (Debian: default-jre-headless)")
    return ("java", "-jar", str(_installed("vnu-jar/build/dist/vnu.jar")))


def _installed(name: str) -> Path:
    path = Path(os.environ.get(FOLDER, "absent")) / "node_modules" / name
    if not path.is_file():
        pytest.skip("axe-core and the HTML checker are not installed (make browser-tools)")
    return path
