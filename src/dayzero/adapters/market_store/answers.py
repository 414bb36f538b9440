"""Say what a database answers in the market's words, and tell an answer from a reason to decide anew."""

import contextlib
from collections.abc import Iterator

import sqlalchemy

from dayzero.core.errors import RemoteError
from dayzero.market.errors import RefusedError

# A cycle of waiting, a conflict; somebody was first; the connection was handed on without what it had prepared: decide anew.
_AGAIN = frozenset({"40001", "40P01", "23505", "26000"})

_NO_RIGHT, _TOO_LARGE = "42501", "22003"


class OnceMore(Exception):  # noqa: N818  (no error: the transaction is done again)
    """The work has to be done again, from its first question.

    Args:
        answer: What to say where it was done too often.
    """

    def __init__(self, answer: RefusedError | RemoteError) -> None:
        super().__init__()
        self.answer = answer


class KeepFirst(Exception):  # noqa: N818  (no error: the work is done again)
    """The work does what two statements cannot: the account has to be kept for it."""


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """Say what a database refuses in the market's words.

    Raises:
        OnceMore: Somebody else was first.
        RefusedError: The schema refuses it.
        RemoteError: The database does not do it.
    """
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        raise _said(error.orig, refused=isinstance(error, sqlalchemy.exc.IntegrityError)) from error
    except OverflowError as error:  # what SQLite's driver says of a number that no column holds
        raise _refusal(_line(error)) from error


@contextlib.contextmanager
def wrapped(dialect: sqlalchemy.Dialect) -> Iterator[None]:
    """Have a driver that is asked directly answer as one that SQLAlchemy asks."""
    driver = dialect.loaded_dbapi
    try:
        yield
    except driver.Error as error:
        raise _said(error, refused=isinstance(error, driver.IntegrityError)) from error


def gone(error: BaseException) -> OnceMore:
    """Take a connection that died before anything was done on it as a reason to try another one."""
    return OnceMore(RemoteError(f"the database is gone: {_line(error)}", hint="Look at it, then ask again."))


def _said(error: BaseException | None, *, refused: bool) -> Exception:
    state = getattr(error, "sqlstate", None)
    if state == _NO_RIGHT:
        return RemoteError(
            f"this role may not do it: {_line(error)}",
            hint="Use the owner's role: the application's reads, and appends what buyers do.",
        )
    answer = _refusal(_line(error)) if refused or state == _TOO_LARGE else _remote(_line(error))
    return OnceMore(answer) if state in _AGAIN else answer


def _line(error: BaseException | None) -> str:
    return str(error).partition("\n")[0]


def _remote(message: str) -> RemoteError:
    return RemoteError(f"the database does not do it: {message}", hint="Look at the database, then ask again.")


def _refusal(message: str) -> RefusedError:
    if "balance_not_negative" in message:
        return RefusedError(
            "insufficient-funds",
            "the wallet does not cover it",
            hint="Ask the operator for credit, or pay in another way.",
        )
    return RefusedError(
        "refused-by-schema", f"the books do not take it: {message}", hint="Nothing was recorded; mend the request."
    )
