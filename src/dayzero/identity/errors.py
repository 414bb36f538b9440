"""Why somebody is turned away; a page answers each in its own way."""

from typing import Literal, TypeAlias

from dayzero.core.errors import InputError

TurnedAwayCode: TypeAlias = Literal["sign-in-failed", "password-unfit", "too-often", "unknown"]


class TurnedAwayError(InputError):
    """Whoever asks is not let in, or not now.

    Args:
        code: Which case.
        message: Why.
        hint: What would be accepted.
        retry_after_s: Seconds after which it can be tried again; 0 where waiting does not help.
    """

    def __init__(self, code: TurnedAwayCode, message: str, *, hint: str, retry_after_s: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.code: TurnedAwayCode = code
        self.retry_after_s = retry_after_s
