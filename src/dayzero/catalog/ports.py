"""What the catalog needs from outside."""

from collections.abc import Iterable
from typing import Protocol

from dayzero.catalog.facets import Facets, Filter, Found


class SearchIndex(Protocol):
    """Finds versions by facets and words, among thousands.

    It agrees with :func:`dayzero.catalog.facets.matches` and :func:`dayzero.catalog.facets.count`; only the order of what is
    found by words is its own.
    """

    def replace(self, versions: Iterable[Facets], stamp: str) -> None:
        """Put these in the place of all that is in it, at once: a reader sees the old ones or the new ones.

        Args:
            versions: Every version of every package.
            stamp: Names the state that they were read from; :meth:`stamp` gives it back.

        Raises:
            RemoteError: The store refuses.
        """
        ...

    def stamp(self) -> str:
        """Say which state is in it; ``""`` where it was never filled."""
        ...

    def search(self, wanted: Filter, *, limit: int, offset: int = 0) -> Found:
        """Find what a filter leaves.

        Args:
            wanted: The filter; whatever stands in ``q`` is words, never a query of the store's own language.
            limit: The most hits, at least 1.
            offset: How many to leave out.

        Raises:
            RemoteError: The store refuses.
        """
        ...
