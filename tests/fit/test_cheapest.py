from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fit.budgets import CONTEXT, plan, size

from dayzero.core.errors import InputError
from dayzero.core.parallelism import Parallelism
from dayzero.core.verdict import Proven, Refuted
from dayzero.fit.cheapest import Change, longest_context, remedies, smallest_system
from dayzero.fit.model import FitPlan


def flag(words: str, costs: str = "something") -> Change:
    return Change(words=words, costs=costs, apply=lambda asked: replace(asked, flags=(*asked.flags, words)))


def refused(words: str) -> Change:
    def apply(_asked: FitPlan) -> FitPlan:
        raise InputError("not on this engine", hint="Leave it.")

    return Change(words=words, costs="nothing", apply=apply)


def test_only_changes_that_make_it_fit_are_given_and_the_cheapest_comes_first():
    tight = plan(weights_gib=70)
    assert isinstance(size(tight).verdict, Refuted)
    found = remedies(
        tight, (flag("--useless"), refused("--gone"), flag("--max-num-seqs=64"), flag("--kv-cache-dtype=fp8")), size
    )
    assert [remedy.words for remedy in found] == ["--max-num-seqs=64", "--kv-cache-dtype=fp8"]
    assert all(isinstance(remedy.report.verdict, Proven) for remedy in found)
    assert found[0].report == size(replace(tight, flags=("--max-num-seqs=64",)))


def test_of_one_setting_the_mildest_value_is_enough():
    changes = (
        flag("--kv-cache-dtype=fp8"),
        Change(words="--kv-cache-dtype=fp4", costs="more", apply=flag("--kv-cache-dtype=fp8").apply),
    )
    assert [remedy.words for remedy in remedies(plan(weights_gib=70), changes, size)] == ["--kv-cache-dtype=fp8"]


def test_where_no_single_change_does_the_shortest_run_of_them_is_given():
    found = remedies(
        plan(weights_gib=74), (flag("--max-num-seqs=64", "requests"), flag("--kv-cache-dtype=fp8", "accuracy")), size
    )
    assert [(remedy.words, remedy.costs) for remedy in found] == [
        ("--max-num-seqs=64 and --kv-cache-dtype=fp8", "requests, accuracy")
    ]


def test_nothing_is_made_up_where_nothing_helps():
    assert remedies(plan(weights_gib=90), (flag("--max-num-seqs=64"), flag("--kv-cache-dtype=fp8")), size) == ()
    assert longest_context(plan(weights_gib=90), size) is None


@given(st.floats(60, 75))
@settings(deadline=None)
def test_the_longest_context_fits_and_a_step_more_does_not(weights):
    asked = plan(weights_gib=weights)
    found = longest_context(asked, size)
    assert found is not None
    longest = found.plan.context
    assert longest is not None
    assert isinstance(size(found.plan).verdict, Proven)
    assert longest == CONTEXT or isinstance(size(replace(asked, context=longest + 1024)).verdict, Refuted)


def test_the_first_system_that_fits_is_the_smallest_and_one_that_the_model_does_not_divide_over_is_passed_over():
    systems = (
        plan(weights_gib=300, gpus=1),
        plan(weights_gib=300, gpus=16),
        plan(weights_gib=300, gpus=8),
        plan(weights_gib=300, gpus=8, parallelism=Parallelism(tp=4, pp=2)),
    )
    found = smallest_system(systems, size)
    assert found is not None
    assert found.words == "8xgpu with TP 8"
    assert smallest_system(systems[:2], size) is None
