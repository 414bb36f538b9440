import xml.etree.ElementTree as ET
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.fit.budgets import plan, size

from dayzero.fit.bar import bar, full_width, segments
from dayzero.fit.svg import draw

SVG = "{http://www.w3.org/2000/svg}"


def test_a_bar_shows_what_is_taken_in_letters_and_where_it_must_end():
    ranks = size(plan(weights_gib=40, gpu_gib=80)).ranks
    assert bar(ranks[0], width=40, full=full_width(ranks)) == "WWWWWWWWWWWWWWWWWWWWAAKKKKKKKKKKKKKKKKKK|"


def test_what_does_not_fit_goes_past_the_mark():
    ranks = size(plan(weights_gib=120, gpu_gib=80)).ranks
    drawn = bar(ranks[0], width=40, full=full_width(ranks))
    assert drawn.count("|") == 1
    assert "W" in drawn.partition("|")[2]


@given(st.integers(1, 400), st.integers(1, 300), st.integers(20, 120))
def test_no_bar_is_wider_than_asked(weights, gpu, width):
    ranks = size(plan(weights_gib=weights, gpu_gib=gpu)).ranks
    assert len(bar(ranks[0], width=width, full=full_width(ranks))) <= width + 1


@given(st.integers(1, 400), st.integers(1, 300))
def test_segments_stand_side_by_side(weights, gpu):
    found = segments(size(plan(weights_gib=weights, gpu_gib=gpu)).ranks[0])
    assert all(after.start == before.start + before.size for before, after in pairwise(found))


def test_the_picture_says_in_words_what_it_shows_and_stays_inside_its_frame():
    report = size(plan(weights_gib=120, gpu_gib=80))
    root = ET.fromstring(draw(report, 'a <"b"> & c'))  # noqa: S314  (our own text)
    assert root.findtext(f"{SVG}title") == 'a <"b"> & c'
    described = root.findtext(f"{SVG}desc") or ""
    assert "weights 120.00 GiB" in described
    assert "KV cache 8.00 GiB" in described  # one request, though none is left for it
    assert "does-not-fit" in described
    width = float((root.get("viewBox") or "").split()[2])
    for shape in root.iter(f"{SVG}rect"):
        assert float(shape.get("x", "0")) + float(shape.get("width", "0")) <= width + 0.1


def test_a_picture_loads_nothing_and_runs_nothing():
    text = draw(size(plan()), "title")
    assert "<script" not in text
    assert "href" not in text
    assert "prefers-color-scheme:dark" in text
