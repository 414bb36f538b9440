"""One table of what must not be written, refused by both databases: by the schema itself, past every line of the market's own code."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import sqlalchemy
from tests.adapters.market_store.bad_rows import BAD, HISTORY, TABLE, UNIQUE, Bad
from tests.market import books

from dayzero.adapters.market_store.guard import guard
from dayzero.adapters.market_store.statements import columns
from dayzero.adapters.market_store.tables import APPEND_ONLY, TABLES
from dayzero.adapters.store.engine import open_engine
from dayzero.market.account import open_account
from dayzero.market.chain import digest
from dayzero.market.model import Purchase
from dayzero.market.order import buy

GENERATED = {column.name for table in TABLES.values() for column in table.columns if column.computed is not None}


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
        return {name: value for name, value in found.items() if name not in GENERATED}


def put(connection, table: str, values: Mapping[str, object]) -> None:
    connection.execute(
        sqlalchemy.text(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(':' + n for n in values)})"),
        values,
    )


@pytest.fixture
def scene(place, owner, shop, market):
    other = open_account(owner, "other")
    for account in (shop.buyer, other):
        books.fund(owner, account, 5_000_000, key=account)
    used = books.buy_signed(market, shop, "signed")
    paid = buy(market, Purchase(account_id=shop.buyer, key="used", tier_id=shop.community))
    cared, ended = (
        buy(market, Purchase(account_id=shop.buyer, key=key, tier_id=shop.maintenance)) for key in ("care", "ended")
    )
    gone = buy(market, Purchase(account_id=shop.buyer, key="gone", tier_id=shop.community))
    waits = Purchase(account_id=shop.buyer, key="pending", tier_id=shop.community, provider="stripe")
    pending = buy(market, waits)
    late = buy(market, Purchase(account_id=shop.buyer, key="late", tier_id=shop.community, provider="stripe"))
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
        "cared": cared.id, "gone": gone.entitlement_id, "ended": ended.subscription_id,
        "care": one(engine, f"SELECT id FROM transfer WHERE order_id = '{cared.id}'")["id"],
        "back": one(engine, f"SELECT id FROM transfer WHERE order_id = '{gone.id}'")["id"],
        "late": one(engine, f"SELECT id FROM transfer WHERE order_id = '{ended.id}'")["id"],
        "starts": one(engine, f"SELECT starts_at FROM subscription WHERE order_id = '{cared.id}'")["starts_at"],
        "given": f"grant:{shop.buyer}", "foreign": "s5", "revenue": one(engine, "SELECT id FROM ledger_account WHERE kind = 'revenue'")["id"],
        "clearing": one(engine, "SELECT id FROM ledger_account WHERE kind = 'clearing'")["id"],
    }  # fmt: skip
    rows = good_rows(engine, names, signed_order, shop)
    care_sale = one(engine, f"SELECT * FROM transfer WHERE id = '{names['care']}'")
    with engine.begin() as connection:
        for name in ("s2", "s3", "s4"):
            put(connection, "signature", {**rows["signature"], "id": name})
        put(connection, "signature", {**rows["signature"], "id": "s5", "account_id": other})
        other_terms = {"id": "s6", "terms_id": terms2, "terms_sha256": digest("other")}
        put(connection, "signature", {**rows["signature"], **other_terms})
        put(connection, "terms", {**rows["terms"], "id": "t0"})
        put(connection, "orders", {**rows["orders"], "id": "o1", "idem_key": "open"})
        put(connection, "provider_event", {**rows["event"], "event_id": "seen"})
        said = {"kind": "paid", "order_id": pending.id, "amount_minor": books.COMMUNITY, "currency": "EUR"}
        put(connection, "provider_event", {**rows["event"], "event_id": "came", **said})
        put(connection, "transfer", {**rows["transfer"], "id": "t1", "order_id": "o1"})
        put(connection, "orders", {**rows["upkeep"], "id": "m1", "idem_key": "m1"})
        put(connection, "transfer", {**care_sale, "id": "tm", "order_id": "m1"})
        put(connection, "orders", {**rows["orders"], "id": "o2", "idem_key": "o2", "signature_id": "s4"})
        put(connection, "transfer", {**rows["refund"], "id": "r1", "reverses_id": names["back"], "idem_key": "r1"})
        back = {"entitlement_id": names["gone"], "sale_id": names["back"], "reason": "refund", "refund_id": "r1"}
        put(connection, "revocation", {**rows["revocation"], "id": "v1", **back})
        ends = {"entitlement_id": None, "subscription_id": names["ended"], "sale_id": names["late"]}
        put(connection, "revocation", {**rows["revocation"], "id": "v2", **ends})
        put(connection, "download", {**rows["download"], "id": "d1"})
        put(connection, "version_notice", {**rows["notice"], "id": "n1", "kind": "claim-retracted"})
        put(connection, "tier_withdrawal", {**rows["withdrawal"], "tier_id": shop.maintenance})
        put(connection, "payment_session", {**rows["page"], "order_id": late.id})
        put(connection, "settlement", {**rows["settlement"], "order_id": late.id})
        put(connection, "block", {**rows["block"], "seq": 1, "prev_seq": None, "prev_hash": ""})
    rows["orders"]["signature_id"], rows["transfer"]["order_id"] = "s3", "o2"
    engine.dispose()
    return Scene(place, names, rows)


def good_rows(engine, names, signed_order, shop) -> dict[str, dict[str, object]]:
    order = {**signed_order, "id": "new", "idem_key": "new", "signature_id": "s2"}
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
    return goods(engine, names, shop) | {
        "orders": order,
        "signature": signature,
        "terms": {**one(engine, f"SELECT * FROM terms WHERE id = '{shop.terms}'"), "id": "new"},
        "asked": {**one(engine, f"SELECT * FROM terms_affirmation WHERE terms_id = '{shop.terms}' AND ord = 2"), "terms_id": "t0"},
        "transfer": sale,
        "refund": {**sold, **back, "id": "new", "kind": "refund", "order_id": None, "reverses_id": sold["id"], "idem_key": "refund"},
        "entitlement": {**held, "id": "new", "order_id": "o1", "signature_id": "s2", "transfer_id": "t1"},
        "tier": {**one(engine, f"SELECT * FROM price_tier WHERE id = '{shop.enterprise}'"), "id": "new"},
        "balance": {"ledger_account_id": names["revenue"], "amount_minor": 10**9},
        "download": {"id": "new", "account_id": shop.buyer, "product_id": held["product_id"], "version_id": held["version_id"], "kit_sha256": books.sha("k1.0.0").hex, "entitlement_id": held["id"], "entitled_version_id": held["version_id"], "subscription_id": None, "at": "2026-08-01T12:00:00Z"},
        "revocation": {"id": "new", "account_id": shop.buyer, "entitlement_id": held["id"], "subscription_id": None, "reason": "breach", "note": "", "sale_id": held["transfer_id"], "refund_id": None, "at": "2026-08-01T12:00:00Z"},
        "journal": {**entry, **follows},
        "event": {"provider": "stripe", "event_id": "new", "kind": "other", "order_id": "", "payment_ref": "", "amount_minor": 0, "currency": "", "body": "", "received_at": "2026-08-01T12:00:00Z"},
    }  # fmt: skip


def goods(engine, names, shop) -> dict[str, dict[str, object]]:
    """Give good rows of what is on offer, and of what stands beside an order."""
    at = "2026-08-01T12:00:00Z"
    awaited = one(engine, f"SELECT * FROM payment WHERE order_id = '{names['pending']}'")
    version = one(engine, f"SELECT * FROM package_version WHERE id = '{shop.v1}'")
    grant = {**one(engine, f"SELECT * FROM transfer WHERE id = '{names['granted']}'"), "id": "new", "idem_key": "new"}
    came = {
        "kind": "deposit",
        "debit_id": names["clearing"],
        "debit_kind": "clearing",
        "idem_key": "deposit:stripe:came",
    }
    return {
        "deposit": {**grant, **came, "amount_minor": books.COMMUNITY},
        "plain": {**one(engine, f"SELECT * FROM orders WHERE id = '{names['paid']}'"), "id": "new", "idem_key": "new"},
        "upkeep": {**one(engine, f"SELECT * FROM orders WHERE id = '{names['cared']}'"), "id": "new", "idem_key": "new"},
        "account": {"id": "new", "name": "new", "created_at": at},
        "wallet": {"id": "new", "owner_id": names["other"], "kind": "wallet", "provider": "", "currency": "USD", "opened_at": at},
        "product": {"id": "new", "name": "new", "title": "", "created_at": at},
        "version": {**version, "id": "new", "version": "9.0.0"},
        "notice": {"id": "new", "version_id": shop.v1, "kind": "yanked", "body": "", "at": at},
        "policy": {"id": "new", "currency": "EUR", "threshold_minor": 0, "at": at},
        "care": {**one(engine, f"SELECT * FROM price_tier WHERE id = '{shop.maintenance}'"), "id": "new"},
        "withdrawal": {"tier_id": shop.community, "reason": "", "at": at},
        "grant": grant,
        "subscription": {**one(engine, f"SELECT * FROM subscription WHERE order_id = '{names['cared']}'"), "id": "new", "order_id": "m1", "transfer_id": "tm"},
        "payment": {**awaited, "order_id": "o2", "amount_minor": books.ENTERPRISE},
        "page": {"order_id": names["pending"], "reference": "", "url": "", "at": at},
        "settlement": {"order_id": names["pending"], "outcome": "void", "provider": "stripe", "event_id": "seen", "transfer_id": None, "at": at},
        "block": {"seq": 2, "prev_seq": 1, "body": "{}", "prev_hash": digest("block"), "hash": digest("block")},
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
    assert len(BAD) >= 120


def test_the_rows_that_the_bad_ones_are_made_from_are_accepted(scene):
    engine = open_engine(scene.place.owner)
    for kind in scene.rows.keys() - {"balance"}:  # nobody writes one
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
                    changed = connection.exec_driver_sql(statement).rowcount
                    if table != "balance" or not changed:  # SQLite lets a balance become what it is
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
