from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence.samples import OFF, ON, off_claim, on_claim, retraction

from dayzero.core.errors import EvidenceError, InputError
from dayzero.evidence.claims import make_explanation, make_uncitable
from dayzero.evidence.derive import RULES, DerivedDraft, make_derived
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Explanation, Record, Uncitable
from dayzero.evidence.state import State


def standings(*records: Record) -> dict[str, State]:
    return dict(Ledger().append(records)[0].standings())


def of(rule: str, values: list[tuple[str, str]], *, unit: str, decimals: int = 2) -> str:
    claims = [replace(off_claim(), slug=f"c{at}", value=value, unit=given) for at, (value, given) in enumerate(values)]
    draft = DerivedDraft(
        slug="d", label="x", unit=unit, rule=rule, inputs=tuple(claim.slug for claim in claims), decimals=decimals
    )
    return make_derived(standings(*claims), draft).value


@pytest.mark.parametrize(
    ("rule", "values", "unit", "decimals", "expected"),
    [
        ("ratio@1", [("140.42", "tok/s"), ("140.30", "tok/s")], "", 5, "1.00086"),
        ("ratio@1", [("140.42", "tok/s"), ("70.21", "tok/s")], "x", 1, "2.0"),
        ("ratio@1", [("1000", "tok"), ("8", "s")], "tok/s", 0, "125"),
        ("difference@1", [("140.42", "tok/s"), ("140.30", "tok/s")], "tok/s", 2, "0.12"),
        ("difference@1", [("140.30", "tok/s"), ("140.42", "tok/s")], "tok/s", 1, "-0.1"),
        ("difference@1", [("1.001", "s"), ("1.004", "s")], "s", 2, "0.00"),
        ("delta-pct@1", [("140.42", "tok/s"), ("140.30", "tok/s")], "%", 2, "0.09"),
        ("delta-pct@1", [("87", "ms"), ("100", "ms")], "%", 0, "-13"),
        ("sum@1", [("0.1", "s"), ("0.2", "s"), ("3e-1", "s")], "s", 1, "0.6"),
        ("gibibytes@1", [("188331982029", "B")], "GiB", 2, "175.40"),
        ("sum@1", [("0.5", ""), ("0", "")], "", 0, "0"),
        ("sum@1", [("1.5", ""), ("0", "")], "", 0, "2"),
        ("sum@1", [("2.5", ""), ("0", "")], "", 0, "2"),
        ("sum@1", [("-0.5", ""), ("0", "")], "", 0, "0"),
    ],
)
def test_a_rule_computes_what_it_says(
    rule: str, values: list[tuple[str, str]], unit: str, decimals: int, expected: str
):
    assert of(rule, values, unit=unit, decimals=decimals) == expected


@pytest.mark.parametrize(
    ("rule", "values", "unit", "message"),
    [
        ("ratio@2", [("1", ""), ("2", "")], "", "no rule is called ratio@2"),
        ("ratio@1", [("1", "")], "", "ratio@1 takes 2 inputs, not 1"),
        ("sum@1", [("1", "")], "", "sum@1 takes 2 or more inputs, not 1"),
        ("ratio@1", [("1", "ms"), ("0.0", "ms")], "", "ratio@1 divides by c1, which is zero"),
        ("delta-pct@1", [("1", "ms"), ("0", "ms")], "%", "delta-pct@1 divides by c1, which is zero"),
        ("difference@1", [("1", "ms"), ("2", "s")], "ms", "difference@1: the units differ: ms, s"),
        ("difference@1", [("1", "ms"), ("2", "ms")], "s", "difference@1: the units differ: ms, s"),
        (
            "ratio@1",
            [("1", "ms"), ("2", "ms")],
            "ms",
            "ratio@1: the units cancel out, so the unit is none or x, not ms",
        ),
        ("ratio@1", [("1", "tok"), ("2", "s")], "x", "ratio@1: the unit is tok/s, not x"),
        ("delta-pct@1", [("1", "ms"), ("2", "ms")], "ms", "delta-pct@1: the unit is %, not ms"),
        ("gibibytes@1", [("1", "MiB")], "GiB", "gibibytes@1: the input is in MiB, not in bytes"),
        ("gibibytes@1", [("1", "B")], "GB", "gibibytes@1: the unit is GiB, not GB"),
        ("sum@1", [("1", ""), ("reached", "")], "", "c1 is no number: 'reached'"),
        ("sum@1", [("1", ""), ("nan", "")], "", "c1 is no number: 'nan'"),
        ("sum@1", [("1", ""), ("1e999", "")], "", "c1 is no number: '1e999'"),
    ],
)
def test_what_a_rule_cannot_take_is_refused(rule: str, values: list[tuple[str, str]], unit: str, message: str):
    with pytest.raises(EvidenceError) as caught:
        of(rule, values, unit=unit)
    assert caught.value.message == message


def test_a_value_is_derived_from_claims_that_stand_only():
    draft = DerivedDraft(slug="d", label="x", unit="tok/s", rule="difference@1", inputs=(ON, OFF), decimals=2)
    with pytest.raises(EvidenceError, match="no claim is called"):
        make_derived(standings(on_claim()), draft)
    with pytest.raises(EvidenceError, match="does not stand"):
        make_derived(standings(on_claim(), off_claim(), retraction(OFF)), draft)
    with pytest.raises(EvidenceError, match="does not stand"):
        make_derived(standings(on_claim(), Uncitable(slug=OFF, topic="x", why="no raw file")), draft)
    with pytest.raises(EvidenceError, match="is an explanation"):
        make_derived(standings(on_claim(), Explanation(slug=OFF, statement="x", facts=(ON,))), draft)


@pytest.mark.parametrize("decimals", [-1, 16])
def test_decimals_have_a_range(decimals: int):
    with pytest.raises(EvidenceError):
        of("sum@1", [("1", ""), ("1", "")], unit="", decimals=decimals)


def test_a_derived_claim_cannot_enter_itself():
    draft = DerivedDraft(slug=ON, label="x", unit="tok/s", rule="difference@1", inputs=(ON, OFF), decimals=2)
    with pytest.raises(InputError):
        make_derived(standings(on_claim(), off_claim()), draft)


_decimal = st.decimals(-1_000_000, 1_000_000, places=3, allow_nan=False).map(lambda value: f"{value:f}")


@given(_decimal, _decimal, st.integers(0, 6))
def test_a_derived_value_is_within_half_a_last_place_of_the_exact_one(a: str, b: str, decimals: int):
    found = of("difference@1", [(a, "s"), (b, "s")], unit="s", decimals=decimals)
    assert abs(Fraction(found) - (Fraction(a) - Fraction(b))) * 2 <= Fraction(1, 10**decimals)
    assert -Decimal(found).as_tuple().exponent == decimals


@given(_decimal, _decimal)
def test_the_difference_and_the_second_sum_to_the_first(a: str, b: str):
    difference = of("difference@1", [(a, "s"), (b, "s")], unit="s", decimals=3)
    assert Fraction(of("sum@1", [(difference, "s"), (b, "s")], unit="s", decimals=3)) == Fraction(a)


def test_every_rule_says_what_it_computes_and_has_a_version():
    assert set(RULES) == {"ratio@1", "difference@1", "delta-pct@1", "sum@1", "gibibytes@1"}
    assert all(rule.formula.endswith(".") for rule in RULES.values())


def test_an_explanation_explains_facts_that_stand_and_types_no_number():
    cause = Explanation(slug="c", statement="failed tactics poison the context", facts=(ON,))
    assert make_explanation(standings(on_claim()), cause) == cause
    for wrong in (
        replace(cause, facts=(OFF,)),
        replace(cause, statement="autotune costs 0.12 tok/s"),
        replace(cause, slug="e", facts=("c",)),
    ):
        with pytest.raises(EvidenceError):
            make_explanation(standings(on_claim(), cause), wrong)


def test_a_withheld_value_is_not_said_in_its_own_record():
    fine = Uncitable(slug="c128", topic="throughput at concurrency 128", why="no raw file was committed")
    assert make_uncitable(fine) == fine
    with pytest.raises(EvidenceError):
        make_uncitable(replace(fine, why="812 tok/s, from memory"))
