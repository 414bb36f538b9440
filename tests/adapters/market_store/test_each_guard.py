"""Take the schema's rules away one by one: each row of the table of refusals is then accepted, so its rule is what refuses it.

Where another rule refuses it too, that one is named in :data:`TOGETHER`, and taken away next. A rule that no row needs is found.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping

import pytest
import sqlalchemy
from sqlalchemy import ForeignKeyConstraint, PrimaryKeyConstraint, Table, UniqueConstraint
from tests.adapters.market_store.bad_rows import BAD, TABLE, Bad
from tests.adapters.market_store.test_refusals import Scene, changed, put, scene

from dayzero.adapters.market_store.statements import columns
from dayzero.adapters.market_store.tables import APPEND_ONLY, TABLES
from dayzero.adapters.store.engine import open_engine

assert scene
Values = Mapping[str, object]

MESSAGES = {
    "append-only: balance": "balance_follows ON balance",
    "transfer_refund": "transfer_refund_fits ON transfer",
    "transfer_delivered": "transfer_delivered ON transfer",
}
"""Triggers of PostgreSQL by what they say."""

TOGETHER: Mapping[str, set[str]] = {
    "a grant as a refund": {"transfer_of_reversal", "transfer_sides", "transfer_refund_fits"},
    "a price for a version without a name": {"price_tier_version", "price_tier_version_named"},  # no version is ''
    "a price under terms without a name": {"price_tier_terms", "price_tier_terms_named"},  # no terms are ''
    "a refund of a grant": {"transfer_refund_fits", "transfer_reverses"},
    "a sale on credit": {"transfer_debit", "transfer_sides"},  # the wallet is no account of credit
    "a second first block": {"block_pk", "block_uq_seq_hash"},
    "a second payment of one order": {"transfer_order", "transfer_uq_order"},
    "a second revocation on one refund": {"revocation_uq_entitlement", "revocation_uq_refund"},
    "a text after the last": {"terms_affirmation_hash", "terms_affirmation_ord"},
    "a text before the first": {"terms_affirmation_listed", "terms_affirmation_ord"},
    "a text with a short digest": {"terms_affirmation_hash", "terms_affirmation_listed"},
    "a transfer backwards": {"transfer_amount", "transfer_order"},
    "a transfer in another currency": {"transfer_credit", "transfer_debit", "transfer_order"},
    "a transfer of nothing": {"transfer_amount", "transfer_order"},
    "an entitlement without an order": {"entitlement_order", "entitlement_payment"},
    "an order for nobody": {"orders_account", "orders_signature"},
    "an order on a signature without a name": {"orders_signature", "orders_signature_named"},  # nobody signed as ''
    "an order under other terms": {"orders_signature", "orders_tier"},
    "an order without the signature that its price demands": {"orders_signed", "orders_tier"},  # no terms either
    "maintenance on an order of a version": {"subscription_kind", "subscription_order"},  # its version and its kind
    "terms that ask for nothing": {"terms_affirmed", "terms_listed"},
}
"""Rows that no rule refuses alone, and the rules that do together."""

ONCE_ON_SQLITE: Mapping[str, set[str]] = {
    "a grant as a refund": {"transfer_refund_fits"},  # nothing is refunded there, and that is not above nothing
    "a second payment of one order": {
        "transfer_order"
    },  # the key went with the triggers, and the sale is that of its order
    "a text before the first": {"terms_affirmation_listed"},  # substr counts from the end
}
"""What does not refuse a row of :data:`TOGETHER` on SQLite."""

FOLLOWS = {"balance_not_changed", "balance_not_invented", "transfer_moves_credit", "transfer_moves_debit"}
"""Triggers of SQLite that say together that a balance follows the transfers; they refuse money on a wrong wallet, too."""

BY_TRIGGERS = {"balance_not_negative", "balance_of", "balance_pk"}
"""Rules of balances, which triggers alone write; for the first see the test of overdrafts."""


def on_postgres(scene: Scene, bad: Bad) -> list[str]:
    """Take away what refuses a row until it is accepted, and name that; nothing of it stays."""
    engine, taken = open_engine(scene.place.owner), list[str]()
    with engine.connect() as connection, connection.begin() as transaction:
        if not bad.rule:
            put(connection, TABLE.get(bad.table, bad.table), changed(scene, bad))
        while (error := refused(connection, bad, changed(scene, bad))) is not None:
            said = error.diag
            if said.constraint_name:
                name = f"ALTER TABLE {said.table_name} DROP CONSTRAINT {said.constraint_name} CASCADE"
                taken.append(said.constraint_name)
            elif said.column_name:
                name = f"ALTER TABLE {said.table_name} ALTER {said.column_name} DROP NOT NULL"
                taken.append(f"{said.table_name}.{said.column_name}")
            else:
                trigger = next(each for message, each in MESSAGES.items() if str(error).startswith(message))
                name = f"DROP TRIGGER {trigger}"
                taken.append(trigger.partition(" ")[0])
            connection.exec_driver_sql(name)
        transaction.rollback()
    engine.dispose()
    return taken


def refused(connection, bad: Bad, values: Values):
    try:
        with connection.begin_nested():
            put(connection, TABLE.get(bad.table, bad.table), values)
    except sqlalchemy.exc.IntegrityError as error:
        return error.orig
    except sqlalchemy.exc.DBAPIError as error:
        assert getattr(error.orig, "sqlstate", "") in {"23001", "23502"}, error  # noqa: PT017
        return error.orig
    return None


def on_sqlite(scene: Scene, bad: Bad, before: Callable[[sqlite3.Connection], None] = lambda _: None) -> list[str]:
    """Take away what refuses a row, on a copy of the books in memory, until it is accepted, and name that."""
    taken, values, table = list[str](), changed(scene, bad), TABLE.get(bad.table, bad.table)
    kept, copy = sqlite3.connect(scene.place.owner), sqlite3.connect(":memory:", isolation_level=None)
    kept.backup(copy)
    kept.close()
    before(copy)
    copy.execute("PRAGMA foreign_keys = ON")
    copy.execute("PRAGMA recursive_triggers = ON")
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    if not bad.rule:
        copy.execute(statement, tuple(values.values()))
    while True:
        try:
            copy.execute(statement, tuple(values.values()))
            break
        except sqlite3.IntegrityError as error:
            names = rules_of(copy, table, values, str(error))
        assert names
        assert not set(names) & set(taken)
        taken += names
    copy.close()
    return taken


def rules_of(copy: sqlite3.Connection, table: str, values: Values, said: str) -> list[str]:
    """Name the rules that refused a row, and take them away."""
    if said == "FOREIGN KEY constraint failed":
        names = [str(rule.name) for rule in TABLES[table].foreign_key_constraints if dangles(copy, rule, values)]
        for name in names:
            rewrite(copy, table, name)
    elif said.startswith("CHECK"):
        names = [said.rpartition(" ")[2]]
        rewrite(copy, table, names[0])
    elif said.startswith("NOT NULL"):
        names = [said.rpartition(" ")[2]]
        column = names[0].partition(".")[2]
        edit(copy, table, lambda sql: re.sub(rf"\b({column} \w+) NOT NULL", r"\1", sql))
    elif said.startswith("UNIQUE"):
        columns = [each.partition(".")[2] for each in said.partition(": ")[2].split(", ")]
        names = [
            str(rule.name) for rule in keys_of(TABLES[table]) if [column.name for column in rule.columns] == columns
        ]
        rebuild(copy, table, names)
    else:
        names = triggers_of(copy, said)
        for name in names:
            copy.execute(f"DROP TRIGGER {name}")
    return names


def dangles(copy: sqlite3.Connection, rule: ForeignKeyConstraint, values: Values) -> bool:
    bound = filled(copy, rule, values)
    test = " AND ".join(f"{element.column.name} = ?" for element in rule.elements)
    there = f"SELECT 1 FROM {rule.referred_table.name} WHERE {test}"
    return None not in bound and copy.execute(there, bound).fetchone() is None


def filled(copy: sqlite3.Connection, rule: ForeignKeyConstraint, values: Values) -> tuple[object, ...]:
    """Give what a row has in the columns of a reference, as the database works it out where they are generated."""
    read = (str(column.name if column.computed is None else column.computed.sqltext) for column in rule.columns)
    given = f"WITH given ({', '.join(values)}) AS (VALUES ({', '.join('?' * len(values))}))"
    return copy.execute(f"{given} SELECT {', '.join(read)} FROM given", tuple(values.values())).fetchone()


def triggers_of(copy: sqlite3.Connection, said: str) -> list[str]:
    """Name the triggers that say this; where a row would replace another, the one of inserting."""
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND instr(sql, ?) AND name NOT LIKE '%_updated' AND name NOT LIKE '%_deleted'"
    return [name for (name,) in copy.execute(query, (f"'{said}'",))]


def without(rule: str) -> Callable[[str], str]:
    return lambda sql: re.sub(rf",\s+CONSTRAINT {rule} .*?(?=,\s+CONSTRAINT |\s*\)$)", "", sql, flags=re.DOTALL)


def edit(copy: sqlite3.Connection, table: str, change: Callable[[str], str]) -> None:
    (old,) = copy.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    assert change(old) != old
    copy.execute("PRAGMA writable_schema = ON")
    copy.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (change(old), table))
    copy.execute("PRAGMA writable_schema = RESET")


def rewrite(copy: sqlite3.Connection, table: str, rule: str) -> None:
    edit(copy, table, without(rule))


def rebuild(copy: sqlite3.Connection, table: str, rules: list[str]) -> None:
    """Make a table anew without its triggers and these keys."""
    (sql,) = copy.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    names = ", ".join(column.name for column in TABLES[table].columns if column.computed is None)
    rows = copy.execute(f"SELECT {names} FROM {table}").fetchall()
    copy.execute("PRAGMA foreign_keys = OFF")
    for (trigger,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        copy.execute(f"DROP TRIGGER {trigger}")
    copy.execute(f"DROP TABLE {table}")
    for rule in rules:
        sql = without(rule)(sql)
    copy.execute(sql)
    copy.executemany(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(rows[0]))})", rows)


def keys_of(table: Table) -> list[UniqueConstraint | PrimaryKeyConstraint]:
    return [rule for rule in table.constraints if isinstance(rule, UniqueConstraint | PrimaryKeyConstraint)]


AGAIN = "again"
KEEPERS = {
    "postgresql": {"append_only": "UPDATE {table} SET {column} = {column}"},
    "sqlite": {"not_updated": "UPDATE {table} SET {column} = {column}", "not_deleted": "DELETE FROM {table}"},
}
"""Triggers of each table, by the end of their names, and the change that each refuses."""


@pytest.fixture
def found(scene) -> dict[str, tuple[str, ...]]:
    """Say for each row which rules had to be taken away before it was accepted; and for a good row of each kind that comes twice."""
    take = on_postgres if scene.place.cluster else on_sqlite
    twice = (Bad(f"{kind} {AGAIN}", kind, {}, "", "") for kind in sorted(scene.rows.keys() - {"balance"}))
    return {bad.name: tuple(take(scene, bad)) for bad in (*BAD, *twice)}


def test_a_row_is_accepted_once_its_rule_is_gone(place, found):
    told = {name: set(rules) - FOLLOWS for name, rules in found.items() if AGAIN not in name.split()}
    told = {name: {rule for rule in rules if not rule.endswith("_not_replaced")} for name, rules in told.items()}
    expected = (
        TOGETHER
        if place.cluster
        else {name: rules - ONCE_ON_SQLITE.get(name, set()) for name, rules in TOGETHER.items()}
    )
    several = {name: rules for name, rules in expected.items() if len(rules) > 1}
    assert {name: rules for name, rules in told.items() if len(rules) > 1} == several
    named = [
        bad.name for bad in BAD if not any(rule.startswith(bad.rule) or bad.rule in rule for rule in found[bad.name])
    ]
    assert named == ["a balance out of nothing"]  # it says "append-only"


def test_every_rule_of_the_schema_refuses_a_row(found):
    rules = {str(rule.name) for table in TABLES.values() for rule in table.constraints}
    taken = {rule for each in found.values() for rule in each}
    assert rules - taken <= BY_TRIGGERS


def test_a_table_changes_once_its_trigger_is_gone(scene):
    engine = open_engine(scene.place.owner)
    kept = []
    with engine.connect() as connection:
        if not scene.place.cluster:  # else references refuse the second kind of change, too
            connection.connection.driver_connection.execute("PRAGMA foreign_keys = OFF")
        for table in APPEND_ONLY:
            with connection.begin() as transaction:
                for trigger, changes in KEEPERS[scene.place.engine].items():
                    connection.exec_driver_sql(
                        f"DROP TRIGGER {table}_{trigger}" + f" ON {table}" * bool(scene.place.cluster)
                    )
                    statement = changes.format(table=table, column=columns(table)[-1])
                    if not connection.exec_driver_sql(statement).rowcount:
                        kept.append(statement)
                transaction.rollback()
    engine.dispose()
    assert kept == []


LISTED = "FOREIGN KEY(terms_id, terms_sha256, affirmations) REFERENCES terms (id, sha256, affirmations)"


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_reference_to_the_terms_without_their_list_lets_every_wrong_list_in(scene):
    def unlist(copy: sqlite3.Connection) -> None:
        copy.execute("CREATE UNIQUE INDEX terms_text ON terms (id, sha256)")
        edit(copy, "signature", lambda sql: sql.replace(LISTED, LISTED.replace(", affirmations", "")))

    refused = [bad.name for bad in BAD if bad.rule == "signature_terms" and on_sqlite(scene, bad, unlist)]
    assert refused == ["a signature on another text"]
    assert sum(bad.rule == "signature_terms" for bad in BAD) >= 7


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_only_the_database_says_when_an_entry_was_recorded(scene):
    engine = open_engine(scene.place.owner)
    with pytest.raises(sqlalchemy.exc.IntegrityError, match="the database says when"), engine.begin() as connection:
        put(connection, "journal", {**scene.rows["journal"], "recorded_at": "2026-08-01T12:00:00Z"})
    engine.dispose()
