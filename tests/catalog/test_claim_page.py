import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.sample import AT, LOG, digest, every_state, ledger_of, log_claim, ratio, raw_file, told_of

from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.page_model import CauseBasis, ClaimPage, DerivedBasis, NoBasis, PageState, RawBasis
from dayzero.core.errors import InputError
from dayzero.evidence.model import Concern, Reaffirmation, Record, Retraction, Uncitable
from dayzero.evidence.state import Retracted

CONTENTS = {digest(LOG): LOG}


def pages_of(*records: Record) -> dict[str, ClaimPage]:
    return {page.slug: page for page in claim_pages(told_of(raw_file("run.log", LOG), *records), CONTENTS)}


PAGES = {page.slug.removeprefix("s/"): page for page in claim_pages(told_of(*every_state()), CONTENTS)}


@pytest.mark.parametrize(
    ("name", "state", "reasons"),
    [
        ("standing", PageState.STANDING, []),
        ("concern", PageState.FLAGGED, [("under concern", "It was <i>retried</i> in 20 ms.", AT)]),
        ("expired", PageState.FLAGGED, [("not reproducible", "The image is gone.", AT)]),
        ("reaffirmed", PageState.STANDING, []),
        ("withdrawn", PageState.WITHDRAWN, [("withdrawn", "The batch size was guessed.", AT)]),
        ("retracted", PageState.RETRACTED, [("retracted", "The clock was wrong.", AT)]),
        ("unsupported", PageState.UNSUPPORTED, [("unsupported", "It rests on what does not stand: s/withdrawn.", "")]),
        ("uncitable", PageState.UNCITABLE, [("withheld", "The log went with the node.", "")]),
        ("derived", PageState.FLAGGED, [("under concern, said of s/concern", "It was <i>retried</i> in 20 ms.", AT)]),
    ],
)
def test_a_page_says_where_its_claim_stands_and_why(name: str, state: PageState, reasons: list[tuple[str, str, str]]):
    page = PAGES[name]
    assert page.state is state
    assert [(said.what, said.reason, said.at) for said in page.reasons] == reasons
    assert bool(page.value) == state.citable


@pytest.mark.parametrize(
    ("name", "history"),
    [
        (
            "superseded",
            [("claimed", PageState.STANDING, "140.30 tok/s"), ("claimed", PageState.SUPERSEDED, "139.90 tok/s")],
        ),
        (
            "corrected",
            [
                ("claimed", PageState.STANDING, "140.30 tok/s"),
                ("corrected", None, ""),
                ("claimed", PageState.CORRECTED, "14.03 tok/s"),
            ],
        ),
        (
            "reaffirmed",
            [("reaffirmed", None, ""), ("under concern", None, ""), ("claimed", PageState.STANDING, "140.30 tok/s")],
        ),
        ("withdrawn", [("withdrawn", None, ""), ("claimed", PageState.WITHDRAWN, "77.10 tok/s")]),
        ("retracted", [("retracted", None, ""), ("claimed", PageState.RETRACTED, "")]),
        ("uncitable", [("withheld", None, "")]),
    ],
)
def test_the_history_is_whole_and_the_newest_comes_first(name: str, history: list[tuple[str, PageState | None, str]]):
    assert [(said.what, said.state, said.text) for said in PAGES[name].history] == history


@pytest.mark.parametrize(
    ("name", "basis"),
    [("standing", RawBasis), ("derived", DerivedBasis), ("cause", CauseBasis), ("uncitable", NoBasis)],
)
def test_a_page_says_what_its_claim_rests_on(name: str, basis: type):
    assert isinstance(PAGES[name].basis, basis)


def test_what_rests_on_a_claim_is_named_on_its_page_with_its_state():
    page = PAGES["standing"]
    assert [(other.slug, other.state) for other in page.derived] == [
        ("s/derived", PageState.FLAGGED),
        ("s/unsupported", PageState.UNSUPPORTED),
    ]
    assert [other.slug for other in page.causes] == ["s/cause"]
    assert page.derived[1].text == ""


def test_withdrawing_an_explanation_leaves_its_facts_as_they_were():
    before = pages_of(*every_state()[1:])
    after = pages_of(*every_state()[1:], Retraction(slug="s/cause", kind="withdraw", reason="Not it.", at=AT))
    assert after["s/cause"].state is PageState.WITHDRAWN
    for fact in ("s/standing", "s/reaffirmed", "s/concern"):
        assert (after[fact].state, after[fact].value) == (before[fact].state, before[fact].value)
        assert [other.state for other in after[fact].causes] == [PageState.WITHDRAWN]


def test_a_claim_whose_raw_file_was_never_filed_has_no_value():
    (page,) = claim_pages(told_of(log_claim("s/x")), {})
    assert (page.state, page.value) == (PageState.UNSUPPORTED, "")
    assert "never filed" in page.reasons[0].reason


def test_a_raw_file_that_does_not_lie_beside_the_site_is_named_and_not_linked():
    (page,) = claim_pages(told_of(raw_file("run.log", LOG), log_claim("s/x")), {})
    assert isinstance(page.basis, RawBasis)
    assert (page.basis.kept, page.basis.quote.lines, page.linked) == (False, (), ())


@pytest.mark.parametrize("slug", ["a/index.html", "index.html/a", "index.html"])
def test_a_slug_in_the_place_of_a_page_is_refused(slug: str):
    with pytest.raises(InputError, match="no page can be made"):
        pages_of(log_claim(slug))


WORDS = st.sampled_from(["10.00", "20.00", "retract", "withdraw", "concern", "reaffirm", "withhold"])


def said(word: str) -> Record:
    match word:
        case "retract" | "withdraw":
            return Retraction(slug="s/x", kind=word, reason="why", at=AT)
        case "concern":
            return Concern(slug="s/x", reason="why", at=AT)
        case "reaffirm":
            return Reaffirmation(slug="s/x", reason="why", at=AT)
        case "withhold":
            return Uncitable(slug="s/x", topic="x", why="why")
        case value:
            return log_claim("s/x", value)


@given(st.lists(WORDS, max_size=8))
def test_whatever_was_said_a_value_is_printed_as_asserted_once_at_most_and_a_retracted_one_never_as_history(
    told: list[str],
):
    pages = pages_of(log_claim("s/base"), *map(said, told), ratio("s/ratio", "s/x", "s/base"))
    page = pages.get("s/x")
    if page is None:
        assert not {"10.00", "20.00", "withhold"} & set(told)
        assert pages["s/ratio"].state is PageState.UNSUPPORTED
        return
    asserted = [entry.text for entry in page.history if entry.state and entry.state.citable]
    assert asserted == ([page.text] if page.state.citable else [])
    states = ledger_of(*map(said, told)).history("s/x")
    never = {state.claim.text for state in states if isinstance(state, Retracted)}
    assert not never & {entry.text for entry in page.history if entry.state and not entry.state.citable}
    assert (pages["s/ratio"].value != "") == page.state.citable
    assert len(page.history) >= sum(word in {"10.00", "20.00", "withhold"} for word in told)
