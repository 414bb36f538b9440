"""The roles of PostgreSQL: the owner keeps the schema and runs the operator's commands, the application reads and appends.

Who may sign in is kept beside the books; there the application changes what has to change.
"""

import re
from collections.abc import Iterator

from sqlalchemy.engine import Connection

from dayzero.adapters.market_store.statements import columns
from dayzero.adapters.market_store.tables import SIGN_IN, TABLES
from dayzero.core.errors import InputError

_APPENDS = (
    "account",
    "download",
    "entitlement",
    "journal",
    "ledger_account",
    "orders",
    "payment",
    "payment_session",
    "provider_event",
    "revocation",
    "settlement",
    "signature",
    "subscription",
    "transfer",
)
"""Where the application appends; what is on offer, the terms and the blocks are the operator's."""

_CHANGES = {
    "attempt": ("DELETE", "UPDATE (tried)"),
    "credential": ("UPDATE (password, changed_at)",),
    "session": ("DELETE", "UPDATE (account_id, created_at, expires_at)"),
    "token": ("UPDATE (revoked_at)",),
}
"""What the application does beside reading and adding where it is kept who may sign in."""

_SET_BY_DATABASE = frozenset({"journal"})
"""Tables with a column that the database sets and the application could: it may append to the others only. A right on a table is
looked up once a statement, one on columns for each of them.
"""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

# Money that comes from nowhere, and accounts of the house, are the operator's: the application's role may not write such a row.
_POLICIES = {
    "transfer": "kind IN ('sale', 'deposit', 'refund')",
    "ledger_account": "kind = 'wallet'",
}


def grant_application(connection: Connection, role: str) -> None:
    """Let a role read everything, append what a buyer does and keep who is signed in, and nothing else; it is made where missing.

    Raises:
        InputError: The name is none, or it is a superuser or the owner itself.
    """
    if not _NAME.fullmatch(role):
        raise InputError(f"{role!r} cannot name a role", hint="Use small letters, digits and underscores.")
    known = connection.exec_driver_sql(
        "SELECT rolsuper OR rolbypassrls, rolname = current_user FROM pg_roles WHERE rolname = %s", (role,)
    ).one_or_none()
    if known is not None and known[1]:
        raise InputError(
            f"{role} is the role of this connection", hint="Connect as the owner; the application has another role."
        )
    if known is not None and known[0]:
        raise InputError(f"the role {role} may change history", hint="Name another role for the application.")
    if known is None:
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN")
    for statement in _statements(role):
        connection.exec_driver_sql(statement)


def applications(connection: Connection) -> tuple[str, ...]:
    """Give the roles that :func:`grant_application` let in, by the policies that it made for them."""
    found = connection.exec_driver_sql(
        "SELECT DISTINCT unnest(roles)::text FROM pg_policies WHERE schemaname = 'public' AND tablename = 'transfer' ORDER BY 1"
    )
    return tuple(found.scalars())


def _statements(role: str) -> Iterator[str]:
    yield f"GRANT USAGE ON SCHEMA public TO {role}"
    yield f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {role}"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {role}"
    for table in (*TABLES, *SIGN_IN, "alembic_version"):
        yield f"GRANT SELECT ON {table} TO {role}"
    for table, rights in _CHANGES.items():
        yield f"GRANT INSERT, {', '.join(rights)} ON {table} TO {role}"
    for table in _APPENDS:
        written = f" ({', '.join(columns(table))})" if table in _SET_BY_DATABASE else ""
        yield f"GRANT INSERT{written} ON {table} TO {role}"
    for table, rule in _POLICIES.items():
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        for policy in (f"{table}_{role}_reads", f"{table}_{role}_appends"):
            yield f"DROP POLICY IF EXISTS {policy[:63]} ON {table}"
        yield f"CREATE POLICY {f'{table}_{role}_reads'[:63]} ON {table} FOR SELECT TO {role} USING (true)"
        yield f"CREATE POLICY {f'{table}_{role}_appends'[:63]} ON {table} FOR INSERT TO {role} WITH CHECK ({rule})"
