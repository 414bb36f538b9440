"""Passwords: long, none of the commonest, and kept only as what Argon2id makes of them.

Length is what counts, and no kind of character is asked for (NIST SP 800-63B-4: at least 15 where a password stands alone).
"""

import threading
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from dayzero.identity.errors import TurnedAwayError

SHORTEST, LONGEST = 15, 256
_AT_ONCE: Final = threading.BoundedSemaphore(2)  # each takes 64 MiB for a moment
_HINT: Final = (
    "Let a password manager make one, or string together a few words that have nothing to do with each other."
)


def check_fit(password: str, name: str) -> None:
    """Hold a new password to the rules.

    Args:
        password: The password.
        name: The account's name.

    Raises:
        TurnedAwayError: It is too short, too long, one of the commonest, something short said over and over, or holds the name
            (``password-unfit``).
    """
    said = _normal(password)
    if not SHORTEST <= len(said) <= LONGEST:
        raise _unfit(f"a password has {SHORTEST} to {LONGEST} characters, and this one has {len(said)}")
    plain = said.casefold()
    if plain in _commonest():
        raise _unfit("this password is among the first that anybody would try")
    if _repeats(plain):
        raise _unfit("this password is something short, said again and again")
    if name and name.casefold() in plain:
        raise _unfit("the password holds the name of the account")


def hashed(password: str) -> str:
    """Make of a password what is kept of it; it takes tens of milliseconds on purpose."""
    with _AT_ONCE:
        return _hasher().hash(_normal(password))


def holds(kept: str, password: str) -> bool:
    """Say whether a password is the one that something was made of; ``""`` takes as long as any, and is never it."""
    with _AT_ONCE:
        try:
            return _hasher().verify(kept or _nobody(), _normal(password)) and bool(kept)
        except (VerificationError, InvalidHashError):
            return False


def outdated(kept: str) -> bool:
    """Say whether a password should be hashed again, by today's cost."""
    return _hasher().check_needs_rehash(kept)


@lru_cache(maxsize=1)
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@lru_cache(maxsize=1)
def _nobody() -> str:
    return _hasher().hash("nobody has this password")


def _normal(password: str) -> str:
    return unicodedata.normalize("NFC", password)


def _repeats(plain: str) -> bool:
    """Say whether a text is one part of at most half its length, said again and again."""
    return plain in (plain + plain)[1:-1] or len(set(plain)) <= 3  # noqa: PLR2004  (three different characters are no password)


@lru_cache(maxsize=1)
def _commonest() -> frozenset[str]:
    text = (resources.files("dayzero.identity") / "commonest.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def _unfit(why: str) -> TurnedAwayError:
    return TurnedAwayError("password-unfit", why, hint=_HINT)
