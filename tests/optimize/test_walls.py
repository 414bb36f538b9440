"""What a failed start teaches: the smallest combination that explains it."""

import pytest
from tests.simulators.flag_bench import died

from dayzero.optimize.model import Outcome, Trial
from dayzero.optimize.walls import keeping_out, learned

STOCK = (("cpuparams.n-threads", "1"), ("n-batch", "8"), ("enable-prefix-caching", "unset"))
MEASURED = Outcome(kind="measured", figures={}, missing={})


def trial(number: int, outcome: Outcome, **levels: str) -> Trial:
    names = {"threads": "cpuparams.n-threads", "batch": "n-batch", "caching": "enable-prefix-caching"}
    point = dict(STOCK) | {names[name]: level for name, level in levels.items()}
    return Trial(number=number, role="step", worker="main", point=tuple(point.items()), at_s=number, outcome=outcome)


@pytest.mark.parametrize(
    ("words", "explains"),
    [
        (("--n-batch",), {"n-batch"}),
        (("n_batch 64 is too large",), {"n-batch"}),
        (("--no-enable-prefix-caching",), {"enable-prefix-caching"}),
        (("enable_prefix_caching=False",), {"enable-prefix-caching"}),
        (("n_threads",), {"cpuparams.n-threads"}),
        (("N_BATCH", "--cpuparams.n-threads"), {"n-batch", "cpuparams.n-threads"}),
        (("batch",), {"cpuparams.n-threads", "n-batch", "enable-prefix-caching"}),
        ((), {"cpuparams.n-threads", "n-batch", "enable-prefix-caching"}),
    ],
)
def test_the_settings_that_the_log_names_explain_it_and_without_a_name_all_that_was_changed(words, explains):
    (found,) = learned([trial(1, died("died", *words), threads="2", batch="64", caching="off")], STOCK)
    assert {name for name, _ in found.point} == explains
    assert found.named is (len(explains) < 3)


def test_a_setting_that_the_log_names_and_the_trial_did_not_change_explains_nothing():
    (found,) = learned([trial(1, died("died", "--n-batch"), threads="2")], STOCK)
    assert found.point == (("cpuparams.n-threads", "2"),)


def test_what_was_seen_to_serve_is_no_explanation():
    trials = [trial(1, MEASURED, batch="64"), trial(2, died("died", "n_batch"), batch="64", threads="2")]
    (found,) = learned(trials, STOCK)
    assert (found.named, len(found.point)) == (False, 2)


@pytest.mark.parametrize("kind", ["measured", "stopped", "invalid", "interrupted", "failed"])
def test_only_a_start_or_a_run_that_fell_is_a_wall(kind):
    assert learned([trial(1, Outcome(kind=kind, figures={}, missing={}), batch="64")], STOCK) == ()


def test_the_package_itself_is_never_kept_out():
    assert learned([trial(0, died())], STOCK) == ()


def test_what_contains_an_explanation_is_kept_out_and_nothing_else():
    walls = learned([trial(1, died("died", "--n-batch"), batch="64", threads="2")], STOCK)
    assert keeping_out(walls, trial(2, MEASURED, batch="64").point) == walls[0]
    assert keeping_out(walls, trial(2, MEASURED, threads="2").point) is None
