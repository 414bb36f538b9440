"""How often somebody may ask: counted in fixed windows, before anything is done."""

from hashlib import sha256

from dayzero.identity.errors import TurnedAwayError
from dayzero.identity.model import Limit
from dayzero.identity.ports import Identity

_DAY_S = 86_400


def spend(identity: Identity, limit: Limit, who: str) -> None:
    """Count one more try.

    Args:
        identity: What is needed to count.
        limit: How often it may be done.
        who: An account or an address; only its digest is kept, for a day.

    Raises:
        TurnedAwayError: It was tried too often (``too-often``); it says when the window ends.
    """
    now = identity.now_s()
    window = now - now % limit.window_s
    bucket = sha256(f"{limit.what}:{who}".encode()).hexdigest()
    tried = identity.register.count(bucket, window)
    if tried == 1:
        identity.register.drop_before("attempt", "starts_at", now - _DAY_S)
    if tried > limit.most:
        wait = window + limit.window_s - now
        raise TurnedAwayError(
            "too-often",
            f"this was tried too often: {limit.what}",
            hint=f"Try again in {_minutes(wait)}.",
            retry_after_s=wait,
        )


def _minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
