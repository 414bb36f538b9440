import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.site.catalog_sample import SERIES

from dayzero.adapters.site.plot import Plot, draw
from dayzero.catalog.series import Point, Series


def parsed(text: str | bytes) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  (it was written a moment ago)


def series(*points: tuple[int, float], statistic: str = "mean") -> Series:
    return replace(
        SERIES[2],
        statistic=statistic,
        points=tuple(Point(x=x, y=y, text=f"{y:g} tok/s", slug="p/a", cell=f"c{x}") for x, y in points),
    )


def places(svg: str) -> list[tuple[float, float]]:
    return [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in parsed(svg).iter("circle")]


def test_lines_of_one_metric_and_load_share_a_drawing_and_one_point_is_none():
    plots = draw(SERIES)
    assert [(plot.title, plot.unit, plot.names) for plot in plots] == [
        ("time to first token", "ms", ("50th percentile", "90th percentile")),
        ("output rate <all>", "tok/s", ("over the whole cell",)),
    ]


@pytest.mark.parametrize("plot", draw(SERIES), ids=["two lines", "one line"])
def test_a_drawing_says_in_words_what_it_shows(plot: Plot):
    svg = parsed(plot.svg)
    told = {element.get("id"): element.text or "" for element in svg if element.tag in {"title", "desc"}}
    title, description = (told[name] for name in (svg.get("aria-labelledby") or "").split())
    assert svg.get("role") == "img"
    assert plot.title in title
    for each in SERIES:
        if each.label.startswith(plot.title):
            assert all(f"{point.text} at {point.x} in flight" in description for point in each.points)


def test_drawings_of_one_page_share_no_id():
    ids = [found for plot in draw(SERIES) for found in re.findall(r'id="([^"]*)"', plot.svg)]
    assert len(ids) == len(set(ids)) == 4


def test_lines_are_told_apart_without_their_colours():
    plots = draw(series((1, 1.0), (2, 2.0), statistic=name) for name in ("a", "b", "c", "d"))
    assert [plot.names for plot in plots] == [("a", "b", "c"), ("d",)]
    shapes = [element.tag for element in parsed(plots[0].svg).iter() if element.get("class") == "point"]
    assert shapes == ["circle"] * 2 + ["rect"] * 2 + ["polygon"] * 2


def test_a_drawing_has_no_style_or_script_of_its_own():
    for plot in draw(SERIES):
        assert not re.search(r"style=|<style|<script|fill=|href|url\(", plot.svg)


def test_twice_the_load_is_one_step_to_the_right_and_the_values_start_at_zero():
    (plot,) = draw((series((1, 0.0), (2, 5.0), (4, 10.0)),))
    (x1, y1), (x2, y2), (x3, y3) = places(plot.svg)
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    axis = next(line for line in parsed(plot.svg).iter("line") if line.get("class") == "axis")
    assert y1 == float(axis.get("y1", ""))


@given(
    st.dictionaries(st.integers(1, 4096), st.floats(0, 1e9, allow_nan=False), min_size=2, max_size=9),
)
def test_every_point_lies_inside_the_drawing_and_higher_values_lie_higher(values: dict[int, float]):
    points = sorted(values.items())
    (plot,) = draw((series(*points),))
    box = [float(part) for part in (parsed(plot.svg).get("viewBox") or "").split()]
    found = places(plot.svg)
    assert len(found) == len(points)
    assert all(0 <= x <= box[2] and 0 <= y <= box[3] for x, y in found)
    ordered = sorted(zip([y for _, y in points], found, strict=True))
    assert [-y for _, (_, y) in ordered] == sorted(-y for _, (_, y) in ordered)
