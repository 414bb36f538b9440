"""What foreign keys and checks cannot say: history is only appended to, balances follow the transfers, a provider's money came.

On PostgreSQL the functions that write a balance belong to the owner (``SECURITY DEFINER``), so that nobody else needs the right to.
On SQLite there are no roles: each refusal is a trigger, and none of them rests on a pragma that the next program forgets.
"""

from collections.abc import Iterator

from sqlalchemy import Integer, PrimaryKeyConstraint, Table, UniqueConstraint

from dayzero.adapters.market_store.tables import APPEND_ONLY, KEPT, TABLES

# Money of a provider is what a delivery said of that very order or, where it became credit, of an order of the same account.
_SAID = """EXISTS (SELECT 1 FROM ledger_account a JOIN provider_event e ON e.provider = a.provider WHERE a.id = NEW.debit_id
            AND e.kind = 'paid' AND e.amount_minor = NEW.amount_minor AND e.currency = NEW.currency AND """
_DELIVERED = f"""(CASE NEW.kind
        WHEN 'sale' THEN {_SAID}e.order_id = NEW.order_id)
        ELSE {_SAID}e.event_id = substr(NEW.idem_key, length(a.provider) + 10)
            AND NEW.idem_key = 'deposit:' || e.provider || ':' || e.event_id
            AND EXISTS (SELECT 1 FROM orders o WHERE o.id = e.order_id AND o.account_id = NEW.account_id))
    END)"""  # noqa: S608  (no value of anybody is in it)

_FUNCTIONS = (
    """CREATE FUNCTION market_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'append-only: ' || TG_TABLE_NAME;
END $$""",
    """CREATE FUNCTION market_balance_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'append-only: balance follows the transfers';
END $$""",
    """CREATE FUNCTION market_open_balance() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO balance (ledger_account_id, amount_minor) VALUES (NEW.id, 0);
    RETURN NULL;
END $$""",
    # The update locks the row as FOR NO KEY UPDATE does, which no foreign key's FOR KEY SHARE waits for: FOR UPDATE would deadlock.
    """CREATE FUNCTION market_move_balance() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    wallet text := CASE WHEN NEW.debit_kind = 'wallet' THEN NEW.debit_id ELSE NEW.credit_id END;
    change bigint := CASE WHEN NEW.debit_kind = 'wallet' THEN -NEW.amount_minor ELSE NEW.amount_minor END;
BEGIN
    UPDATE balance SET amount_minor = amount_minor + change WHERE ledger_account_id = wallet;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_balance: no balance is kept of ' || wallet;
    END IF;
    RETURN NULL;
END $$""",
    """CREATE FUNCTION market_refund_fits() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    paid bigint;
BEGIN
    SELECT amount_minor INTO paid FROM transfer WHERE id = NEW.reverses_id AND kind = 'sale' FOR NO KEY UPDATE;
    IF paid IS NULL OR paid < (SELECT sum(amount_minor) FROM transfer WHERE reverses_id = NEW.reverses_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_refund: more than was paid';
    END IF;
    RETURN NULL;
END $$""",
    f"""CREATE FUNCTION market_money_came() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT {_DELIVERED} THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_delivered: no delivery says that it was paid';
    END IF;
    RETURN NULL;
END $$""",
)

_POSTGRES = (
    # A body is a few kilobytes; lz4 packs them at a tenth of the cost, where the server was built with it.
    """DO $$ BEGIN
    ALTER TABLE journal ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$""",
    """CREATE TRIGGER balance_kept BEFORE DELETE OR TRUNCATE ON balance
    FOR EACH STATEMENT EXECUTE FUNCTION market_balance_is_kept()""",
    """CREATE TRIGGER balance_follows BEFORE INSERT OR UPDATE ON balance
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION market_balance_is_kept()""",
    """CREATE TRIGGER ledger_account_balance AFTER INSERT ON ledger_account
    FOR EACH ROW WHEN (NEW.kind = 'wallet') EXECUTE FUNCTION market_open_balance()""",
    """CREATE TRIGGER transfer_moves AFTER INSERT ON transfer
    FOR EACH ROW WHEN (NEW.debit_kind = 'wallet' OR NEW.credit_kind = 'wallet') EXECUTE FUNCTION market_move_balance()""",
    """CREATE TRIGGER transfer_refund_fits AFTER INSERT ON transfer
    FOR EACH ROW WHEN (NEW.kind = 'refund') EXECUTE FUNCTION market_refund_fits()""",
    """CREATE TRIGGER transfer_delivered AFTER INSERT ON transfer
    FOR EACH ROW WHEN (NEW.debit_kind = 'clearing') EXECUTE FUNCTION market_money_came()""",
    # A function that runs as the owner is a way to the balances for whoever can make it the trigger of a table of their own.
    """REVOKE EXECUTE ON FUNCTION market_append_only(), market_balance_is_kept(), market_open_balance(), market_move_balance(),
    market_refund_fits(), market_money_came() FROM PUBLIC""",
)

_FOLD = """(SELECT COALESCE(SUM(CASE WHEN credit_id = {0} THEN amount_minor ELSE -amount_minor END), 0) FROM transfer
        WHERE account_id = (SELECT owner_id FROM ledger_account WHERE id = {0}) AND {0} IN (debit_id, credit_id))"""
_FOLDS = {column: _FOLD.format(f"NEW.{column}") for column in ("ledger_account_id", "debit_id", "credit_id")}
# The number of a row is a key, too, that a row can be put under; where none is given, a trigger before the insert reads -1.
_SAME_ROW = "EXISTS (SELECT 1 FROM {0} WHERE rowid = NEW.rowid AND rowid <> -1)"

# An outer INSERT OR IGNORE makes the statements of a trigger OR IGNORE too: what has to be refused is raised, not left to a check.
_SQLITE = {
    "balance_not_deleted": """BEFORE DELETE ON balance
BEGIN
    SELECT RAISE(ABORT, 'append-only: balance follows the transfers');
END""",
    "balance_not_invented": """BEFORE INSERT ON balance
WHEN NEW.amount_minor IS NOT {ledger_account_id}
    OR EXISTS (SELECT 1 FROM balance WHERE ledger_account_id = NEW.ledger_account_id) OR {same_row}
BEGIN
    SELECT RAISE(ABORT, 'append-only: balance follows the transfers');
END""",
    "balance_not_changed": """BEFORE UPDATE ON balance
WHEN NEW.ledger_account_id IS NOT OLD.ledger_account_id OR NEW.amount_minor IS NOT {ledger_account_id}
BEGIN
    SELECT RAISE(ABORT, 'append-only: balance follows the transfers');
END""",
    "ledger_account_balance": """AFTER INSERT ON ledger_account WHEN NEW.kind = 'wallet'
BEGIN
    INSERT INTO balance (ledger_account_id, amount_minor) VALUES (NEW.id, 0);
END""",
    "transfer_covered": """BEFORE INSERT ON transfer WHEN NEW.debit_kind = 'wallet'
    AND NOT EXISTS (SELECT 1 FROM balance WHERE ledger_account_id = NEW.debit_id AND amount_minor >= NEW.amount_minor)
BEGIN
    SELECT RAISE(ABORT, 'balance_not_negative');
END""",
    "transfer_moves_debit": """AFTER INSERT ON transfer WHEN NEW.debit_kind = 'wallet'
BEGIN
    UPDATE balance SET amount_minor = amount_minor - NEW.amount_minor WHERE ledger_account_id = NEW.debit_id;
    SELECT RAISE(ABORT, 'transfer_balance')
    WHERE (SELECT amount_minor FROM balance WHERE ledger_account_id = NEW.debit_id) IS NOT {debit_id};
END""",
    "transfer_moves_credit": """AFTER INSERT ON transfer WHEN NEW.credit_kind = 'wallet'
BEGIN
    UPDATE balance SET amount_minor = amount_minor + NEW.amount_minor WHERE ledger_account_id = NEW.credit_id;
    SELECT RAISE(ABORT, 'transfer_balance')
    WHERE (SELECT amount_minor FROM balance WHERE ledger_account_id = NEW.credit_id) IS NOT {credit_id};
END""",
    "transfer_refund_fits": """AFTER INSERT ON transfer WHEN NEW.kind = 'refund'
BEGIN
    SELECT RAISE(ABORT, 'transfer_refund: more than was paid')
    WHERE COALESCE((SELECT amount_minor FROM transfer WHERE id = NEW.reverses_id AND kind = 'sale'), 0)
        < (SELECT SUM(amount_minor) FROM transfer WHERE reverses_id = NEW.reverses_id);
END""",
    "transfer_delivered": """BEFORE INSERT ON transfer WHEN NEW.debit_kind = 'clearing' AND NOT {delivered}
BEGIN
    SELECT RAISE(ABORT, 'transfer_delivered: no delivery says that it was paid');
END""",
    "journal_recorded_now": """BEFORE INSERT ON journal WHEN NEW.recorded_at <> strftime('%Y-%m-%dT%H:%M:%SZ', 'now')
BEGIN
    SELECT RAISE(ABORT, 'journal_recorded_at: the database says when');
END""",
}

SQLITE_KEEPERS = frozenset(name for name in _SQLITE if name.startswith(("ledger_account_balance", "transfer_moves")))
"""The triggers of SQLite that may write a balance."""


def postgres_triggers() -> Iterator[str]:
    """Give the functions and triggers of PostgreSQL."""
    yield from _FUNCTIONS
    for table in APPEND_ONLY:
        yield (
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()"
        )
    yield from _POSTGRES


def sqlite_triggers() -> Iterator[str]:
    """Give the triggers of SQLite."""
    for table in APPEND_ONLY:
        refusal = f"SELECT RAISE(ABORT, 'append-only: {table}');"
        yield _refusing(f"{table}_not_updated", f"BEFORE UPDATE ON {table}", refusal)
        yield _refusing(f"{table}_not_deleted", f"BEFORE DELETE ON {table}", refusal)
        yield _refusing(f"{table}_not_replaced", f"BEFORE INSERT ON {table} WHEN {_taken(TABLES[table])}", refusal)
    for name in sorted(TABLES):
        refusal = f"SELECT RAISE(ABORT, '{name}_typed: a column holds what it is not for');"
        yield _refusing(f"{name}_typed", f"BEFORE INSERT ON {name} WHEN {_mistyped(TABLES[name])}", refusal)
    rules = {**_FOLDS, "delivered": _DELIVERED, "same_row": _SAME_ROW.format(KEPT)}
    for name, body in _SQLITE.items():
        yield f"CREATE TRIGGER {name} {body.format(**rules)}"


def _refusing(name: str, when: str, body: str) -> str:
    return f"CREATE TRIGGER {name} {when}\nBEGIN\n    {body}\nEND"


def _taken(table: Table) -> str:
    """Say when a row would take another's place: INSERT OR REPLACE deletes that one, and with SQLite's defaults unheard."""
    rules = (rule for rule in table.constraints if isinstance(rule, UniqueConstraint | PrimaryKeyConstraint))
    keys = sorted(tuple(column.name for column in rule.columns) for rule in rules)
    least = [key for key in keys if not any(set(other) < set(key) for other in keys)]
    tests = (" AND ".join(f"{name} = NEW.{name}" for name in key) for key in least)
    taken = (f"EXISTS (SELECT 1 FROM {table.name} WHERE {test})" for test in tests)  # noqa: S608  (names)
    return " OR ".join((*taken, _SAME_ROW.format(table.name)))


def _mistyped(table: Table) -> str:
    """Say when a row holds something else where a whole number belongs, or bytes for a text: SQLite keeps what it is given."""
    kinds = (
        (column.name, "integer" if isinstance(column.type, Integer) else "text")
        for column in table.columns
        if column.computed is None
    )
    return " OR ".join(f"typeof(NEW.{name}) NOT IN ('{kind}', 'null')" for name, kind in kinds)
