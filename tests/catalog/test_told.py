"""A number on a card belongs to the card's recipe, whatever was measured under its slug since."""

from dataclasses import replace

import pytest
from tests.catalog.sample import AT, ROWS, claim, made_card, raw_file, tiny, told_of

from dayzero.catalog.model import STEPS, Absent, Figure, Gone, Reached, Shown
from dayzero.catalog.standing import read_fit, read_ladder
from dayzero.core.package import Package
from dayzero.evidence.model import Claim, Concern, Correction, Expiry, Reaffirmation, Record, Retraction, Uncitable
from dayzero.evidence.subject import recipe_digest

SLUG = "demo-kimi-k3-tiny/c1-output-tok-s"
RAW = raw_file("requests.jsonl", ROWS)


def second() -> Package:
    package = tiny()
    return replace(
        package,
        version="1.1.0",
        recipe=replace(package.recipe, engine=replace(package.recipe.engine, version="2026.11.20007")),
    )


def first_claim(value: str = "532.4") -> Claim:
    return claim(tiny(), "c1-output-tok-s", value)


def second_claim(value: str = "611.7") -> Claim:
    return claim(second(), "c1-output-tok-s", value)


def back(kind: str) -> Retraction:
    return Retraction(slug=SLUG, kind=kind, reason="The clock was wrong.", at=AT)


CORRECTED = Correction(slug=SLUG, reason="A decimal point was lost.", at=AT)
CONCERN = Concern(slug=SLUG, reason="Looked at again.", at=AT)
WITHHELD = Uncitable(slug=SLUG, topic="rate", why="The log went with the node.")


def figures(*records: Record) -> tuple[Figure, Figure]:
    """Give what the first and the second version's card show."""
    first, later = (made_card(package, RAW, *records).measurements[0].figure for package in (tiny(), second()))
    return first, later


def said(figure: Figure) -> str:
    match figure:
        case Shown(claim=shown, marks=marks):
            return " ".join([shown.value, *(mark.word for mark in marks)])
        case Gone() as gone:
            return gone.word
        case Absent(why=why):
            return why


ELSEWHERE = "was measured on another recipe"


@pytest.mark.parametrize(
    ("records", "first", "later"),
    [
        ((first_claim(),), "532.4", ELSEWHERE),
        ((first_claim(), second_claim()), "532.4", "611.7"),
        ((second_claim(), first_claim()), "532.4", "611.7"),
        ((first_claim("530.0"), first_claim(), second_claim()), "532.4", "611.7"),
        ((first_claim(), second_claim(), first_claim("540.0")), "540.0", "611.7"),
        ((first_claim(), second_claim(), back("retract")), "532.4", "retracted"),
        ((first_claim(), back("retract"), second_claim()), "retracted", "611.7"),
        ((first_claim("530.0"), first_claim(), back("withdraw"), second_claim()), "withdrawn", "611.7"),
        ((first_claim(), CORRECTED, second_claim()), "was corrected, and not for this recipe", "611.7"),
        ((first_claim("53.24"), CORRECTED, first_claim(), second_claim()), "532.4", "611.7"),
        ((first_claim(), second_claim(), WITHHELD), "value exists and is withheld", "value exists and is withheld"),
        ((first_claim(), WITHHELD, second_claim()), "value exists and is withheld", "611.7"),
        ((first_claim(), CONCERN, second_claim()), "532.4 under concern", "611.7"),
        ((first_claim(), CONCERN, Reaffirmation(slug=SLUG, reason="Held.", at=AT), second_claim()), "532.4", "611.7"),
        (
            (first_claim(), Expiry(slug=SLUG, reason="The image is gone.", at=AT), second_claim()),
            "532.4 not reproducible",
            "611.7",
        ),
        ((first_claim(), back("retract")), "retracted", "and taken back since"),
        ((), "holds no claim", "holds no claim"),
        ((WITHHELD, first_claim()), "532.4", "value exists and is withheld"),
    ],
)
def test_each_version_shows_the_newest_claim_about_its_own_recipe(records: tuple[Record, ...], first: str, later: str):
    for figure, expected in zip(figures(*records), (first, later), strict=True):
        assert expected in said(figure) if isinstance(figure, Absent) else expected == said(figure)


@pytest.mark.parametrize(
    ("id_", "first", "later"),
    [("status-serves", "reached", "the port was taken"), ("fit", "measured-fits", "measured-does-not-fit")],
)
def test_a_statement_about_an_earlier_recipe_stays_with_it(id_: str, first: str, later: str):
    made, since = (
        replace(stated, slug=f"demo-kimi-k3-tiny/{id_}", value=value, unit="")
        for stated, value in ((first_claim(), first), (second_claim(), later))
    )
    for package, value in ((tiny(), first), (second(), later)):
        about = told_of(RAW, made, since).about(recipe_digest(package.recipe))
        if id_ == "fit":
            assert read_fit(package, about).state.value == value
        else:
            step = read_ladder(package, about)[STEPS.index("serves")]
            assert (isinstance(step, Reached), getattr(step, "why", "reached")) == (value == "reached", value)
