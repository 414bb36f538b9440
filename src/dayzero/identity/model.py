"""What is known of who asks. Times are whole seconds since 1970, UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = str | int | None
"""What stands in a column."""

Values: TypeAlias = Mapping[str, Value]
"""A row, by column."""

Scope: TypeAlias = Literal["read", "buy"]
"""What a token may do: ``read`` looks and downloads, ``buy`` signs and spends too."""

SESSION_S = 12 * 3600
"""How long a browser stays signed in."""

TOKEN_DAYS = 90
"""How long a token counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that is signed in.

    Attributes:
        account_id: As whom.
        expires_at: The first second in which it is not any more.
    """

    account_id: str
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token, without its secret, which nobody keeps.

    Attributes:
        id: Its name in lists.
        account_id: Whose it is.
        label: What its owner calls it.
        scopes: What it may do.
        created_at, expires_at: From when until when it counts.
        revoked: Whether its owner took it back.
    """

    id: str
    account_id: str
    label: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int
    revoked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How often something may be tried.

    Attributes:
        what: What, in a word.
        most: So often.
        window_s: In so many seconds.
    """

    what: str
    most: int
    window_s: int
