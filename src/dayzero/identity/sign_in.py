"""Let somebody in by a password: the same answer, in the same time, whether there is no such account or the password is wrong."""

from hashlib import sha256

from dayzero.identity import password
from dayzero.identity.errors import TurnedAwayError
from dayzero.identity.model import SESSION_S, Session, Values
from dayzero.identity.ports import Identity


def set_password(identity: Identity, account_id: str, name: str, new: str) -> None:
    """Give an account a password; whoever was signed in to it is not any more.

    Args:
        identity: What is needed to know who asks.
        account_id: The account.
        name: Its name, which the password may not hold.
        new: The password.

    Raises:
        TurnedAwayError: It is unfit (``password-unfit``).
    """
    password.check_fit(new, name)
    _keep(identity, account_id, new)
    identity.register.drop("session", account_id=account_id)


def check_password(identity: Identity, account_id: str, given: str) -> None:
    """Hold a password to what is kept of an account's.

    Args:
        identity: What is needed to know who asks.
        account_id: The account; ``""`` where there is none of the name, which takes as long.
        given: The password.

    Raises:
        TurnedAwayError: It is not it (``sign-in-failed``); it is not said whether there is such an account.
    """
    found = identity.register.every("credential", account_id=account_id)
    kept = str(found[0]["password"]) if found else ""
    if not password.holds(kept, given):
        raise TurnedAwayError(
            "sign-in-failed",
            "the account name or the password is wrong",
            hint="Write both as they were given; a password that is lost can be set anew by whoever runs this market.",
        )
    if password.outdated(kept):
        _keep(identity, account_id, given)


def begin_session(identity: Identity, account_id: str) -> str:
    """Sign a browser in.

    Returns:
        What the browser keeps; only its digest is kept here.
    """
    now, secret = identity.now_s(), identity.secret()
    identity.register.drop_before("session", "expires_at", now + 1)
    row: Values = {
        "token_sha256": _digest(secret),
        "account_id": account_id,
        "created_at": now,
        "expires_at": now + SESSION_S,
    }
    identity.register.put("session", row)
    return secret


def session_of(identity: Identity, secret: str) -> Session | None:
    """Find the session of a browser, ``None`` where there is none or it is over."""
    if not secret:
        return None
    for row in identity.register.every("session", token_sha256=_digest(secret)):
        session = Session(account_id=str(row["account_id"]), expires_at=int(row["expires_at"] or 0))
        return session if identity.now_s() < session.expires_at else None
    return None


def end_session(identity: Identity, secret: str) -> None:
    """Sign a browser out."""
    identity.register.drop("session", token_sha256=_digest(secret))


def _keep(identity: Identity, account_id: str, new: str) -> None:
    row: Values = {"account_id": account_id, "password": password.hashed(new), "changed_at": identity.now_s()}
    identity.register.put("credential", row)


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
