"""Refusals that a caller must tell apart: a page answers each in its own way."""

from typing import Literal, TypeAlias

from dayzero.core.errors import InputError

RefusalCode: TypeAlias = Literal[
    "unknown",
    "insufficient-funds",
    "signature-required",
    "signature-unfit",
    "key-reused",
    "not-on-offer",
    "not-entitled",
    "not-refundable",
    "taken",
    "refused-by-schema",
]


class RefusedError(InputError):
    """The market does not do it; nothing was recorded.

    Args:
        code: Which refusal.
        message: Why.
        hint: What would be accepted.
    """

    def __init__(self, code: RefusalCode, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.code: RefusalCode = code
