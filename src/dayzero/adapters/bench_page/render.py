"""Render a report as one HTML file without scripts and without anything to load: the same run gives the same bytes."""

from importlib import resources

import jinja2
from markupsafe import Markup

from dayzero.bench import plot
from dayzero.bench.metrics import STATISTICS
from dayzero.bench.page import PageView


def render_page(page: PageView) -> bytes:
    """Render the page of a run."""
    return rendered(_template("report.html.j2"), page=page, statistics=STATISTICS)


def rendered(template: str, **values: object) -> bytes:
    """Render a page that has the plots and the style of a run's.

    Args:
        template: Its text; ``plot.html.j2`` can be imported from.
        values: What it shows.
    """
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"page": template, "plot.html.j2": _template("plot.html.j2")}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # The style is ours and holds no markup; escaping would break its quotes.
    style = Markup(_template("report.css"))  # noqa: S704
    return environment.get_template("page").render(plot=plot, style=style, **values).encode()


def _template(name: str) -> str:
    return (resources.files("dayzero.adapters.bench_page") / "templates" / name).read_text(encoding="utf-8")
