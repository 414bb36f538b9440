"""The report is one file that loads nothing, runs nothing, and can be read without seeing it."""

from html.parser import HTMLParser
from typing import Any

from tests.adapters.pages import require_described_plots, require_nothing_loaded_and_nothing_run
from tests.bench import measured_run

from dayzero.adapters.bench_page.render import render_page
from dayzero.bench.page import FileView, page

FILES = (FileView(name="reads.bin", sha256="cd" * 32, size=12345678),)


def html(rows=None, **changes: Any) -> str:
    rows = rows or measured_run.rows()
    return render_page(page(measured_run.document(rows, **changes), rows, FILES)).decode()


def test_the_page_of_two_thousand_requests_is_small_and_the_same_each_time():
    rows = measured_run.rows(streams=64, warmup=64, requests=2000, tokens=16)
    first = html(rows, concurrency=64)
    assert len(first) < 300_000
    assert first == html(rows, concurrency=64)


def test_nothing_is_loaded_and_nothing_runs():
    require_nothing_loaded_and_nothing_run(html())


def test_what_a_server_calls_itself_is_text_and_never_markup():
    content = html()
    assert "tiny &lt;model&gt;" in content
    assert "<model>" not in content


def test_every_plot_has_a_title_and_a_description_that_it_is_labelled_by():
    require_described_plots(html(), 5)


def test_the_verdict_stands_before_every_figure():
    bad = html(reasons=("c4: 3 of 64 requests <failed>",))
    assert bad.index("NOT VALID</p>") < bad.index("<table>")
    assert "requests &lt;failed&gt;" in bad
    assert "NOT VALID" not in html()


def test_the_raw_files_are_named_by_their_digests():
    assert "cd" * 32 in html()
    assert "12,345,678 bytes" in html()


def test_every_element_is_closed():
    open_ones: list[str] = []
    empty = {"meta", "link", "line", "path"}

    class Check(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
            if tag not in empty:
                open_ones.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            assert tag in empty, attrs

        def handle_endtag(self, tag: str) -> None:
            assert open_ones.pop() == tag

    Check().feed(html())
    assert open_ones == []
