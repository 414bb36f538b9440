import pytest
from verifier.tests.kits import dump, statement

from dayzero_verify.retraction import (
    RETRACTION_TYPE,
    ClaimName,
    Retraction,
    hits,
    parse_retraction,
    plain,
    stated_claims,
    taken_back,
)
from dayzero_verify.statement import StatementError, parse_statement

DIGEST = "1" * 64
SAID = {
    "what": "kit",
    "kind": "withdraw",
    "reason": "one failure attributes nothing",
    "effective": "2026-11-30T12:00:00Z",
    "replacedBy": "",
}


def read(**changes: object) -> Retraction:
    members = {name: value for name, value in {**SAID, **changes}.items() if value is not None}
    return parse_retraction(parse_statement(dump(statement(RETRACTION_TYPE, [("x", DIGEST)], members))))


def test_a_retraction_is_read_as_it_is_written():
    found = read()
    assert (found.what, found.word, found.digests, found.slug) == ("kit", "withdrawn", (DIGEST,), "")
    assert read(kind="retract", what="claim", slug="speed").word == "retracted"


@pytest.mark.parametrize(
    "changes",
    [
        {"what": "key"},
        {"kind": "correct"},
        {"reason": ""},
        {"reason": None},
        {"effective": "yesterday"},
        {"effective": None},
        {"replacedBy": None},
        {"what": "claim"},
        {"slug": "speed"},
        {"what": "claim", "slug": 1},
    ],
)
def test_a_retraction_that_does_not_say_enough_is_refused(changes: dict[str, object]):
    with pytest.raises(StatementError):
        read(**changes)


@pytest.mark.parametrize(
    ("changes", "kit", "receipts", "claims", "found"),
    [
        ({}, DIGEST, (), (), True),
        ({}, "2" * 64, (DIGEST,), (ClaimName("speed", DIGEST),), False),
        ({"what": "receipt"}, "2" * 64, (DIGEST,), (), True),
        ({"what": "receipt"}, DIGEST, (), (), False),
        ({"what": "claim", "slug": "speed"}, DIGEST, (), (ClaimName("speed", DIGEST),), True),
        ({"what": "claim", "slug": "speed"}, DIGEST, (), (ClaimName("speed", "2" * 64),), False),
        ({"what": "claim", "slug": "speed"}, DIGEST, (), (ClaimName("memory", DIGEST),), False),
    ],
)
def test_a_retraction_is_about_what_it_names_and_nothing_else(
    changes: dict[str, object], kit: str, receipts: tuple[str, ...], claims: tuple[ClaimName, ...], *, found: bool
):
    assert hits(read(**changes), kit=kit, receipts=receipts, claims=claims) is found


def ledger(*entries: tuple[str, dict[str, object]]) -> bytes:
    return b"".join(dump({"seq": seq, "type": kind, "body": body}) + b"\n" for seq, (kind, body) in enumerate(entries))


CLAIM = ("claim", {"slug": "speed", "raw": DIGEST})
EVENT = ("retraction", {"slug": "speed", "kind": "retract", "reason": "the timer\x1b[2J broke"})


@pytest.mark.parametrize(
    ("entries", "gone"),
    [
        ((CLAIM,), []),
        ((CLAIM, EVENT), [ClaimName("speed", DIGEST)]),
        ((CLAIM, EVENT, CLAIM), []),
        ((CLAIM, EVENT, ("claim", {"slug": "speed", "raw": "2" * 64})), [ClaimName("speed", DIGEST)]),
        ((EVENT,), [ClaimName("speed", "")]),
        ((CLAIM, ("concern", EVENT[1])), []),
        ((("raw", {"sha256": DIGEST}), ("note", {})), []),
    ],
)
def test_a_ledger_takes_back_the_last_claim_of_a_slug_until_it_is_made_again(
    entries: tuple[tuple[str, dict[str, object]], ...], gone: list[ClaimName]
):
    assert list(taken_back(ledger(*entries))) == gone


def test_a_reason_cannot_steer_a_terminal():
    assert taken_back(ledger(CLAIM, EVENT)) == {ClaimName("speed", DIGEST): "retracted: the timer?[2J broke"}
    assert plain("a\u009bb\n\u202e\xe9") == "a?b??\xe9"


def test_the_claims_of_a_receipt_are_named_or_refused():
    assert stated_claims({"claims": [CLAIM[1], {"slug": "x"}]}) == (ClaimName("speed", DIGEST),)
    assert stated_claims({}) == ()
    for claims in ("speed", ["speed"], {"speed": 1}):
        with pytest.raises(StatementError):
            stated_claims({"claims": claims})  # type: ignore[dict-item]
