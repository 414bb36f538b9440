"""Render the report of a run as one HTML file without scripts and without anything to load: the same run gives the same bytes."""

from importlib import resources

import jinja2
from markupsafe import Markup

from dayzero.bench import plot
from dayzero.bench.metrics import STATISTICS
from dayzero.bench.page import PageView


def render_page(page: PageView) -> bytes:
    """Render the page."""
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"report.html.j2": _template("report.html.j2")}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.get_template("report.html.j2")
    # The style is ours and holds no markup; escaping would break its quotes.
    style = Markup(_template("report.css"))  # noqa: S704
    return template.render(page=page, plot=plot, statistics=STATISTICS, style=style).encode()


def _template(name: str) -> str:
    return (resources.files("dayzero.adapters.bench_page") / "templates" / name).read_text(encoding="utf-8")
