"""The tables of who may sign in. They stand beside the books and are no part of them: rows change, and go away.

A password is what Argon2id made of it; of a session's and a token's secret only the SHA-256 is here. Times are seconds since 1970.
"""

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from dayzero.adapters.market_store.columns import HEX, METADATA, SAID, check, refers, small, text, whole


def _seconds(name: str, *, null: bool = False) -> Column[int]:
    return whole(name, null=null)


CREDENTIAL = Table(
    "credential",
    METADATA,
    text("account_id"),
    text("password"),
    _seconds("changed_at"),
    PrimaryKeyConstraint("account_id", name="credential_pk"),
    refers("credential_account", "account_id", "account", "id"),
    check("credential_house", "account_id <> 'house'"),
    check("credential_hashed", "substr(password, 1, 10) = '$argon2id$'"),
)

SESSION = Table(
    "session",
    METADATA,
    text("token_sha256"),
    text("account_id"),
    _seconds("created_at"),
    _seconds("expires_at"),
    PrimaryKeyConstraint("token_sha256", name="session_pk"),
    refers("session_account", "account_id", "account", "id"),
    check("session_digest", HEX.format("token_sha256")),
    Index("session_by_account", "account_id"),
)

TOKEN = Table(
    "token",
    METADATA,
    text("token_sha256"),
    text("id"),
    text("account_id"),
    text("label"),
    text("scopes"),
    _seconds("created_at"),
    _seconds("expires_at"),
    _seconds("revoked_at", null=True),
    PrimaryKeyConstraint("token_sha256", name="token_pk"),
    refers("token_account", "account_id", "account", "id"),
    check("token_digest", HEX.format("token_sha256")),
    check("token_labelled", SAID.format("label")),
    check("token_scopes", "scopes IN ('read', 'read buy')"),
    Index("token_by_account", "account_id"),
)

ATTEMPT = Table(
    "attempt",
    METADATA,
    text("bucket"),
    _seconds("starts_at"),
    small("tried"),
    PrimaryKeyConstraint("bucket", "starts_at", name="attempt_pk"),
    check("attempt_bucket", HEX.format("bucket")),
)

SIGN_IN = {table.name: table for table in (CREDENTIAL, SESSION, TOKEN, ATTEMPT)}
"""Each by its name."""
