"""Errors by who can act on them. A finding is a value (see :mod:`dayzero.core.verdict`), not an exception."""


class DayzeroError(Exception):
    """Root of all errors that dayzero raises on purpose.

    Args:
        message: What went wrong, naming the input (file, line, key) that shows it.
        hint: What the reader can do next, as one imperative sentence.
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(DayzeroError):
    """The caller gave something that cannot be used; changing the input mends it."""


class RemoteError(DayzeroError):
    """An engine, endpoint, index or file system did not do its part; retrying or repairing it mends it."""


class IntegrityError(DayzeroError):
    """Bytes are not the bytes that were pinned or signed; do not go on with them."""


class EvidenceError(DayzeroError):
    """A number, claim or record has nothing standing under it."""
