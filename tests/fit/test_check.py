"""When a rank holds what it needs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place, Proven, Refuted, Undecided
from dayzero.fit.check import fit
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import Budget, Component, Figure, FigureBasis, RankBudget, State

GIB = 1024**3


def figure(component: Component, low: float, high: float | None = None, basis: FigureBasis = "computed") -> Figure:
    high = low if high is None else high
    return Figure(
        component=component,
        size=Bytes(int((low + high) / 2 * GIB)),
        low=Bytes(int(low * GIB)),
        high=Bytes(int(high * GIB)),
        source="test",
        basis=basis,
    )


def rank(
    weights: Figure, *, free: float = 100, budget: float = 90, request: float = 1, basis: FigureBasis = "computed"
) -> RankBudget:
    rest = (Component.ACTIVATIONS, Component.GRAPHS, Component.OTHER)
    return RankBudget(
        rank="TP 0",
        count=1,
        figures=(weights, figure(Component.KV_CACHE, 50), *(figure(component, 1, basis=basis) for component in rest)),
        request=figure(Component.KV_CACHE, request),
        free=Bytes(int(free * GIB)),
        free_source="card",
        budget=Bytes(int(budget * GIB)),
        late=Bytes(0),
        limit_low=Bytes(int(min(free, budget) * GIB)),
        limit_high=Bytes(int(min(free, budget) * GIB)),
        overcommitted=(Bytes(0), Bytes(0)),
    )


def budget(*ranks: RankBudget) -> Budget:
    return Budget(
        ranks=ranks,
        context_tokens=4096,
        kv_tokens=10000,
        max_concurrency=2.4,
        stored=Bytes(0),
        replicated=Bytes(0),
        added=0,
    )


@pytest.mark.parametrize(
    ("low", "high", "verdict", "state"),
    [
        (86, 86, Proven, State.COMPUTED_FITS),
        (86.01, 86.01, Refuted, State.COMPUTED_DOES_NOT_FIT),
        (80, 86.1, Undecided, State.UNKNOWN),
        (80, 86, Proven, State.COMPUTED_FITS),
        (86.1, 120, Refuted, State.COMPUTED_DOES_NOT_FIT),
    ],
)
def test_a_plan_fits_where_even_the_most_fits_and_does_not_where_even_the_least_does_not(low, high, verdict, state):
    report = fit(budget(rank(figure(Component.WEIGHTS, low, high))))
    assert isinstance(report.verdict, verdict)
    assert report.state is state


def test_what_decides_is_the_smaller_of_free_and_what_the_engine_lets_itself_use():
    weights = figure(Component.WEIGHTS, 80)
    assert isinstance(fit(budget(rank(weights, free=100, budget=84))).verdict, Proven)
    assert isinstance(fit(budget(rank(weights, free=83.9, budget=84))).verdict, Refuted)


def test_a_doubtful_answer_names_the_margin():
    report = fit(budget(rank(figure(Component.WEIGHTS, 80, 90))))
    assert report.verdict.reason == (
        "TP 0 needs 84.00 GiB to 94.00 GiB and may use 90.00 GiB: by the likely values 1.00 GiB to spare"
    )
    assert report.headroom == GIB


def test_the_tightest_rank_decides():
    easy, tight = rank(figure(Component.WEIGHTS, 10)), replace(rank(figure(Component.WEIGHTS, 99)), rank="TP 1")
    report = fit(budget(easy, tight))
    assert isinstance(report.verdict, Refuted)
    assert "TP 1" in report.verdict.reason
    assert report.headroom == -13 * GIB
    assert (report.kv_tokens, report.max_concurrency) == (None, None), "it would not start"


@pytest.mark.parametrize(
    ("weights", "others", "state"),
    [
        (figure(Component.WEIGHTS, 80, basis="measured"), "measured", State.MEASURED_FITS),
        (figure(Component.WEIGHTS, 80, basis="measured"), "computed", State.COMPUTED_FITS),
        (figure(Component.WEIGHTS, 91, basis="measured"), "computed", State.MEASURED_DOES_NOT_FIT),
        (figure(Component.WEIGHTS, 88, basis="measured"), "computed", State.COMPUTED_DOES_NOT_FIT),
        (figure(Component.WEIGHTS, 88, basis="measured"), "measured", State.MEASURED_DOES_NOT_FIT),
    ],
)
def test_only_what_was_measured_decides_as_measured(weights: Figure, others: FigureBasis, state: State):
    assert fit(budget(rank(weights, basis=others))).state is state


def test_a_cache_that_leaves_too_little_for_what_comes_after_it_does_not_fit():
    fine = rank(figure(Component.WEIGHTS, 10))
    certain = fit(budget(replace(fine, late=Bytes(20 * GIB), overcommitted=(Bytes(GIB), Bytes(2 * GIB)))))
    assert isinstance(certain.verdict, Refuted)
    assert certain.verdict.reason == (
        "TP 0 runs out by at least 1.00 GiB of 100.00 GiB: "
        "the engine sets 50.00 GiB aside for its cache, and allocates 20.00 GiB afterwards"
    )
    assert certain.headroom == -2 * GIB
    likely = fit(budget(replace(fine, late=Bytes(20 * GIB), overcommitted=(Bytes(0), Bytes(2 * GIB)))))
    assert isinstance(likely.verdict, Undecided)


def test_what_the_model_does_not_cover_is_undecided_with_the_reason():
    report = fit(Unknown(reason="no such kind of layer", place=Place(artifact="", file="config.json")))
    assert report.verdict == Undecided("no such kind of layer", (Place(artifact="", file="config.json"),))
    assert report.state is State.UNKNOWN


@given(st.floats(0, 200), st.floats(0, 50), st.floats(0, 200), st.floats(0, 100))
def test_more_memory_never_turns_a_fit_into_a_misfit(low: float, more: float, free: float, added: float):
    order = {Refuted: 0, Undecided: 1, Proven: 2}
    weights = figure(Component.WEIGHTS, low, low + more)
    before = fit(budget(rank(weights, free=free, budget=free))).verdict
    after = fit(budget(rank(weights, free=free + added, budget=free + added))).verdict
    assert order[type(before)] <= order[type(after)]
