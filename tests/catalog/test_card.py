from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.sample import FITS, KIT, ROWS, STATUSES, claim, made_card, raw_file, tiny, tiny_records

from dayzero.catalog.model import STEPS, Absent, Card, Figure, Fit, FitState, Gone, NotYet, Reached, Shown, StatusStep
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Claim, Extraction, Record, Retraction

SLUG = "demo-kimi-k3-tiny/c1-ttft-p50"


def card_of(*records: Record, package: Package | None = None, statuses: tuple[StatusStep, ...] = STATUSES) -> Card:
    return made_card(package or tiny(), *records, kit=KIT, statuses=statuses, fit=FITS)


def figure_of(card: Card, slug: str = SLUG) -> Figure:
    return next(m.figure for m in card.measurements if m.slug == slug)


def taken_back(kind: str, reason: str = "the clock was wrong") -> Retraction:
    return Retraction(slug=SLUG, kind=kind, reason=reason, at="2026-11-30T08:00:00Z")


def test_a_standing_claim_is_shown_with_its_raw_file():
    figure = figure_of(card_of(*tiny_records()))
    assert isinstance(figure, Shown)
    assert figure.claim.text == "56.1 ms"
    assert figure.raw.name == "requests.jsonl"


def test_a_later_claim_takes_the_place_of_an_earlier_one():
    figure = figure_of(card_of(*tiny_records(), claim(tiny(), "c1-ttft-p50", "57.9")))
    assert isinstance(figure, Shown)
    assert figure.claim.value == "57.9"


@pytest.mark.parametrize(("kind", "word"), [("retract", "retracted"), ("withdraw", "withdrawn")])
def test_a_claim_that_was_taken_back_leaves_its_reason_and_no_value(kind: str, word: str):
    card = card_of(*tiny_records(), taken_back(kind))
    figure = figure_of(card)
    assert isinstance(figure, Gone)
    assert (figure.word, figure.reason, figure.at) == (word, "the clock was wrong", "2026-11-30T08:00:00Z")
    assert [m.slug for m in card.gone] == [SLUG]


def test_a_claim_that_the_ledger_does_not_hold_is_absent_with_the_reason():
    card = card_of()
    assert len(card.absent) == len(card.measurements) == 4
    assert figure_of(card) == Absent(f"The evidence ledger holds no claim {SLUG}.")


def test_a_claim_whose_raw_file_was_never_filed_is_absent():
    figure = figure_of(card_of(*tiny_records()[2:]))
    assert isinstance(figure, Absent)
    assert "never filed" in figure.why


def with_extraction(made: Claim, extraction: Extraction) -> Claim:
    return replace(made, extraction=extraction)


def asking(made: Claim, **changed: str) -> Claim:
    parameters = tuple((name, changed.get(name, value)) for name, value in made.extraction.parameters)
    return with_extraction(made, replace(made.extraction, parameters=parameters))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: replace(made, unit="s"), "its unit is s, the definition says ms"),
        (lambda made: replace(made, unit=""), "its unit is none, the definition says ms"),
        (lambda made: asking(made, statistic="p90"), "its statistic is p90, the definition says p50"),
        (lambda made: asking(made, cell="c4"), "its cell is c4, the definition says c1"),
        (
            lambda made: with_extraction(made, Extraction(extractor="bench-rows@1", parameters=())),
            "its cell is not given, the definition says c1",
        ),
        (
            lambda made: replace(made, locator=PointerLocator(pointer="/ttft")),
            "it rests on the value at /ttft, the definition says the whole file",
        ),
        (
            lambda made: with_extraction(made, replace(made.extraction, extractor="bench-rows@2")),
            "it was extracted by bench-rows@2, the definition says bench-rows@1",
        ),
    ],
)
def test_a_claim_that_was_taken_in_another_way_than_the_definition_asks_is_not_shown_under_its_label(
    change: Callable[[Claim], Claim], said: str
):
    figure = figure_of(card_of(*tiny_records(), change(claim(tiny(), "c1-ttft-p50", "56.1"))))
    assert figure == Absent(f"The ledger's claim {SLUG} is another number: {said}.")


@given(st.lists(st.one_of(st.integers(0, 10**6).map(str), st.sampled_from(["retract", "withdraw"])), max_size=8))
def test_a_number_is_shown_exactly_when_the_last_word_about_it_is_a_claim(told: list[str]):
    made = [claim(tiny(), "c1-ttft-p50", word) if word.isdigit() else taken_back(word) for word in told]
    figure = figure_of(card_of(raw_file("requests.jsonl", ROWS), *made))
    claimed = [word for word in told if word.isdigit()]
    if not claimed:
        assert isinstance(figure, Absent)
    elif told[-1].isdigit():
        assert isinstance(figure, Shown)
        assert figure.claim.value == told[-1]
    else:
        assert isinstance(figure, Gone)


def test_the_ladder_has_every_step_in_its_order_and_says_why_one_is_not_reached():
    card = card_of(statuses=(Reached(step="starts", date="2026-11-29", pin="x==1"),))
    assert tuple(step.step for step in card.ladder) == STEPS
    assert card.ladder[0] == NotYet(step="resolves", why="Nothing on record shows it.")
    assert card.highest == Reached(step="starts", date="2026-11-29", pin="x==1")


@pytest.mark.parametrize(
    ("steps", "trouble"),
    [(("verified",), "'verified' is not on the ladder"), (("starts", "starts"), "'starts' is given twice")],
)
def test_a_status_that_the_ladder_does_not_have_is_refused(steps: tuple[str, ...], trouble: str):
    with pytest.raises(InputError, match=trouble):
        card_of(statuses=tuple(NotYet(step=step, why="?") for step in steps))


def test_two_headlines_are_refused():
    package = tiny()
    package = replace(package, claims=tuple(replace(ref, headline=True) for ref in package.claims))
    with pytest.raises(InputError, match="more than one headline number: c1-output-tok-s, c1-ttft-p50"):
        card_of(package=package)


def test_no_headline_is_a_card_without_one():
    package = replace(tiny(), claims=())
    card = card_of(package=package)
    assert card.headline is None
    assert card.measurements == ()


def test_a_number_that_was_measured_before_the_engine_was_pinned_anew_is_not_shown():
    package = tiny()
    engine = replace(package.recipe.engine, version="2026.11.1")
    pinned_anew = replace(package, recipe=replace(package.recipe, engine=engine))
    card = card_of(*tiny_records(), package=pinned_anew)
    assert len(card.absent) == 4
    figure = figure_of(card)
    assert isinstance(figure, Absent)
    assert "was measured on another recipe" in figure.why


def test_the_fit_state_is_the_one_that_was_given():
    fit = Fit(FitState.MEASURED_DOES_NOT_FIT, "It ran out of memory at start.")
    assert made_card(tiny(), fit=fit).fit == fit
