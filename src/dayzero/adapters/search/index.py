"""The index behind :class:`dayzero.catalog.ports.SearchIndex`, on SQLite and PostgreSQL.

The database keeps the versions and finds words; facets are filtered and counted on sets that are read once for each state.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError

from dayzero.adapters.search.filling import fill
from dayzero.adapters.search.postings import Bits, Postings, read
from dayzero.adapters.search.tables import prepare, put_state, state
from dayzero.adapters.search.terms import terms
from dayzero.adapters.search.words import found
from dayzero.catalog.facets import Facets, Filter, Found
from dayzero.core.errors import RemoteError

_STAMP, _FILLING = "stamp", "filling"


class SqlSearchIndex:
    """An index in a database. Several processes may share one; readers see the old versions or the new ones.

    Args:
        engine: The database, from :func:`dayzero.adapters.store.engine.open_engine`.

    Raises:
        RemoteError: The database refuses.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dialect = engine.dialect.name
        self._postings: Postings | None = None
        with _refusals(), engine.begin() as connection:
            prepare(connection)

    def replace(self, versions: Iterable[Facets], stamp: str) -> None:
        """Put these in the place of all that is in it, in one transaction; only what changed is written.

        Args:
            versions: Every version of every package, those of a package in the order in which they are listed.
            stamp: Names the state that they were read from.

        Raises:
            RemoteError: The database refuses.
        """
        with _refusals(), self._engine.begin() as connection:
            prepare(connection)
            fill(connection, versions)
            put_state(connection, _STAMP, stamp)
            put_state(connection, _FILLING, secrets.token_hex(8))
        with _refusals(), self._reading() as connection:
            self._state(connection, *state(connection, _FILLING))

    def stamp(self) -> str:
        """Say which state is in it; ``""`` where it was never filled.

        Raises:
            RemoteError: The database refuses.
        """
        with _refusals(), self._reading() as connection:
            return state(connection, _STAMP)[0]

    def search(self, wanted: Filter, *, limit: int, offset: int = 0) -> Found:
        """Find what a filter leaves.

        Where words are looked for, the versions come first whose name holds all of them, then those whose name and title do, then
        the rest; within each by name, the newest version first.

        Args:
            wanted: The filter.
            limit: The most hits, at least 1.
            offset: How many to leave out.

        Raises:
            RemoteError: The database refuses.
        """
        asked = terms(wanted.q)
        with _refusals(), self._reading() as connection:
            stamp, filling = state(connection, _STAMP, _FILLING)
            postings = self._state(connection, filling)
            worded = _worded(connection, postings, asked)
        chosen = postings.chosen(wanted)
        left = postings.always(wanted) & worded[-1]
        hits = left
        for bits in chosen.values():
            hits &= bits
        tiers = _tiers(hits, worded)
        return Found(
            total=hits.bit_count(),
            hits=postings.page(tiers, limit, offset),
            counts=postings.count(left, chosen),
            stamp=stamp,
        )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Read one state, also where several questions are asked and somebody writes in between."""
        options = {"isolation_level": "REPEATABLE READ"} if self._dialect == "postgresql" else {"reads_only": True}
        with self._engine.connect() as connection:
            yield connection.execution_options(**options)

    def _state(self, connection: Connection, filling: str) -> Postings:
        """Give the sets of the filling that is there now; they are read where another one is."""
        kept = self._postings
        if kept is None or kept.filling != filling:
            self._postings = kept = read(connection, filling)
        return kept


def _worded(connection: Connection, postings: Postings, asked: Sequence[str]) -> tuple[Bits, ...]:
    """Give the sets that hold every term, the best first; the last one is all that do."""
    return tuple(map(postings.rows, found(connection, asked))) if asked else (-1,)


def _tiers(hits: Bits, worded: Sequence[Bits]) -> Iterator[Bits]:
    """Part the hits by the first set that holds each."""
    for bits in worded:
        yield hits & bits
        hits &= ~bits


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise RemoteError(
            f"the search index does not answer: {reason}",
            hint="It can be made anew: remove its file, or give another database with --database.",
        ) from error
