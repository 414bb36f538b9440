import pytest
from tests.evidence.samples import CAUSE, OFF, ON, World, cause_claim, on_claim, retraction, seeds_world

from dayzero.evidence.citation import Page
from dayzero.evidence.consequence import changes
from dayzero.evidence.model import Concern, Derived, Record
from dayzero.evidence.pages import read_page

_RATIO = "k3/on-over-off"


def _world() -> World:
    world = seeds_world()
    world.append(
        Derived(slug=_RATIO, label="on over off", value="1.001", unit="", rule="ratio@1", inputs=(ON, OFF), decimals=3)
    )
    world.pages["docs/a.md"] = f"<!--claim {_RATIO}-->1.001<!--/claim-->"
    return world


def _changes(*records: Record) -> list[tuple[str, str, str, list[str]]]:
    world = _world()
    before = world.parsed()
    world.append(*records)
    readings = tuple(read_page(Page(path=path, content=text.encode())) for path, text in world.pages.items())
    found = changes(before, world.parsed(), readings)
    return [(c.slug, c.before, c.after, [str(cited.place) for cited in c.cited]) for c in found]


def test_taking_back_a_cause_changes_the_cause_alone():
    assert _changes(retraction(CAUSE)) == [(CAUSE, repr(cause_claim().text), "withdrawn", ["README.md:12"])]


@pytest.mark.parametrize("kind", ["retract", "withdraw"])
def test_taking_back_a_figure_changes_what_is_computed_from_it_too(kind: str):
    word = "retracted" if kind == "retract" else "withdrawn"
    assert _changes(retraction(ON, kind)) == [
        (ON, "'140.42 tok/s'", word, ["README.md:3", "site/index.html:5"]),
        (_RATIO, "'1.001'", f"unsupported: it rests on {ON}", ["docs/a.md:1"]),
    ]


def test_a_concern_is_a_change_and_the_same_claim_again_is_none():
    (change, *_) = _changes(Concern(slug=ON, reason="under test again", at="2026-08-02T09:00:00Z"))
    assert change[:3] == (ON, "'140.42 tok/s'", "'140.42 tok/s', under concern")
    assert _changes(on_claim()) == []
