"""What becomes of claims: flags, corrections, and support that is carried up or taken away."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence.samples import OFF, ON, off_claim, on_claim, retraction, seeds_world

from dayzero.core.errors import InputError
from dayzero.evidence.events import admit, correct
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import (
    Claim,
    Concern,
    Correction,
    Derived,
    Expiry,
    Explanation,
    Reaffirmation,
    Record,
    Uncitable,
)
from dayzero.evidence.retract import retract
from dayzero.evidence.state import Corrected, Missing, Retracted, Standing, Superseded, Unsupported, Withdrawn, Withheld

AT = "2026-08-02T09:00:00Z"
WITHHELD = Uncitable(slug="k3/c128", topic="throughput at concurrency 128", why="no raw file was committed")


def derived(slug: str, *inputs: str) -> Derived:
    return Derived(slug=slug, label="x", value="1", unit="tok/s", rule="sum@1", inputs=inputs, decimals=0)


def claim(slug: str) -> Claim:
    return replace(off_claim(), slug=slug)


def concern(slug: str) -> Concern:
    return Concern(slug=slug, reason="the node is measured again", at=AT)


def expiry(slug: str) -> Expiry:
    return Expiry(slug=slug, reason="the image was deleted", at=AT)


def reaffirmation(slug: str) -> Reaffirmation:
    return Reaffirmation(slug=slug, reason="measured again", at=AT)


def ledger_of(*records: Record) -> Ledger:
    return Ledger().append(records)[0]


def words(ledger: Ledger) -> dict[str, str]:
    return {slug: type(state).__name__ for slug, state in ledger.standings().items()}


def flags(ledger: Ledger, slug: str) -> list[tuple[str, str]]:
    state = ledger.standing(slug)
    assert isinstance(state, Standing)
    return [(flag.word, flag.event.slug) for flag in state.flags]


def test_a_withdrawn_cause_leaves_both_throughputs_standing():
    cause = Explanation(slug="k3/cause", statement="failed tactics poison the context", facts=(OFF, ON))
    ledger = ledger_of(off_claim(), on_claim(), cause, retraction("k3/cause"))
    assert words(ledger) == {OFF: "Standing", ON: "Standing", "k3/cause": "Withdrawn"}


def test_a_fact_that_falls_takes_its_explanation_with_it_and_not_the_other_fact():
    cause = Explanation(slug="k3/cause", statement="failed tactics poison the context", facts=(OFF, ON))
    ledger = ledger_of(off_claim(), on_claim(), cause, retraction(OFF, "retract"))
    assert words(ledger) == {OFF: "Retracted", ON: "Standing", "k3/cause": "Unsupported"}
    assert ledger.standing("k3/cause") == Unsupported(claim=cause, line=3, missing=(OFF,))


def test_a_withheld_value_has_no_text_and_supports_nothing():
    ledger = ledger_of(claim("k3/a"), WITHHELD, derived("k3/sum", "k3/a", "k3/c128"))
    state = ledger.standing("k3/c128")
    assert state == Withheld(uncitable=WITHHELD, line=2)
    assert not hasattr(state, "claim")
    assert not hasattr(WITHHELD, "text")
    assert words(ledger)["k3/sum"] == "Unsupported"


def test_a_raw_file_that_turns_up_lets_a_withheld_value_be_claimed():
    ledger = ledger_of(WITHHELD, claim("k3/c128"))
    assert [type(state) for state in ledger.history("k3/c128")] == [Withheld, Standing]


def test_a_claim_whose_raw_file_was_lost_is_withheld():
    ledger = ledger_of(claim("k3/c128"), WITHHELD)
    assert [type(state) for state in ledger.history("k3/c128")] == [Superseded, Withheld]


def test_a_retraction_cannot_hit_what_is_withheld():
    ledger = ledger_of(WITHHELD, retraction("k3/c128"))
    assert isinstance(ledger.standing("k3/c128"), Withheld)
    with pytest.raises(InputError):
        retract(ledger_of(WITHHELD), retraction("k3/c128"))


def test_a_superseded_input_carries_its_derived_claim_on():
    ledger = ledger_of(claim("a"), claim("b"), derived("s", "a", "b"), claim("a"))
    assert words(ledger)["s"] == "Standing"


def test_an_input_that_is_claimed_again_supports_again():
    ledger = ledger_of(claim("a"), claim("b"), derived("s", "a", "b"), retraction("a"), claim("a"))
    assert words(ledger)["s"] == "Standing"


def test_an_unsupported_claim_can_still_be_taken_back():
    ledger = ledger_of(claim("a"), claim("b"), derived("s", "a", "b"), retraction("a"))
    assert retract(ledger, retraction("s")) == retraction("s")
    assert isinstance(ledger.append((retraction("s"),))[0].standing("s"), Withdrawn)


def test_a_concern_is_a_flag_that_a_reaffirmation_lifts():
    ledger = ledger_of(claim("a"), concern("a"))
    assert flags(ledger, "a") == [("under concern", "a")]
    assert flags(ledger.append((reaffirmation("a"),))[0], "a") == []


def test_a_reaffirmation_does_not_bring_a_pin_back():
    ledger = ledger_of(claim("a"), concern("a"), expiry("a"), reaffirmation("a"))
    assert flags(ledger, "a") == [("not reproducible", "a")]


def test_flags_are_carried_up_once_and_go_when_they_are_lifted():
    ledger = ledger_of(claim("a"), claim("b"), derived("s", "a", "b"), derived("t", "a", "s"), concern("a"))
    assert flags(ledger, "t") == [("under concern", "a")]
    assert flags(ledger, "b") == []
    assert flags(ledger.append((reaffirmation("a"),))[0], "t") == []


def test_a_new_claim_starts_without_flags():
    assert flags(ledger_of(claim("a"), concern("a"), claim("a")), "a") == []


def test_a_correction_names_the_next_claim_as_the_right_one():
    why = Correction(slug="a", reason="the pattern took the mean", at=AT)
    ledger = ledger_of(claim("a"), why, claim("a"), claim("a"))
    first, second, third = ledger.history("a")
    assert first == Corrected(claim=claim("a"), line=1, by_line=3, correction=why, correction_line=2)
    assert (type(second), type(third)) == (Superseded, Standing)
    assert ledger.pending_corrections() == {}


def test_a_correction_without_its_claim_is_pending_and_a_retraction_settles_it():
    why = Correction(slug="a", reason="the pattern took the mean", at=AT)
    ledger = ledger_of(claim("a"), why)
    assert ledger.pending_corrections() == {"a": 2}
    assert ledger.append((retraction("a"),))[0].pending_corrections() == {}


@pytest.mark.parametrize(
    ("records", "event"),
    [
        ((), concern("a")),
        ((claim("a"), retraction("a")), concern("a")),
        ((claim("a"), concern("a")), concern("a")),
        ((claim("a"), expiry("a")), expiry("a")),
        ((claim("a"),), reaffirmation("a")),
        ((claim("b"), claim("a"), derived("s", "a", "b"), concern("a")), reaffirmation("s")),
        ((WITHHELD,), concern("k3/c128")),
    ],
)
def test_an_event_that_changes_nothing_is_refused(records: tuple[Record, ...], event: Concern):
    with pytest.raises(InputError):
        admit(ledger_of(*records), event)


def test_an_event_that_changes_something_is_admitted():
    assert admit(ledger_of(claim("a")), concern("a")) == concern("a")
    assert admit(ledger_of(claim("a"), concern("a")), reaffirmation("a")) == reaffirmation("a")


def test_a_correction_reads_the_same_raw_file_rightly():
    why, right = Correction(slug=OFF, reason="a typo", at=AT), replace(off_claim(), label="median")
    assert correct(seeds_world().parsed(), why, right) == (why, right)
    for wrong in (off_claim(), on_claim(), replace(right, raw=on_claim().raw), replace(right, slug="k3/x")):
        with pytest.raises(InputError):
            correct(seeds_world().parsed(), why, wrong)


def test_a_derived_claim_that_would_rest_on_itself_is_not_appended():
    ledger = ledger_of(claim("a"), claim("b"), derived("s", "a", "b"), derived("t", "s", "a"))
    with pytest.raises(InputError, match="s would rest on itself, by way of t, b"):
        ledger.append((derived("s", "t", "b"),))
    with pytest.raises(InputError):
        ledger_of(derived("s", "t", "b"), derived("t", "s", "b"))


def test_a_slug_that_is_a_measured_claim_again_closes_no_circle():
    ledger = ledger_of(claim("a"), claim("b"), derived("s", "a", "b"), derived("a", "b", "x"), claim("s"))
    assert ledger.append((derived("b", "s", "x"),))


def test_a_circle_that_is_there_all_the_same_stands_on_nothing():
    whole = ledger_of(claim("a"), derived("s", "a", "x"), derived("t", "s", "a"))
    first, second = derived("s", "t", "a"), derived("t", "s", "a")
    forged = Ledger(
        (whole.entries[0], replace(whole.entries[1], record=first), replace(whole.entries[2], record=second))
    )
    assert words(forged) == {"a": "Standing", "s": "Unsupported", "t": "Unsupported"}


_graphs = st.integers(2, 9).flatmap(
    lambda size: st.tuples(
        *(st.lists(st.integers(0, node - 1), max_size=3, unique=True) if node else st.just([]) for node in range(size))
    )
)


def _below(graph: tuple[list[int], ...], node: int) -> set[int]:
    found = set(graph[node])
    for under in graph[node]:
        found |= _below(graph, under)
    return found


@given(_graphs, st.data(), st.sampled_from(("retract", "withdraw")))
def test_a_retraction_reaches_exactly_the_descendants(graph: tuple[list[int], ...], data: st.DataObject, kind: str):
    records = [
        derived(f"n{node}", *(f"n{under}" for under in inputs)) if inputs else claim(f"n{node}")
        for node, inputs in enumerate(graph)
    ]
    gone = data.draw(st.integers(0, len(graph) - 1))
    ledger = ledger_of(*records, retraction(f"n{gone}", kind))
    for node in range(len(graph)):
        state = ledger.standing(f"n{node}")
        if node == gone:
            assert isinstance(state, Retracted | Withdrawn)
        elif gone in _below(graph, node):
            assert isinstance(state, Unsupported)
            down = {f"n{under}" for under in graph[node] if under == gone or gone in _below(graph, under)}
            assert set(state.missing) == down
        else:
            assert isinstance(state, Standing)


@given(_graphs, st.data())
def test_a_flag_reaches_exactly_the_descendants(graph: tuple[list[int], ...], data: st.DataObject):
    records = [
        derived(f"n{node}", *(f"n{under}" for under in inputs)) if inputs else claim(f"n{node}")
        for node, inputs in enumerate(graph)
    ]
    marked = data.draw(st.integers(0, len(graph) - 1))
    ledger = ledger_of(*records, concern(f"n{marked}"))
    for node in range(len(graph)):
        reached = node == marked or marked in _below(graph, node)
        assert flags(ledger, f"n{node}") == ([("under concern", f"n{marked}")] if reached else [])


def test_a_long_chain_does_not_exhaust_the_stack():
    chain = [derived(f"n{number}", f"n{number - 1}") for number in range(1, 1500)]
    ledger = ledger_of(claim("n0"), *chain, retraction("n0"))
    assert isinstance(ledger.standing("n1499"), Unsupported)
    assert ledger.standing("n1500") == Missing("n1500")
