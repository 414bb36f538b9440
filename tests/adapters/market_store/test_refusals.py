"""One table of what must not be written, refused by both databases: by the schema itself, past every line of the market's own code."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import sqlalchemy
from tests.market import books

from dayzero.adapters.market_store.guard import guard
from dayzero.adapters.market_store.statements import columns
from dayzero.adapters.market_store.tables import APPEND_ONLY
from dayzero.adapters.store.engine import open_engine
from dayzero.market.account import open_account
from dayzero.market.affirmation import listed
from dayzero.market.chain import digest
from dayzero.market.model import Purchase
from dayzero.market.order import buy

FOREIGN, CHECK, UNIQUE, HISTORY = "FOREIGN KEY", "CHECK", "UNIQUE", "append-only"
NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True)
class Bad:
    """A row that must not be written: a good one with something changed.

    Attributes:
        name: What is wrong with it.
        table: Where.
        changed: Columns that differ from the good row.
        rule: The constraint that refuses it on PostgreSQL.
        kind: What SQLite says.
    """

    name: str
    table: str
    changed: Mapping[str, object]
    rule: str
    kind: str


SAID = [digest(said.body) for said in books.TERMS.affirmations]
SHORT, LONG, HOLED = listed(SAID[:3]), listed([*SAID, digest("x")]), listed([SAID[0], *SAID[2:]])
OTHER_TEXT, SWAPPED, TWICE = listed([*SAID[:3], digest("x")]), listed(SAID[::-1]), listed([*SAID[:3], SAID[0]])
UNSIGNED = {"signature_id": None, "terms_id": None}
UPKEEP = {**UNSIGNED, "order_id": "m1", "transfer_id": "tm", "requires_signature": 0}
BAD = (
    Bad("an order without the signature that its price demands", "orders", UNSIGNED, "orders_signed", CHECK),
    Bad(
        "an order that denies that its price demands one",
        "orders",
        {**UNSIGNED, "requires_signature": 0},
        "orders_tier",
        FOREIGN,
    ),
    Bad("an order at another amount", "orders", {"amount_minor": 1}, "orders_tier", FOREIGN),
    Bad("an order in another currency", "orders", {"currency": "USD"}, "orders_tier", FOREIGN),
    Bad("an order for another version", "orders", {"version_id": "{v2}"}, "orders_tier", FOREIGN),
    Bad("an order for no version", "orders", {"version_id": None}, "orders_tier", FOREIGN),
    Bad("an order for maintenance of a version", "upkeep", {"version_id": "{v2}"}, "orders_tier", FOREIGN),
    Bad("an order under other terms", "orders", {"terms_id": "{terms2}", "signature_id": "s6"}, "orders_tier", FOREIGN),
    Bad("a signed order under no terms", "orders", {"terms_id": None}, "orders_tier", FOREIGN),
    Bad("an unsigned order under terms", "upkeep", {"terms_id": "{terms2}"}, "orders_tier", FOREIGN),
    Bad("a signature that nobody asked for", "upkeep", {"signature_id": "s3"}, "orders_signed", CHECK),
    Bad("an order on a signature without a name", "orders", {"signature_id": ""}, "orders_signature_named", CHECK),
    Bad("an order on a signature that is not there", "orders", {"signature_id": "s0"}, "orders_signature", FOREIGN),
    Bad("an order on somebody else's signature", "orders", {"signature_id": "{foreign}"}, "orders_signature", FOREIGN),
    Bad(
        "a second order on one signature",
        "orders",
        {"id": "o9", "idem_key": "k9", "signature_id": "{used}"},
        "orders_uq_signature",
        UNIQUE,
    ),
    Bad("an order under a key that was used", "orders", {"idem_key": "used"}, "orders_uq_account_idem_key", UNIQUE),
    Bad("an order for nobody", "orders", {"account_id": "nobody"}, "orders_", FOREIGN),
    Bad("an unsigned order for nobody", "upkeep", {"account_id": "nobody"}, "orders_account", FOREIGN),
    Bad("a signature on another text", "signature", {"terms_sha256": digest("x")}, "signature_terms", FOREIGN),
    Bad("a signature for no entity", "signature", {"entity": "  "}, "signature_entity", CHECK),
    Bad("a signature by nobody", "signature", {"signer": ""}, "signature_signer", CHECK),
    Bad("a signature without authority", "signature", {"authority": ""}, "signature_authority", CHECK),
    Bad("a signature for nobody", "signature", {"account_id": "nobody"}, "signature_account", FOREIGN),
    Bad("a signature that affirms nothing", "signature", {"affirmations": ""}, "signature_terms", FOREIGN),
    Bad(
        "a signature that does not say what it affirms", "signature", {"affirmations": None}, "affirmations", "NOT NULL"
    ),
    Bad("an affirmation of another text", "signature", {"affirmations": OTHER_TEXT}, "signature_terms", FOREIGN),
    Bad("affirmations with the last one left out", "signature", {"affirmations": SHORT}, "signature_terms", FOREIGN),
    Bad("affirmations with one between left out", "signature", {"affirmations": HOLED}, "signature_terms", FOREIGN),
    Bad("affirmations out of order", "signature", {"affirmations": SWAPPED}, "signature_terms", FOREIGN),
    Bad("one affirmation in place of another", "signature", {"affirmations": TWICE}, "signature_terms", FOREIGN),
    Bad("affirmations beyond those of the terms", "signature", {"affirmations": LONG}, "signature_terms", FOREIGN),
    Bad("terms that list three of four", "terms", {"affirmations": SHORT}, "terms_listed", CHECK),
    Bad("a text that is not the one listed", "asked", {"sha256": digest("x")}, "terms_affirmation_listed", CHECK),
    Bad("a text listed at another place", "asked", {"ord": 3}, "terms_affirmation_listed", CHECK),
    Bad("a text under another list", "asked", {"affirmations": TWICE}, "terms_affirmation_terms", FOREIGN),
    Bad("a transfer of nothing", "transfer", {"amount_minor": 0}, "transfer_", CHECK),
    Bad("a transfer backwards", "transfer", {"amount_minor": -5}, "transfer_", CHECK),
    Bad("a sale below the price", "transfer", {"amount_minor": 1}, "transfer_order", FOREIGN),
    Bad("a sale that pays no order", "transfer", {"order_id": None, "idem_key": "x"}, "transfer_of_order", CHECK),
    Bad(
        "a sale from somebody else's wallet",
        "transfer",
        {"debit_id": "{purse}", "debit_owner": "{other}"},
        "transfer_debit_owner",
        CHECK,
    ),
    Bad("a sale from a wallet called one's own", "transfer", {"debit_id": "{purse}"}, "transfer_debit", HISTORY),
    Bad(
        "a sale to oneself",
        "transfer",
        {"credit_id": "{wallet}", "credit_kind": "wallet", "credit_owner": "{buyer}"},
        "transfer_sides",
        CHECK,
    ),
    Bad("a transfer in another currency", "transfer", {"currency": "USD"}, "transfer_", FOREIGN),
    Bad("a second payment of one order", "transfer", {"order_id": "{paid}"}, "transfer_uq_order", UNIQUE),
    Bad("a grant as a refund", "transfer", {"kind": "refund", "order_id": None, "idem_key": "x"}, "transfer_", CHECK),
    Bad(
        "a refund above the sale", "refund", {"amount_minor": books.COMMUNITY + 1}, "transfer_refund", "transfer_refund"
    ),
    Bad(
        "a refund to another wallet",
        "refund",
        {"credit_id": "{purse}", "account_id": "{other}", "credit_owner": "{other}"},
        "transfer_reverses",
        FOREIGN,
    ),
    Bad("a refund without a key", "refund", {"idem_key": None}, "transfer_key", CHECK),
    Bad("a sale on credit", "transfer", {"debit_kind": "grants"}, "transfer_sides", CHECK),
    Bad(
        "a kind that runs into that of its side",
        "refund",
        {"kind": "refundr", "debit_kind": "evenue", "reverses_id": None},
        "transfer_debit",
        FOREIGN,
    ),
    Bad("a refund of a grant", "refund", {"reverses_id": "{granted}"}, "transfer_re", "transfer_refund"),
    Bad("an entitlement without an order", "entitlement", {"order_id": "none"}, "entitlement_", FOREIGN),
    Bad(
        "an entitlement without the money",
        "entitlement",
        {"order_id": "{pending}", "transfer_id": "none", **UNSIGNED, "requires_signature": 0},
        "entitlement_payment",
        FOREIGN,
    ),
    Bad(
        "an entitlement on the money of another order",
        "entitlement",
        {"transfer_id": "{sale}"},
        "entitlement_payment",
        FOREIGN,
    ),
    Bad("an entitlement without a signature", "entitlement", UNSIGNED, "entitlement_order", FOREIGN),
    Bad(
        "an entitlement without the signature alone",
        "entitlement",
        {"signature_id": None},
        "entitlement_order",
        FOREIGN,
    ),
    Bad("an entitlement under no terms", "entitlement", {"terms_id": None}, "entitlement_order", FOREIGN),
    Bad(
        "an entitlement that denies that one is demanded",
        "entitlement",
        {**UNSIGNED, "requires_signature": 0},
        "entitlement_order",
        FOREIGN,
    ),
    Bad("an entitlement on another signature", "entitlement", {"signature_id": "s4"}, "entitlement_order", FOREIGN),
    Bad("an entitlement under other terms", "entitlement", {"terms_id": "{terms2}"}, "entitlement_order", FOREIGN),
    Bad("an entitlement to another version", "entitlement", {"version_id": "{v2}"}, "entitlement_order", FOREIGN),
    Bad("an entitlement out of maintenance", "entitlement", UPKEEP, "entitlement_order", FOREIGN),
    Bad(
        "an entitlement to no version, out of maintenance",
        "entitlement",
        {**UPKEEP, "version_id": ""},
        "entitlement_version",
        CHECK,
    ),
    Bad(
        "maintenance out of an entitlement's order",
        "subscription",
        {"order_id": "o1", "transfer_id": "t1"},
        "subscription_order",
        FOREIGN,
    ),
    Bad("maintenance that says it is signed", "subscription", {"requires_signature": 1}, "subscription_order", FOREIGN),
    Bad("maintenance on a signature", "subscription", {"signature_id": "s3"}, "subscription_order", FOREIGN),
    Bad("maintenance under terms", "subscription", {"terms_id": "{terms2}"}, "subscription_order", FOREIGN),
    Bad("maintenance without the money", "subscription", {"transfer_id": "none"}, "subscription_payment", FOREIGN),
    Bad("an entitlement of somebody else", "entitlement", {"account_id": "{other}"}, "entitlement_", FOREIGN),
    Bad(
        "a second entitlement of one order",
        "entitlement",
        {"order_id": "{paid}", "transfer_id": "{sale}", **UNSIGNED, "requires_signature": 0},
        "entitlement_uq_order",
        UNIQUE,
    ),
    Bad(
        "a price above the threshold without a signature",
        "tier",
        {"requires_signature": 0, "terms_id": None},
        "price_tier_threshold",
        CHECK,
    ),
    Bad(
        "a price with a threshold of its own",
        "tier",
        {"threshold_minor": 10**9, "requires_signature": 0, "terms_id": None},
        "price_tier_policy",
        FOREIGN,
    ),
    Bad("a signed price without terms", "tier", {"terms_id": None}, "price_tier_has_terms", CHECK),
    Bad("a price for a version without a name", "tier", {"version_id": ""}, "price_tier_version_named", CHECK),
    Bad("a price under terms without a name", "tier", {"terms_id": ""}, "price_tier_terms_named", CHECK),
    Bad("a free price", "tier", {"amount_minor": 0}, "price_tier_amount", CHECK),
    Bad("a balance out of nothing", "balance", NOTHING, "append-only", HISTORY),
    Bad("a download without an entitlement", "download", {"entitlement_id": "none"}, "download_entitlement", FOREIGN),
    Bad(
        "a download of a version that was not bought",
        "download",
        {"version_id": "{v2}", "kit_sha256": "{kit2}"},
        "download_granted",
        CHECK,
    ),
    Bad("a revocation as a refund without money", "revocation", {"refund_id": None}, "revocation_refunded", CHECK),
    Bad("an entry that does not follow", "journal", {"prev_hash": digest("x")}, "journal_prev", FOREIGN),
    Bad("an entry that leaves a number out", "journal", {"seq": 99, "prev_seq": 98}, "journal_prev", FOREIGN),
    Bad("an entry that counts past the one before", "journal", {"seq": 99}, "journal_order", CHECK),
    Bad("a beginning that is not the first", "journal", {"prev_seq": None, "prev_hash": ""}, "journal_order", CHECK),
    Bad(
        "a beginning that follows something",
        "journal",
        {"account_id": "new", "seq": 1, "prev_seq": None},
        "journal_order",
        CHECK,
    ),
    Bad(
        "a beginning before the first",
        "journal",
        {"account_id": "new", "seq": 0, "prev_seq": -1, "prev_hash": ""},
        "journal_prev",
        FOREIGN,
    ),
    Bad(
        "a second beginning of a chain", "journal", {"seq": 1, "prev_seq": None, "prev_hash": ""}, "journal_pk", UNIQUE
    ),
    Bad("an event that was taken in already", "event", {"event_id": "seen"}, "provider_event_pk", UNIQUE),
)
TABLE = {
    "upkeep": "orders",
    "asked": "terms_affirmation",
    "refund": "transfer",
    "tier": "price_tier",
    "event": "provider_event",
}


@dataclass
class Scene:
    """A market in which somebody is about to buy: names of what is there, and a good row for each kind of bad one."""

    place: books.Place
    names: dict[str, object]
    rows: dict[str, dict[str, object]]


def one(engine, statement: str) -> dict[str, object]:
    """Read a row without what the database works out by itself, so that it can be put again."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql(statement).mappings().one()
        return {name: value for name, value in found.items() if not name.endswith("_key") or name == "idem_key"}


def put(connection, table: str, values: Mapping[str, object]) -> None:
    connection.execute(
        sqlalchemy.text(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(':' + n for n in values)})"),
        values,
    )


@pytest.fixture
def scene(place, owner, shop, market):
    other = open_account(owner, "other")
    for account in (shop.buyer, other):
        books.fund(owner, account, 3_000_000, key=account)
    used = books.buy_signed(market, shop, "signed")
    paid = buy(market, Purchase(account_id=shop.buyer, key="used", tier_id=shop.community))
    waits = Purchase(account_id=shop.buyer, key="pending", tier_id=shop.community, provider="stripe")
    pending = buy(market, waits)
    v2 = books.publish_version(owner, books.version("2.0.0"))
    terms2 = books.publish_terms(owner, books.Terms(title="Other", body="other", affirmations=books.TERMS.affirmations))
    engine = open_engine(place.owner)
    signed_order = one(engine, f"SELECT * FROM orders WHERE id = '{used.id}'")
    names = {
        "buyer": shop.buyer, "other": other, "v2": v2, "kit2": books.sha("k2.0.0").hex, "terms2": terms2, "paid": paid.id,
        "pending": pending.id, "used": signed_order["signature_id"],
        "sale": one(engine, f"SELECT id FROM transfer WHERE order_id = '{paid.id}'")["id"],
        "granted": one(engine, f"SELECT id FROM transfer WHERE kind = 'grant' AND account_id = '{shop.buyer}'")["id"],
        "wallet": one(engine, f"SELECT id FROM ledger_account WHERE owner_id = '{shop.buyer}'")["id"],
        "purse": one(engine, f"SELECT id FROM ledger_account WHERE owner_id = '{other}'")["id"],
        "foreign": "s5", "revenue": one(engine, "SELECT id FROM ledger_account WHERE kind = 'revenue'")["id"],
    }  # fmt: skip
    rows = good_rows(engine, names, signed_order, shop)
    with engine.begin() as connection:
        for name in ("s2", "s3", "s4"):
            put(connection, "signature", {**rows["signature"], "id": name})
        put(connection, "signature", {**rows["signature"], "id": "s5", "account_id": other})
        other_text = {"terms_id": terms2, "terms_sha256": digest("other")}
        put(connection, "signature", {**rows["signature"], "id": "s6", **other_text})
        put(connection, "terms", {**rows["terms"], "id": "t0"})
        put(connection, "orders", {**rows["orders"], "id": "o1", "idem_key": "open"})
        put(connection, "provider_event", {**rows["event"], "event_id": "seen"})
        put(connection, "transfer", {**rows["transfer"], "id": "t1", "order_id": "o1"})
        put(connection, "orders", {**rows["upkeep"], "id": "m1", "idem_key": "m1"})
        put(
            connection,
            "transfer",
            {**rows["transfer"], "id": "tm", "order_id": "m1", "amount_minor": books.MAINTENANCE},
        )
        put(connection, "orders", {**rows["orders"], "id": "o2", "idem_key": "o2", "signature_id": "s4"})
    rows["orders"]["signature_id"], rows["transfer"]["order_id"] = "s3", "o2"
    engine.dispose()
    return Scene(place, names, rows)


def good_rows(engine, names, signed_order, shop) -> dict[str, dict[str, object]]:
    order = {**signed_order, "id": "new", "idem_key": "new", "signature_id": "s2"}
    upkeep = {
        **order,
        **UNSIGNED,
        "tier_id": shop.maintenance,
        "kind": "maintenance",
        "version_id": None,
        "requires_signature": 0,
        "amount_minor": books.MAINTENANCE,
    }
    sale = {**one(engine, f"SELECT * FROM transfer WHERE order_id = '{signed_order['id']}'"), "id": "new"}
    signature = {**one(engine, f"SELECT * FROM signature WHERE id = '{signed_order['signature_id']}'"), "id": "new"}
    sold = one(engine, f"SELECT * FROM transfer WHERE order_id = '{names['paid']}'")
    sides = {"debit": "credit", "credit": "debit"}
    back = {
        f"{side}_{part}": sold[f"{other}_{part}"] for side, other in sides.items() for part in ("id", "kind", "owner")
    }
    held = one(engine, f"SELECT * FROM entitlement WHERE order_id = '{signed_order['id']}'")
    entry = one(engine, f"SELECT * FROM journal WHERE account_id = '{shop.buyer}' ORDER BY seq DESC LIMIT 1")
    follows = {"seq": entry["seq"] + 1, "prev_seq": entry["seq"], "prev_hash": entry["hash"], "hash": digest("new")}
    del entry["recorded_at"]
    return {
        "orders": order,
        "upkeep": upkeep,
        "subscription": {**UPKEEP, "id": "new", "account_id": shop.buyer, "product_id": order["product_id"], "kind": "maintenance", "starts_at": "2026-08-01T12:00:00Z", "ends_at": "2027-08-01T12:00:00Z"},
        "signature": signature,
        "terms": {**one(engine, f"SELECT * FROM terms WHERE id = '{shop.terms}'"), "id": "new"},
        "asked": {**one(engine, f"SELECT * FROM terms_affirmation WHERE terms_id = '{shop.terms}' AND ord = 2"), "terms_id": "t0"},
        "transfer": sale,
        "refund": {**sold, **back, "id": "new", "kind": "refund", "order_id": None, "reverses_id": sold["id"], "idem_key": "refund"},
        "entitlement": {**held, "id": "new", "order_id": "o1", "signature_id": "s2", "transfer_id": "t1"},
        "tier": {**one(engine, f"SELECT * FROM price_tier WHERE id = '{shop.enterprise}'"), "id": "new"},
        "balance": {"ledger_account_id": names["revenue"], "amount_minor": 10**9},
        "download": {"id": "new", "account_id": shop.buyer, "product_id": held["product_id"], "version_id": held["version_id"], "kit_sha256": books.sha("k1.0.0").hex, "entitlement_id": held["id"], "entitled_version_id": held["version_id"], "subscription_id": None, "at": "2026-08-01T12:00:00Z"},
        "revocation": {"id": "new", "account_id": shop.buyer, "entitlement_id": held["id"], "subscription_id": None, "reason": "refund", "note": "", "sale_id": held["transfer_id"], "refund_id": "r1", "at": "2026-08-01T12:00:00Z"},
        "journal": {**entry, **follows},
        "event": {"provider": "stripe", "event_id": "new", "kind": "other", "order_id": "", "payment_ref": "", "amount_minor": 0, "currency": "", "body": "", "received_at": "2026-08-01T12:00:00Z"},
    }  # fmt: skip


def changed(scene: Scene, bad: Bad) -> dict[str, object]:
    names = {f"{{{name}}}": value for name, value in scene.names.items()}
    return {**scene.rows[bad.table], **{column: names.get(value, value) for column, value in bad.changed.items()}}


def says(error: sqlalchemy.exc.DBAPIError) -> str:
    named = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    return f"{named or ''} {error.orig}"


def test_every_bad_row_is_refused_by_the_rule_that_is_there_for_it(scene):
    engine, seen = open_engine(scene.place.owner), []
    for bad in BAD:
        with engine.connect() as connection, connection.begin() as transaction:
            try:
                put(connection, TABLE.get(bad.table, bad.table), changed(scene, bad))
                seen.append((bad.name, "ACCEPTED"))
            except sqlalchemy.exc.DBAPIError as error:
                said = says(error)
                expected = bad.rule if scene.place.cluster else bad.kind
                if bad.kind == UNIQUE and not scene.place.cluster:
                    expected = HISTORY  # before SQLite looks at its index, a trigger says that nothing is replaced
                if expected not in said:
                    seen.append((bad.name, said))
            transaction.rollback()
    engine.dispose()
    assert seen == []
    assert len(BAD) >= 50


def test_the_rows_that_the_bad_ones_are_made_from_are_accepted(scene):
    engine = open_engine(scene.place.owner)
    for kind in (
        "orders",
        "upkeep",
        "subscription",
        "signature",
        "terms",
        "asked",
        "transfer",
        "refund",
        "entitlement",
        "tier",
        "download",
        "journal",
        "event",
    ):
        with engine.connect() as connection, connection.begin() as transaction:
            put(connection, TABLE.get(kind, kind), scene.rows[kind])
            transaction.rollback()
    engine.dispose()


CHANGES = ("UPDATE {table} SET {column} = {column}", "DELETE FROM {table}", "TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("who", ["application", "owner"])
def test_nobody_changes_or_empties_a_table(scene, who):
    engine = open_engine(scene.place.database if who == "application" else scene.place.owner)
    if scene.place.cluster is None and who == "application":
        guard(engine)
    accepted, asked = [], 0
    for table in (*APPEND_ONLY, "balance"):
        for change in CHANGES if scene.place.cluster else CHANGES[:2]:
            statement = change.format(table=table, column=columns(table)[-1])
            with engine.connect() as connection, connection.begin() as transaction:
                asked += 1
                try:
                    if connection.exec_driver_sql(statement).rowcount and table != "balance":
                        accepted.append(statement)
                except sqlalchemy.exc.DBAPIError as error:
                    said = str(error.orig).partition("\n")[0]
                    # its own trigger: TRUNCATE CASCADE could be refused by another table's
                    own = said == f"append-only: {table}" or (table == "balance" and "balance follows" in said)
                    if not own and "permission denied" not in said and "not authorized" not in said:
                        accepted.append(f"{statement}: {error}")
                else:
                    if scene.place.cluster:
                        accepted.append(statement)
                transaction.rollback()
    engine.dispose()
    assert accepted == []
    assert asked >= 48


def test_an_overdraft_is_refused_also_where_the_statement_asks_to_ignore_conflicts(scene, market, shop):
    poor = open_account(market, "poor")
    order = buy(market, Purchase(account_id=poor, key="k", tier_id=shop.community, provider="stripe"))
    engine = open_engine(scene.place.owner)
    wallet = {"id": "w", "owner_id": poor, "kind": "wallet", "provider": "", "currency": "EUR", "opened_at": ""}
    sale = {**scene.rows["transfer"], "account_id": poor, "debit_id": "w", "debit_owner": poor, "order_id": order.id}
    sale |= {"id": "t9", "amount_minor": books.COMMUNITY}
    with engine.begin() as connection:
        put(connection, "ledger_account", wallet)
    statement = f"INTO transfer ({', '.join(sale)}) VALUES ({', '.join(':' + name for name in sale)})"
    verbs = (
        ("INSERT",) if scene.place.cluster else ("INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL")
    )
    for verb in verbs:
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="balance_not_negative"), engine.begin() as connection:
            connection.execute(sqlalchemy.text(f"{verb} {statement}"), sale)
    assert one(engine, "SELECT count(*) AS n FROM transfer WHERE id = 't9'") == {"n": 0}
    engine.dispose()
