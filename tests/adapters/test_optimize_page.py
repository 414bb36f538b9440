"""The report of a study is one file that loads nothing, runs nothing, and can be read without seeing it."""

from typing import Any

from tests.adapters.pages import require_described_plots, require_nothing_loaded_and_nothing_run
from tests.optimize.study_document import explanation, result

from dayzero.adapters.optimize_page.render import render_study
from dayzero.bench.page import FileView
from dayzero.optimize.page import study_page

FILES = (FileView(name="result.json", sha256="cd" * 32, size=12345678),)


def html(**changes: Any) -> str:
    return render_study(study_page(result(**changes), explanation(), FILES)).decode()


def test_the_same_study_gives_the_same_bytes():
    assert html() == html()


def test_nothing_is_loaded_and_nothing_runs():
    require_nothing_loaded_and_nothing_run(html())


def test_what_a_package_or_a_log_calls_itself_is_text_and_never_markup():
    content = html()
    assert "demo &lt;tiny&gt;" in content
    assert "n-threads &lt;64&gt;" in content
    assert "<tiny>" not in content
    assert "<64>" not in content


def test_every_plot_has_a_title_and_a_description_that_it_is_labelled_by():
    require_described_plots(html(), 4)


def test_the_verdict_stands_before_every_figure():
    bad = html(verdict="UNDECIDED", because=["nothing valid was measured <here>"])
    assert bad.index("UNDECIDED</p>") < bad.index("<table>")
    assert "measured &lt;here&gt;" in bad


def test_a_study_without_walls_or_trials_says_so():
    content = html(trials=[], walls=[], pruned=[], space={"excluded": []}, baselines=[], notes=[])
    assert "everything that was started came up and served" in content
    assert "was never measured" in content


def test_the_files_are_named_by_their_digests():
    assert "cd" * 32 in html()
    assert "12,345,678 bytes" in html()
