import pytest
from tests.evidence.samples import OFF, off_claim, on_claim, retraction

from dayzero.core.errors import InputError
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Record
from dayzero.evidence.retract import retract


def _ledger(*records: Record) -> Ledger:
    return Ledger().append(records)[0]


@pytest.mark.parametrize(
    ("before", "kind", "allowed"),
    [
        ((off_claim(),), "retract", True),
        ((off_claim(),), "withdraw", True),
        ((off_claim(), retraction(OFF, "withdraw")), "retract", True),
        ((off_claim(), retraction(OFF, "withdraw")), "withdraw", False),
        ((off_claim(), retraction(OFF, "retract")), "retract", False),
        ((off_claim(), retraction(OFF, "retract")), "withdraw", False),
        ((off_claim(), retraction(OFF, "retract"), off_claim()), "retract", True),
        ((on_claim(),), "retract", False),
        ((), "retract", False),
    ],
)
def test_a_claim_is_taken_back_once_in_each_way_and_never_less_than_before(
    before: tuple[Record, ...], kind: str, *, allowed: bool
):
    wanted = retraction(OFF, kind)
    if allowed:
        assert retract(_ledger(*before), wanted) == wanted
    else:
        with pytest.raises(InputError):
            retract(_ledger(*before), wanted)


def test_a_mistyped_slug_gets_the_nearest_one():
    with pytest.raises(InputError) as caught:
        retract(_ledger(off_claim(), on_claim()), retraction("k3/autotune-of-tok-s"))
    assert caught.value.hint.startswith(f"Did you mean {OFF}")
