"""Contrasts rest on trials that differ in one flag; what nothing isolates is only correlation."""

import pytest
from tests.optimize.searching import THREADS, plan, product_of, run, space
from tests.simulators.flag_bench import FlagBench

from dayzero.optimize.explain import contrasts, document
from dayzero.optimize.stop import Rule


def placed():
    around = space()
    _, now, _ = run(plan(around, rule=Rule(margin=1.0)), FlagBench(product_of))
    return around.settings, now.standing.placed


def test_every_pair_that_differs_in_one_flag_is_found_in_one_direction():
    settings, trials = placed()
    found = {(one.setting, one.before, one.after): one for one in contrasts(settings, trials)}
    # In a whole grid of 3 x 3 x 2: each change of threads under 6 settings of the others, and so on.
    assert {key: len(one.trials) for key, one in found.items() if key[0] == "attention"} == {
        ("attention", "plain", "fused"): 9
    }
    assert sum(len(one.trials) for one in found.values()) == 3 * 6 + 3 * 6 + 9
    one = found["threads", "1", "2"]
    assert (len(one.trials), one.effect.value) == (6, pytest.approx(0.588, abs=0.01))
    assert one.effect.low <= 0.588 <= one.effect.high + 0.01
    assert THREADS.name == "threads"


def test_what_matters_and_is_never_isolated_is_only_correlation():
    settings, trials = placed()
    corners = [
        one for one in trials if [level for _, level in one.trial.point] in (["1", "8", "plain"], ["2", "64", "fused"])
    ]
    found = document(
        "s", "output_tok_s", settings, corners, ("ped-anova", {"threads": 0.6, "batch": 0.35, "attention": 0.05})
    )
    assert found["contrasts"] == []
    assert found["correlation_only"] == ["threads", "batch"]
    assert found["trials"] == 2
    whole = document("s", "output_tok_s", settings, trials, ("ped-anova", {"threads": 1.0}))
    assert whole["correlation_only"] == []
    ratios = {(one["setting"], one["from"], one["to"]): one["ratio"] for one in whole["contrasts"]}
    assert ratios["attention", "plain", "fused"] == pytest.approx(0.7, abs=0.01)
