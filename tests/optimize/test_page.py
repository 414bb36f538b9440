"""What the report of a study shows: the verdict first, the walls, and pictures that say their numbers."""

import pytest
from tests.optimize.study_document import explanation, result, trial

from dayzero.bench.plot import BOTTOM, HEIGHT, Plot
from dayzero.optimize.page import StudyView, study_page


def page(document=None, told=None) -> StudyView:
    return study_page(document or result(), told, ())


def drawn(slug: str, document=None, told=None) -> Plot:
    return next(one for one in page(document, told).plots if one.slug == slug)


@pytest.mark.parametrize(
    ("verdict", "word", "good"),
    [
        ("BETTER", "Better", True),
        ("NO-BETTER-FOUND", "No better one found", True),
        ("UNCONFIRMED", "UNCONFIRMED", False),
        ("NOT-THE-SAME", "NOT THE SAME", False),
        ("DOES-NOT-SERVE", "DOES NOT SERVE", False),
        ("UNDECIDED", "UNDECIDED", False),
        ("SOMETHING-NEW", "SOMETHING-NEW", False),
    ],
)
def test_only_an_answer_looks_like_one(verdict, word, good):
    found = page(result(verdict=verdict))
    assert (found.word, found.good) == (word, good)


def test_a_figure_that_breaks_a_limit_is_a_ring_and_never_the_best_so_far():
    marks = drawn("trials").marks
    assert [mark.label.split(":")[0] for mark in marks if mark.kind == "ring"] == ["trial 3"]
    assert "reached 150 tok/s" in drawn("trials").description


def test_a_baseline_measured_again_is_no_best_so_far():
    trials = [trial(0, [100.0, 30.0], role="stock"), trial(1, [300.0, 30.0], role="baseline")]
    assert "reached 100 tok/s" in drawn("trials", result(trials=trials)).description


def test_where_less_is_better_the_line_goes_down():
    objective = [{"measure": "ttft_ms.p50", "unit": "ms", "higher_is_better": False}]
    trials = [trial(0, [30.0], role="stock"), trial(1, [40.0]), trial(2, [20.0])]
    assert "reached 20 ms" in drawn("trials", result(objective=objective, trials=trials)).description


def test_a_search_without_an_eligible_trial_has_no_line():
    found = drawn("trials", result(trials=[trial(3, [170.0, 90.0], eligible=False)]))
    assert "none is eligible" in found.description
    assert next(mark for mark in found.marks if mark.kind == "line").path == ""


def test_the_front_joins_what_no_other_one_beats():
    assert "2 of 4 trials are beaten by no other one" in drawn("front").description


def test_one_objective_has_no_front():
    one = result(objective=[{"measure": "output_tok_s", "unit": "tok/s", "higher_is_better": True}])
    assert "front" not in [plot.slug for plot in page(one).plots]


def test_device_seconds_count_every_device_and_what_was_not_spent():
    told = drawn("time").description
    assert "spent: measured 80 s" in told
    assert "spent: died at start 20 s" in told
    assert "not spent: taken out or ended early 20 s" in told


def test_nothing_saved_is_not_drawn_as_saved():
    assert "not spent" not in drawn("time", result(saved={"device_seconds": 0.0, "how": ""})).description


def test_importance_names_its_evaluator_and_says_where_it_is_only_correlation():
    told = drawn("importance", told=explanation()).description
    assert "by fanova: n-batch 80 %, n-threads (correlation only) 20 %" in told


def test_many_bars_stay_inside_the_picture_and_few_do_not_fill_it():
    many = [{"setting": f"s{place}", "share": 0.1, "evaluator": "fanova"} for place in range(10)]
    labels = [mark.y for mark in drawn("importance", told=explanation(importance=many)).marks if mark.kind == "text"]
    assert len(set(labels)) == 10
    assert max(labels) < HEIGHT - BOTTOM
    few = [mark.y for mark in drawn("importance", told=explanation()).marks if mark.kind == "text"]
    assert max(few) < HEIGHT / 2


def test_without_trials_or_an_explanation_there_are_no_pictures():
    assert page(result(trials=[], saved={})).plots == ()
    assert page(told=explanation(importance=[])).contrasts != ()


def test_a_wall_says_what_is_never_started_again_where_it_stands_and_what_it_kept_out():
    (wall,) = page().walls
    assert wall.never_again == "n-threads <64>"
    assert wall.log == "trials/0002/logs/engine.log:12"
    assert (wall.by, wall.kept_out) == ("its log names them", "1")


def test_what_was_taken_out_is_named_with_who_did_it_and_why():
    assert page().excluded == (
        ("n-batch 0", "audit", "no such value"),
        ("n-threads <64>, n-batch 8", "wall", "as trial 2"),
    )


def test_an_interval_of_one_pair_is_not_made_up():
    first, second = page(told=explanation()).contrasts
    assert (first.pairs, second.pairs) == ("2", "1")
    assert first.interval == "1.400 to 1.600"
    assert second.interval == "one pair has none"
    wide = [
        {"setting": "a", "from": "1", "to": "2", "pairs": [[0, 1], [2, 3]], "ratio": 1.0, "low": None, "high": None}
    ]
    assert page(told=explanation(contrasts=wide)).contrasts[0].interval == "not bounded"


def test_the_confirmation_says_its_interval_and_what_both_arms_had():
    told = dict(page().confirmation)
    assert told["Difference"] == "+48.0% (+40.0% to unbounded), margin +2.0%"
    assert told["Flags of both arms"] == "--gpu-memory-utilization 0.42"
    assert told["Distribution gate"] == "was not asked"


def test_a_study_without_a_confirmation_says_so():
    told = dict(page(result(confirmation=None)).confirmation)
    assert told["Confirmation"] == "none was made"


def test_a_gate_that_was_asked_says_what_it_found():
    gate = {"asked": True, "verdict": "EQUIVALENT", "because": "within its margin"}
    assert dict(page(result(gate=gate)).confirmation)["Distribution gate"] == "EQUIVALENT within its margin"


def test_a_study_that_found_nothing_has_no_best():
    assert dict(page(result(best=None)).facts)["Best in the search"] == "none"


def test_a_best_that_is_the_package_itself_is_not_said_to_be_over_it():
    best = {"trial": 0, "point": {}, "changed": {}, "values": [100.0, 30.0], "over_stock": 0.0}
    facts = dict(page(result(best=best)).facts)
    assert facts["Best in the search"] == "trial 0: the package as it is"
    assert "Over the package, in the search" not in facts
    assert dict(page().facts)["Over the package, in the search"] == "+50.0%"


def test_a_trial_without_figures_has_a_dash_for_each_objective():
    assert page().trials[2].values == ("-", "-")
    assert page().trials[2].outcome == "died at start: exit code 1"


def test_a_trial_that_still_runs_has_no_seconds():
    running = trial(9, None, outcome="running", seconds=None)
    assert page(result(trials=[running])).trials[0].seconds == "-"
