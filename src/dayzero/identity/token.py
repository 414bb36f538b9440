"""API tokens: shown once, kept as a digest, listed, and taken back."""

from hashlib import sha256
from typing import Final

from dayzero.identity.errors import TurnedAwayError
from dayzero.identity.model import TOKEN_DAYS, Scope, Token, Values
from dayzero.identity.ports import Identity

PREFIX: Final = "dz_"
_DAY_S: Final = 86_400
_ID: Final = 12


def issue(identity: Identity, account_id: str, label: str, scopes: tuple[Scope, ...]) -> tuple[str, Token]:
    """Make a token.

    Returns:
        Its secret, which is shown once and kept by nobody here, and the token.

    Raises:
        TurnedAwayError: It has no label (``unknown``).
    """
    if not label.strip():
        raise TurnedAwayError("unknown", "a token has a name", hint="Say what it is for.")
    now, secret = identity.now_s(), PREFIX + identity.secret()
    digest = sha256(secret.encode()).hexdigest()
    row: Values = {
        "token_sha256": digest,
        "id": digest[:_ID],
        "account_id": account_id,
        "label": label.strip(),
        "scopes": " ".join(scopes),
        "created_at": now,
        "expires_at": now + TOKEN_DAYS * _DAY_S,
        "revoked_at": None,
    }
    identity.register.put("token", row)
    return secret, _token(row)


def tokens(identity: Identity, account_id: str) -> tuple[Token, ...]:
    """List the tokens of an account, newest first."""
    found = (_token(row) for row in identity.register.every("token", account_id=account_id))
    return tuple(sorted(found, key=lambda token: (token.created_at, token.id), reverse=True))


def revoke(identity: Identity, account_id: str, token_id: str) -> None:
    """Take a token back; it stays in the list.

    Raises:
        TurnedAwayError: The account has no such token (``unknown``).
    """
    found = identity.register.every("token", account_id=account_id, id=token_id)
    if not found:
        raise TurnedAwayError("unknown", "there is no such token", hint="See the list of tokens.")
    if found[0]["revoked_at"] is None:
        identity.register.put("token", {**found[0], "revoked_at": identity.now_s()})


def token_of(identity: Identity, secret: str) -> Token | None:
    """Find the token that somebody shows, ``None`` where it is none, was taken back, or does not count any more."""
    digest = sha256(secret.encode()).hexdigest()
    for row in identity.register.every("token", token_sha256=digest):
        token = _token(row)
        return None if token.revoked or identity.now_s() >= token.expires_at else token
    return None


def _token(row: Values) -> Token:
    return Token(
        id=str(row["id"]),
        account_id=str(row["account_id"]),
        label=str(row["label"]),
        scopes=tuple(str(row["scopes"]).split()),
        created_at=int(row["created_at"] or 0),
        expires_at=int(row["expires_at"] or 0),
        revoked=row["revoked_at"] is not None,
    )
