"""The page of operator latencies: read strictly, shown as it is, and there only where a document is given."""

import json

import pytest
from tests.catalog import performance_sample
from tests.catalog.performance_sample import CONV, curve, line

from dayzero.adapters.site.curve import axis_words, draw_curve, size_words
from dayzero.catalog.performance import PerfCurve, changes, read_performance
from dayzero.cli.main import run
from dayzero.core.errors import InputError


def read(**more: object):
    return read_performance(json.dumps(performance_sample.document(**more)).encode(), "page.json")


def test_a_document_is_read_whole():
    told = read()
    assert (told.title, told.rows, len(told.lanes), len(told.curves)) == (
        "aiconfigurator-core 0.12.0",
        12_586_413,
        3,
        3,
    )
    assert told.systems == performance_sample.SYSTEMS
    assert [lane.with_rows for lane in told.lanes] == [2, 1, 0]
    assert told.lanes[1].on("h100_sxm") is None
    assert [cell.rows for cell in told.lanes[0].cells] == [428, 428, 428, 428, 0, 0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        json.dumps(performance_sample.document(schema="dayzero/perfdb/v1")).encode(),
        json.dumps(performance_sample.document(rows="many")).encode(),
        json.dumps(performance_sample.document(more=1)).encode(),
        json.dumps(
            performance_sample.document(lanes=[{"lane": "x", "cells": [performance_sample.cell("x", "fast")]}])
        ).encode(),
    ],
)
def test_what_is_no_such_document_is_refused(content):
    with pytest.raises(InputError, match=r"page\.json is no page of a performance database"):
        read_performance(content, "page.json")


def test_a_retraction_shows_before_and_after_at_a_size_that_both_have():
    left, gone = changes(read().curves)
    assert (left.system, left.size, left.before_us, left.after_us) == ("gb300", 128, 970.3, 2.755)
    assert (gone.system, gone.size, gone.before_us, gone.after_us) == ("l40s", 128, 970.3, None)
    apart = curve(CONV, "b300_sxm", line("0.27.0", (64, 2.0)), line("0.1", (1, 9.0), retracted=True))
    (one,) = changes(read(curves=[apart]).curves)
    assert (one.size, one.before_us, one.after_us) == (1, 9.0, None)


def test_a_drawing_tells_lines_apart_without_colour_and_says_every_number_in_words():
    told = read().curves[1]
    svg = draw_curve(told, 7)
    assert svg.count('class="bar"') == 6
    assert svg.count("<circle") == svg.count("<rect") == 3
    assert "0.27.0: 2.755 microseconds at 128; 2.76 microseconds at 4096; 76.27 microseconds at 131072." in svg
    assert "0.1.dev19262, taken back: 970.3 microseconds at 128" in svg
    assert 'aria-labelledby="curve-7-t curve-7-d"' in svg


def test_higher_latencies_stand_higher_and_larger_sizes_further_right():
    points = ((1, 3.0), (2, 30.0), (1024, 3000.0))
    svg = draw_curve(_decoded(curve(CONV, "x", line("a", *points))), 1)
    path = next(part for part in svg.split("<path ") if part.startswith('d="M')).split('"')[1]
    places = [tuple(float(n) for n in place.split()) for place in path.removeprefix("M").split(" L")]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


def test_a_single_size_is_drawn_too():
    assert "<circle" in draw_curve(_decoded(curve(CONV, "x", line("a", (128, 3.0)))), 1)


@pytest.mark.parametrize(
    ("size", "words"), [(1, "1"), (8192, "8192"), (131072, "128Ki"), (10001, "10001"), (2**21, "2Mi")]
)
def test_large_sizes_take_little_room(size, words):
    assert size_words(size) == words


def test_axes_are_named_in_words():
    assert [axis_words(one) for one in ("num_tokens", "seq_len", "m")] == ["number of tokens", "sequence length", "m"]


def test_the_site_has_the_page_its_document_and_a_link_only_where_it_is_asked_for(tmp_path):
    page = performance_sample.write(tmp_path / "page.json")
    words = ["catalog", "build", "--evidence", str(tmp_path), "-o", str(tmp_path / "site")]
    assert run([*words, "--perfdb", str(page)]) == 0
    shown = (tmp_path / "site/perfdb/index.html").read_text()
    assert (tmp_path / "site/perfdb/page.json").read_bytes() == page.read_bytes()
    assert 'href="perfdb/index.html"' in (tmp_path / "site/index.html").read_text()
    assert "12,586,413 rows of aiconfigurator-core 0.12.0" in shown
    for state in performance_sample.STATES:
        assert f'class="{state.replace(" ", "-")}"' in shown
    assert "silu measured for situ" in shown
    assert "No row of this lane was published." in shown
    assert all(word in shown for word in ("<dd>Eight GPUs.</dd>", "An image.", ">it is SiTU</li>"))
    assert "no row is left" in shown
    assert run(words) == 0
    assert not (tmp_path / "site/perfdb").exists()
    assert "perfdb" not in (tmp_path / "site/index.html").read_text()


def test_a_document_that_is_not_there_or_none_is_bad_input(tmp_path, capsys):
    words = ["catalog", "build", "--evidence", str(tmp_path), "-o", str(tmp_path / "site"), "--perfdb"]
    assert run([*words, str(tmp_path / "nowhere.json")]) == 2
    assert "nowhere.json cannot be read" in capsys.readouterr().err
    (tmp_path / "none.json").write_text("{}")
    assert run([*words, str(tmp_path / "none.json")]) == 2
    assert "dayzero perfdb page DB" in capsys.readouterr().err


def _decoded(document: object) -> PerfCurve:
    return read(curves=[document]).curves[0]
