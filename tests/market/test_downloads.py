"""Who may download what, as one table; and what a download leaves behind."""

import json
from dataclasses import dataclass, field

import pytest
from tests.evidence.samples import retraction, seeds_world
from tests.market import books

from dayzero.evidence.ledger import parse
from dayzero.evidence.retract import retract
from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.entitlement import access, download
from dayzero.market.errors import RefusedError
from dayzero.market.licence import licence_document
from dayzero.market.model import Allowed, Order, Purchase
from dayzero.market.order import buy
from dayzero.market.publish import Tier, notice, publish_tier, publish_version
from dayzero.market.refund import Refund, refund, revoke


@dataclass
class Story:
    """What happens before somebody asks to download."""

    owner: object
    market: object
    clock: books.Clock
    shop: books.Shop
    orders: dict[str, Order] = field(default_factory=dict)

    def play(self, step: str) -> None:
        """Let one thing happen; the step is its name, and what it is about."""
        verb, _, rest = step.partition(" ")
        getattr(self, f"do_{verb}")(rest)

    def do_buy(self, what: str) -> None:
        tier = {"signed": self.shop.enterprise, "unsigned": self.shop.community, "maintenance": self.shop.maintenance}[
            what
        ]
        signed = books.signing() if what == "signed" else None
        key = f"{what}-{len(self.orders)}"
        asked = Purchase(account_id=self.shop.buyer, key=key, tier_id=tier, signing=signed)
        self.orders[what] = buy(self.market, asked)

    def do_wait(self, days: str) -> None:
        self.clock.turn(days=int(days))

    def do_publish(self, version: str) -> None:
        publish_version(self.owner, books.version(version))

    def do_price(self, version: str) -> None:
        terms = {"amount_minor": books.ENTERPRISE, "currency": "EUR", "terms_id": self.shop.terms}
        publish_tier(self.owner, Tier(name="enterprise", product="kimi-k3", version=version, **terms))

    def do_refund(self, what: str) -> None:
        refund(self.owner, Refund(order_id=self.orders[what].id, key=what, reason="asked"))

    def do_halve(self, what: str) -> None:
        half = self.orders[what].amount_minor // 2
        refund(
            self.owner, Refund(order_id=self.orders[what].id, key=f"half-{what}", reason="goodwill", amount_minor=half)
        )

    def do_revoke(self, what: str) -> None:
        revoke(self.owner, self.orders[what].entitlement_id, "breach", "resold")

    def do_retract(self, _: str) -> None:
        ledger = parse(seeds_world().ledger)
        taken = retraction(next(iter(ledger.standings())), kind="retract")
        assert retract(ledger, taken) == taken
        notice(self.owner, self.shop.v1, "claim-retracted", taken.slug)

    def do_yank(self, _: str) -> None:
        notice(self.owner, self.shop.v1, "yanked", "an engine wheel of it was withdrawn")


TABLE = (
    ("nothing was bought", (), ()),
    ("v1 bought", ("buy signed",), ("1.0.0",)),
    ("v1 bought, v2 published", ("buy signed", "wait 10", "publish 2.0.0"), ("1.0.0",)),
    ("maintenance, v2 inside the window", ("buy signed", "buy maintenance", "wait 10", "publish 2.0.0"), ("1.0.0", "2.0.0")),
    ("v2 in the first second of the window", ("buy signed", "buy maintenance", "publish 2.0.0"), ("1.0.0", "2.0.0")),
    ("v2 at the end, which is outside", ("buy signed", "buy maintenance", "wait 365", "publish 2.0.0"), ("1.0.0",)),
    ("v2 after the window", ("buy signed", "buy maintenance", "wait 400", "publish 2.0.0"), ("1.0.0",)),
    ("v2 before the window", ("buy signed", "publish 2.0.0", "wait 1", "buy maintenance"), ("1.0.0",)),
    (
        "v2 stays when the window has ended",
        ("buy signed", "buy maintenance", "wait 10", "publish 2.0.0", "wait 800", "publish 3.0.0"),
        ("1.0.0", "2.0.0"),
    ),
    (
        "renewed in time, the windows meet",
        ("buy signed", "buy maintenance", "wait 300", "buy maintenance", "wait 400", "publish 2.0.0"),
        ("1.0.0", "2.0.0"),
    ),
    (
        "renewed late, there is a gap",
        ("buy signed", "buy maintenance", "wait 400", "publish 2.0.0", "wait 1", "buy maintenance", "publish 3.0.0"),
        ("1.0.0", "3.0.0"),
    ),
    (
        "v2 needs a signature, and v1 was signed",
        ("buy signed", "buy maintenance", "wait 1", "publish 2.0.0", "price 2.0.0"),
        ("1.0.0", "2.0.0"),
    ),
    (
        "v2 needs a signature, and v1 was bought without",
        ("buy unsigned", "buy maintenance", "wait 1", "publish 2.0.0", "price 2.0.0"),
        ("1.0.0",),
    ),
    ("a claim retracted", ("buy signed", "buy maintenance", "wait 1", "publish 2.0.0", "retract"), ("1.0.0", "2.0.0")),
    ("v1 yanked", ("buy signed", "yank"), ("1.0.0",)),
    ("v1 refunded", ("buy signed", "refund signed"), ()),
    ("half of v1 refunded", ("buy signed", "halve signed"), ("1.0.0",)),
    ("v1 refunded in two halves", ("buy signed", "halve signed", "refund signed"), ()),
    ("v1 refunded, maintenance left", ("buy signed", "buy maintenance", "wait 1", "publish 2.0.0", "refund signed"), ()),
    (
        "maintenance refunded",
        ("buy signed", "buy maintenance", "wait 1", "publish 2.0.0", "refund maintenance"),
        ("1.0.0",),
    ),
    ("v1 revoked", ("buy signed", "revoke signed"), ()),
    ("v1 revoked and bought again", ("buy signed", "revoke signed", "buy signed"), ("1.0.0",)),
    ("v1 bought twice, one refunded", ("buy unsigned", "buy signed", "refund unsigned"), ("1.0.0",)),
)  # fmt: skip


@pytest.mark.parametrize(("steps", "allowed"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_who_may_download_what(owner, market, clock, shop, steps, allowed):
    check_story(owner, market, clock, shop, steps, allowed)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
@pytest.mark.parametrize("row", [3, 5, 10, 12, 18], ids=[TABLE[n][0] for n in (3, 5, 10, 12, 18)])
def test_who_may_download_what_on_postgres(owner, market, clock, shop, row):
    check_story(owner, market, clock, shop, *TABLE[row][1:])


def check_story(owner, market, clock, shop, steps, allowed) -> None:
    books.fund(owner, shop.buyer, 10 * books.ENTERPRISE)
    story = Story(owner, market, clock, shop)
    for step in steps:
        story.play(step)
    published = ["1.0.0", *(step.split()[1] for step in steps if step.startswith("publish"))]
    other = open_account(market, "somebody else")
    for version in published:
        found = access(market, shop.buyer, "kimi-k3", version)
        assert isinstance(found, Allowed) == (version in allowed), (version, found)
        assert not isinstance(access(market, other, "kimi-k3", version), Allowed)
        if version in allowed:
            assert download(market, shop.buyer, "kimi-k3", version).kit_sha256 == books.sha(f"k{version}").hex
        else:
            with pytest.raises(RefusedError) as refused:
                download(market, shop.buyer, "kimi-k3", version)
            assert refused.value.code == "not-entitled"
    seen = audit(market)
    assert seen.findings == ()
    recorded = market.books.read(lambda desk: desk.every("download"))
    assert len(recorded) == len(allowed)


def test_a_download_names_the_licence_it_is_under(owner, market, shop, clock):
    books.fund(owner, shop.buyer, 2 * books.ENTERPRISE)
    order = books.buy_signed(market, shop)
    clock.turn(days=1)
    notice(owner, shop.v1, "claim-retracted", "kimi-k3/tpot was measured on another build")
    done = download(market, shop.buyer, "kimi-k3", "1.0.0")
    said = json.loads(licence_document(market, done.allowed, done.id))
    assert said["entitlement"] == order.entitlement_id
    assert (said["package"], said["version"], said["download"]) == ("kimi-k3", "1.0.0", done.id)
    assert said["licence"]["entity"] == "Acme GmbH"
    assert said["licence"]["terms"] == books.TERMS.body
    assert [entry["kind"] for entry in said["licence"]["affirmations"]] == [a.kind for a in books.TERMS.affirmations]
    assert done.notices == (("claim-retracted", "kimi-k3/tpot was measured on another build"),)


def test_a_download_without_a_signature_says_so(owner, market, shop):
    books.fund(owner, shop.buyer, books.COMMUNITY)
    buy(market, Purchase(account_id=shop.buyer, key="k", tier_id=shop.community))
    done = download(market, shop.buyer, "kimi-k3", "1.0.0")
    assert json.loads(licence_document(market, done.allowed, done.id))["licence"] is None


def test_maintenance_ends_with_the_calendar_and_says_so(owner, market, shop):
    books.fund(owner, shop.buyer, 10**12)
    books.buy_signed(market, shop)
    century = Tier(name="century", product="kimi-k3", maintenance_days=36_525, amount_minor=1, currency="EUR")
    price = publish_tier(owner, century)
    for number in range(79):
        buy(market, Purchase(account_id=shop.buyer, key=f"care {number}", tier_id=price))
    with pytest.raises(RefusedError, match="does not run past the year 9999"):
        buy(market, Purchase(account_id=shop.buyer, key="care", tier_id=price))
    assert audit(owner).findings == ()


def test_maintenance_is_for_who_has_a_version(owner, market, shop):
    books.fund(owner, shop.buyer, books.MAINTENANCE)
    with pytest.raises(RefusedError) as refused:
        buy(market, Purchase(account_id=shop.buyer, key="k", tier_id=shop.maintenance))
    assert refused.value.code == "not-entitled"
