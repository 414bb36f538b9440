"""Ways past the refusals that the database closes by itself, and a past that is consistent with its own journal, which the audit reads."""

import json
import sqlite3
from collections.abc import Callable, Mapping

import pytest
import sqlalchemy
from tests.adapters.market_store.test_tampering import sold
from tests.market import books
from tests.market.past import force

from dayzero.adapters.market_store.statements import columns, insert
from dayzero.adapters.market_store.tables import APPEND_ONLY, TABLES
from dayzero.adapters.store.engine import open_engine
from dayzero.market import audit_rules
from dayzero.market.audit import audit
from dayzero.market.chain import Head, canonical, link
from dayzero.market.entitlement import download
from dayzero.market.model import KEYS, Event, Purchase
from dayzero.market.order import buy
from dayzero.market.publish import publish_version
from dayzero.market.settlement import enter

assert sold
SQLITE = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
POSTGRES = pytest.mark.parametrize("place", ["postgresql"], indirect=True)


@SQLITE
def test_no_row_takes_the_number_of_another(place, owner, sold):
    """With SQLite's default settings no trigger hears that a row of this number goes away."""
    plain = sqlite3.connect(place.database, isolation_level=None)
    kept, tried = {}, []
    for table in (*APPEND_ONLY, "balance"):
        names = ", ".join(columns(table))
        for number, *values in plain.execute(f"SELECT rowid, {names} FROM {table}").fetchall():
            kept.setdefault(table, []).append((number, *values))
    for table, rows in kept.items():
        fresh = [f"{value}~" if isinstance(value, str) else value for value in rows[0][1:]]
        marks = ", ".join("?" * (len(fresh) + 1))
        with pytest.raises(sqlite3.IntegrityError):
            plain.execute(
                f"INSERT OR REPLACE INTO {table} (rowid, {', '.join(columns(table))}) VALUES ({marks})",
                (rows[0][0], *fresh),
            )
        tried.append(table)
    for table, rows in kept.items():
        assert plain.execute(f"SELECT rowid, {', '.join(columns(table))} FROM {table}").fetchall() == rows
    plain.close()
    assert len(tried) >= 12
    assert audit(owner).findings == ()


@SQLITE
def test_a_row_that_takes_the_number_of_another_is_refused_for_that(place, sold):
    plain = sqlite3.connect(place.database, isolation_level=None)
    with pytest.raises(sqlite3.IntegrityError, match="append-only: account"):
        plain.execute("INSERT OR REPLACE INTO account (rowid, id, name, created_at) VALUES (1, 'x', 'x', '')")
    (house,) = plain.execute("SELECT id FROM ledger_account WHERE kind = 'revenue'").fetchone()
    with pytest.raises(sqlite3.IntegrityError, match="append-only: balance"):
        plain.execute(
            "INSERT OR REPLACE INTO balance (rowid, ledger_account_id, amount_minor) VALUES (1, ?, 0)", (house,)
        )
    plain.execute("INSERT INTO account (rowid, id, name, created_at) VALUES (100, 'y', 'y', '')")
    plain.execute("INSERT INTO account (id, name, created_at) VALUES ('z', 'z', '')")
    plain.close()


@SQLITE
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("transfer", "amount_minor", 0.5),
        ("transfer", "amount_minor", "much"),
        ("transfer", "currency", b"EUR"),
        ("account", "name", b"\xff"),
        ("signature_policy", "threshold_minor", "none"),
        ("price_tier", "amount_minor", 10.5),
        ("terms", "n_affirmations", "4x"),
    ],
)
def test_a_column_holds_what_it_is_for(place, owner, sold, table, column, value):
    plain = sqlite3.connect(place.database, isolation_level=None)
    names = columns(table)
    row = dict(zip(names, plain.execute(f"SELECT {', '.join(names)} FROM {table} LIMIT 1").fetchone(), strict=True))
    row |= {"id": "new", column: value}
    row |= {name: "new" for name in ("idem_key", "name") if name in row and name != column}
    with pytest.raises(sqlite3.IntegrityError, match=f"{table}_typed"):
        plain.execute(insert(table, "?"), tuple(row[name] for name in names))
    plain.close()


@SQLITE
def test_an_amount_that_is_no_number_is_named_and_stops_no_audit(place, owner, sold):
    force(
        place,
        f"UPDATE transfer SET amount_minor = 'much' WHERE order_id = '{sold.id}'",
        "UPDATE balance SET amount_minor = 0.5",
        "UPDATE price_tier SET threshold_minor = 'none'",
    )
    reasons = {finding.reason for finding in audit(owner).findings}
    for said in ("amount_minor is 'much', no whole number", "its balance is 0.5, no whole number"):
        assert said in reasons
    assert "threshold_minor is 'none', no whole number" in reasons


MINT = (
    "CREATE TEMP TABLE mine (debit_kind text, debit_id text, credit_kind text, credit_id text, amount_minor bigint)",
    "CREATE TRIGGER mint AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION public.market_move_balance()",
    "INSERT INTO mine SELECT '', '', 'wallet', ledger_account_id, 1000000 FROM balance",
)


@POSTGRES
def test_a_function_of_the_owner_is_no_trigger_of_somebody_elses_table(place, owner, sold):
    engine, before = open_engine(place.database), books.raw(owner.books, "SELECT * FROM balance")
    functions = books.raw(owner.books, "SELECT proname FROM pg_proc WHERE starts_with(proname, 'market')")
    for (name,) in functions:
        with engine.connect() as connection:
            connection.exec_driver_sql(MINT[0])
            with pytest.raises(sqlalchemy.exc.ProgrammingError, match="permission denied for function"):
                connection.exec_driver_sql(MINT[1].replace("market_move_balance", str(name)))
    engine.dispose()
    assert len(functions) == 6
    assert books.raw(owner.books, "SELECT * FROM balance") == before


@POSTGRES
def test_a_table_of_ones_own_stands_before_no_table_of_the_books(place, owner, market, shop, sold):
    """The functions look for their tables in the schema of the books, whatever the caller's path is."""
    order = books.buy_signed(market, shop, "waits", provider="stripe")
    engine = open_engine(place.database)
    clearing = books.raw(owner.books, "SELECT id FROM ledger_account WHERE kind = 'clearing'")[0][0]
    revenue = books.raw(owner.books, "SELECT id FROM ledger_account WHERE kind = 'revenue'")[0][0]
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TEMP TABLE provider_event AS SELECT * FROM public.provider_event")
        connection.exec_driver_sql(
            "INSERT INTO provider_event VALUES ('stripe', 'e', 'paid', %s, 'p', %s, 'EUR', '', '')",
            (order.id, order.amount_minor),
        )
        connection.exec_driver_sql("SET search_path = pg_temp, public")
        with pytest.raises(sqlalchemy.exc.IntegrityError, match="transfer_delivered"):
            connection.exec_driver_sql(
                "INSERT INTO transfer VALUES ('mine', 'sale', %s, %s, NULL, %s, 'clearing', 'house', %s, 'revenue', 'house', %s, 'EUR', NULL, '', '')",
                (shop.buyer, order.id, clearing, revenue, order.amount_minor),
            )
    engine.dispose()


def test_a_row_that_was_recorded_twice_is_named(place, owner, shop, sold):
    """The same row in two entries of a chain that holds."""
    journal = owner.books.read(lambda desk: desk.every("journal", account_id=shop.buyer))
    last = journal[-1]
    body = json.loads(last["body"]) | {"seq": last["seq"] + 1}
    linked = link(Head(last["seq"], last["hash"]), canonical(body))
    values = (shop.buyer, linked.seq, linked.prev_seq, last["kind"], linked.body, linked.prev_hash, linked.hash)
    engine = open_engine(place.owner)
    with engine.begin() as connection:
        mark = "%s" if place.cluster else "?"
        connection.exec_driver_sql(insert("journal", mark), values)
    engine.dispose()
    found = audit(owner).findings
    assert {finding.kind for finding in found} == {"row"}
    assert {finding.reason for finding in found} == {f"journal {shop.buyer} #{linked.seq} records it once more"}
    assert len(found) == len(body["rows"])


UNCHECKED = {
    "sqlite": ("PRAGMA ignore_check_constraints = ON",),
    "postgresql": (
        "ALTER TABLE transfer DROP CONSTRAINT transfer_debit_owner",
        "ALTER TABLE signature DROP CONSTRAINT signature_signer",
        "ALTER TABLE subscription DROP CONSTRAINT subscription_window",
        "ALTER TABLE download DROP CONSTRAINT download_granted",
    ),
}
Rows = Callable[[str, Mapping[str, object]], Mapping[str, object]]


def invent(place, owner, shop, change: Rows) -> None:
    """Write rows otherwise, and the buyer's journal as if they had always been so: its chain holds, and it records what is there."""
    head, statements = Head(), []
    for entry in owner.books.read(lambda desk: desk.every("journal", account_id=shop.buyer)):
        body = json.loads(entry["body"])
        for table, values in body["rows"]:
            new = change(table, values)
            if new:
                key = " AND ".join(f"{name} = {quoted(values[name])}" for name in KEYS[table])
                said = ", ".join(f"{name} = {quoted(value)}" for name, value in new.items())
                statements.append(f"UPDATE {table} SET {said} WHERE {key}")
                values.update(new)
        linked = link(head, canonical(body))
        statements.append(
            f"UPDATE journal SET body = {quoted(linked.body)}, prev_hash = {quoted(linked.prev_hash)}, hash = {quoted(linked.hash)}"
            f" WHERE account_id = '{shop.buyer}' AND seq = {linked.seq}"
        )
        head = Head(linked.seq, linked.hash)
    force(place, *UNCHECKED[place.engine], *statements)


def quoted(value: object) -> str:
    return (
        "NULL" if value is None else str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
    )


@pytest.fixture
def full(place, owner, market, shop, sold, clock):
    """Have the buyer do everything once, and name what is there."""
    buy(market, Purchase(account_id=shop.buyer, key="care", tier_id=shop.maintenance))
    clock.turn(days=1)
    publish_version(owner, books.version("2.0.0"))
    clock.turn(days=500)
    v3 = publish_version(owner, books.version("3.0.0"))
    download(market, shop.buyer, "kimi-k3", "2.0.0")
    waits = buy(market, Purchase(account_id=shop.buyer, key="waits", tier_id=shop.community, provider="stripe"))
    said = {"provider": "stripe", "order_id": waits.id, "payment": "pi_1", "currency": "EUR", "body": "{}"}
    enter(market, Event(id="e1", kind="paid", amount_minor=books.COMMUNITY, **said))
    other_terms = books.Terms(title="Other", body="other", affirmations=books.TERMS.affirmations)
    terms2, other = books.publish_terms(owner, other_terms), books.open_account(owner, "other")
    books.fund(owner, other, 1, key="other")
    ids = owner.books.read(
        lambda desk: {
            "clearing": desk.every("ledger_account", kind="clearing")[0]["id"],
            "purse": desk.every("ledger_account", owner_id=other, kind="wallet")[0]["id"],
        }
    )
    assert audit(owner).findings == ()
    names = {"v1": shop.v1, "v3": v3, "terms2": terms2, "other": other, **ids}
    return {f"{{{name}}}": value for name, value in names.items()}


NO_SIGNATURE = "its price demands a signature, and no whole one is there"
ANOTHER, NO_DELIVERY = "it is not what was ordered", "no delivery of stripe says that it was paid"
NOT_SO_LONG, NO_RIGHT = "it does not run as long as was bought", "no right to this version stands under it"
V3 = {"version_id": "{v3}"}
Invented = tuple[str, Mapping[str, Mapping[str, object]], Mapping[str, object], str, str]
INVENTED: tuple[Invented, ...] = (
    ("another version than was ordered", {"entitlement": V3}, {}, "entitlement", ANOTHER),
    (
        "an order for another version than its price",
        {"orders": V3, "entitlement": V3},
        {"version_id": "{v1}"},
        "entitlement",
        "its order is not what its price says",
    ),
    (
        "paid by a provider though credit was ordered",
        {"transfer": {"debit_id": "{clearing}", "debit_kind": "clearing", "debit_owner": "house"}},
        {"kind": "sale"},
        "entitlement",
        "its payment does not come out of its holder's credit",
    ),
    (
        "paid out of somebody else's wallet",
        {"transfer": {"debit_id": "{purse}", "debit_owner": "{other}"}},
        {"debit_kind": "wallet"},
        "entitlement",
        "its payment does not come out of its holder's credit",
    ),
    ("a delivery of less", {"provider_event": {"amount_minor": 1}}, {}, "entitlement", NO_DELIVERY),
    ("a delivery of another order", {"provider_event": {"order_id": "x"}}, {}, "entitlement", NO_DELIVERY),
    (
        "a signature under other terms",
        {"signature": {"terms_id": "{terms2}", "terms_sha256": books.digest("other")}},
        {},
        "entitlement",
        NO_SIGNATURE,
    ),
    ("a signature of somebody else", {"signature": {"account_id": "{other}"}}, {}, "entitlement", NO_SIGNATURE),
    ("a signature by nobody", {"signature": {"signer": " "}}, {}, "entitlement", NO_SIGNATURE),
    (
        "a right without the signature of its order",
        {"entitlement": {"signature_id": None}},
        {"requires_signature": 1},
        "entitlement",
        ANOTHER,
    ),
    ("maintenance for ever", {"subscription": {"ends_at": "9999-01-01T00:00:00Z"}}, {}, "subscription", NOT_SO_LONG),
    (
        "maintenance that began before it was bought",
        {"subscription": {"starts_at": "2020-01-01T00:00:00Z", "ends_at": "2020-12-31T00:00:00Z"}},
        {},
        "subscription",
        NOT_SO_LONG,
    ),
    ("maintenance at no time", {"subscription": {"starts_at": "then"}}, {}, "subscription", NOT_SO_LONG),
    (
        "a download that maintenance does not bring",
        {"download": {**V3, "kit_sha256": books.sha("k3.0.0").hex}},
        {},
        "download",
        NO_RIGHT,
    ),
    ("a download on nothing", {"download": {"subscription_id": None}}, {}, "download", NO_RIGHT),
    ("a download of another kit", {"download": {"kit_sha256": books.sha("x").hex}}, {}, "download", NO_RIGHT),
)
"""Pasts that hold together and that no schema lets in: what is written otherwise, in rows with which values, and what the audit says."""


@pytest.mark.parametrize(
    ("changed", "only", "table", "reason"), [each[1:] for each in INVENTED], ids=[each[0] for each in INVENTED]
)
def test_a_past_that_holds_together_is_held_to_what_its_rights_rest_on(
    place, owner, shop, full, changed, only, table, reason
):
    def change(of: str, row: Mapping[str, object]) -> Mapping[str, object]:
        fits = all(row[name] == full.get(str(value), value) for name, value in only.items()) if of in changed else False
        return {name: full.get(str(value), value) for name, value in changed[of].items()} if fits else {}

    invent(place, owner, shop, change)
    found = audit(owner).findings
    assert any(each.where.startswith(f"{table} ") and each.reason == reason for each in found), found
    assert {each.kind for each in found} <= {"right", "money", "provider"}, found


def test_a_sale_that_gave_no_right_is_named(place, owner, shop, sold, clock):
    """A part of a purchase that was appended by itself, with an entry that says so."""
    past = owner.books.read(lambda desk: desk.every("journal", account_id=shop.buyer))
    head = Head(past[-1]["seq"], past[-1]["hash"])
    bought = json.loads(next(entry["body"] for entry in past if '"second"' in entry["body"]))
    order, sale = (values for table, values in bought["rows"] if table in {"orders", "transfer"})
    rows = [["orders", {**order, "id": "o", "idem_key": "o"}], ["transfer", {**sale, "id": "t", "order_id": "o"}]]
    linked = link(head, canonical({**bought, "rows": rows, "seq": head.seq + 1}))
    entry = (shop.buyer, linked.seq, linked.prev_seq, "purchase", linked.body, linked.prev_hash, linked.hash)
    engine, mark = open_engine(place.database), "%s" if place.cluster else "?"
    with engine.begin() as connection:
        for table, values in rows:
            connection.exec_driver_sql(insert(table, mark), tuple(values[name] for name in columns(table)))
        connection.exec_driver_sql(insert("journal", mark), entry)
    engine.dispose()
    (found,) = audit(owner).findings
    assert (found.kind, found.where, found.reason) == ("right", "transfer t", "what it paid gave no right to use")


def test_the_audit_knows_the_columns_of_whole_numbers():
    columns = {
        name: {each.name for each in table.columns if isinstance(each.type, sqlalchemy.Integer)}
        for name, table in TABLES.items()
        if name in KEYS
    }
    assert {name: set(numbers) for name, numbers in audit_rules._NUMBERS.items()} == {  # noqa: SLF001
        name: numbers for name, numbers in columns.items() if numbers
    }
