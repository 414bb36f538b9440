"""Render the report of a study in the style of a run's: no scripts, nothing to load, the same study gives the same bytes."""

from importlib import resources

from dayzero.adapters.bench_page.render import rendered
from dayzero.optimize.page import StudyView


def render_study(page: StudyView) -> bytes:
    """Render the page."""
    template = resources.files("dayzero.adapters.optimize_page") / "templates" / "report.html.j2"
    return rendered(template.read_text(encoding="utf-8"), page=page)
