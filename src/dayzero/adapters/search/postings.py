"""Which versions have which value, as sets of bits, so that filtering and counting thousands takes a millisecond.

A set is a whole number whose bit *n* stands for the version in place *n* of the listing. Read once for each filling of the index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import or_

import msgspec
from sqlalchemy import Connection, select

from dayzero.adapters.search.filling import Stored, plain
from dayzero.adapters.search.tables import VERSION
from dayzero.catalog.facets import FACETS, FacetCounts, Filter

_SPARSE = 64  # a value that fewer than one in so many versions have is kept as a list of places: memory stays linear
_ZERO_OR_ONE = bytes.maketrans(b"01", b"\0\1")

Bits = int
_Postings = Mapping[str, "Bits | Sequence[int]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """One filling of the index.

    Attributes:
        filling: Names the filling that they were read from.
        keys: The versions as (name, handle), in the order of the listing.
        places: Where each row's version stands in it.
        memory: Bytes that each asks for.
        latest, yanked: Sets.
        fits: Which versions each kind of GPU holds.
        values: The same of each facet's values.
    """

    filling: str
    keys: Sequence[tuple[str, str]]
    places: Mapping[int, int]
    memory: Sequence[int]
    latest: Bits
    yanked: Bits
    fits: _Postings
    values: Sequence[_Postings]

    def rows(self, ids: Iterable[int]) -> Bits:
        """Give the set of some rows; one that is not of this state is left out."""
        return _set([self.places[number] for number in ids if number in self.places], len(self.keys))

    def always(self, wanted: Filter) -> Bits:
        """Give what is left by the conditions of a filter that are no counted facet's, and no words."""
        left = (1 << len(self.keys)) - 1 if wanted.every_version else self.latest
        if not wanted.yanked:
            left &= ~self.yanked
        if wanted.fits:
            left &= self._any(self.fits, wanted.fits)
        low, high = wanted.min_memory.count, None if wanted.max_memory is None else wanted.max_memory.count
        if low or high is not None:
            within = [n for n, size in enumerate(self.memory) if size >= low and (high is None or size <= high)]
            left &= _set(within, len(self.keys))
        return left

    def chosen(self, wanted: Filter) -> Mapping[int, Bits]:
        """Give what each facet leaves of which values are wanted, by its number."""
        asked = {number: wanted.wanted(facet) for number, facet in enumerate(FACETS)}
        return {number: self._any(self.values[number], values) for number, values in asked.items() if values}

    def count(self, left: Bits, chosen: Mapping[int, Bits]) -> FacetCounts:
        """Count the values of every facet among what the other facets leave, the commonest first."""
        counts: dict[str, Mapping[str, int]] = {}
        whole = reduce(int.__and__, chosen.values(), left)
        flags = self._flags(whole)
        for number, facet in enumerate(FACETS):
            if number in chosen:
                others = reduce(int.__and__, (bits for other, bits in chosen.items() if other != number), left)
                counts[facet] = _counted(self.values[number], others, self._flags(others))
            else:
                counts[facet] = _counted(self.values[number], whole, flags)
        return counts

    def page(self, tiers: Iterable[Bits], limit: int, offset: int) -> tuple[tuple[str, str], ...]:
        """Give one page of versions: those of the first set first, each set in the order of the listing."""
        found = (key for tier in tiers for key in self._keys_of(tier))
        return tuple(islice(found, offset, offset + limit))

    def _keys_of(self, bits: Bits) -> Iterator[tuple[str, str]]:
        flags = self._flags(bits)
        place = flags.find(1)
        while place >= 0:
            yield self.keys[place]
            place = flags.find(1, place + 1)

    def _flags(self, bits: Bits) -> bytes:
        """Write a set as one byte for each version."""
        return f"{bits:0{len(self.keys)}b}"[::-1].encode().translate(_ZERO_OR_ONE)

    def _any(self, postings: _Postings, values: Iterable[str]) -> Bits:
        found = (postings.get(plain(value), 0) for value in values)
        sets = (bits if isinstance(bits, int) else _set(bits, len(self.keys)) for bits in found)
        return reduce(or_, sets, 0)


def read(connection: Connection, filling: str) -> Postings:
    """Read what the index holds."""
    columns = (VERSION.c.id, VERSION.c.name, VERSION.c.handle, VERSION.c.place, VERSION.c.facets)
    rows = sorted(connection.execute(select(*columns)), key=lambda row: (row.name, row.place))
    decoder = msgspec.json.Decoder(Stored)
    stored = [decoder.decode(row.facets) for row in rows]
    many = len(rows)
    return Postings(
        filling=filling,
        keys=[(row.name, row.handle) for row in rows],
        places={row.id: place for place, row in enumerate(rows)},
        memory=[version.memory for version in stored],
        latest=_set([place for place, version in enumerate(stored) if version.latest], many),
        yanked=_set([place for place, version in enumerate(stored) if version.yanked], many),
        fits=_posted([version.fits for version in stored]),
        values=[_posted([version.values[number] for version in stored]) for number in range(len(FACETS))],
    )


def _posted(values: Sequence[Sequence[str]]) -> _Postings:
    places: dict[str, list[int]] = {}
    for place, words in enumerate(values):
        for word in dict.fromkeys(words):
            places.setdefault(word, []).append(place)
    many = len(values)
    return {word: found if len(found) * _SPARSE < many else _set(found, many) for word, found in places.items()}


def _set(places: Sequence[int], many: int) -> Bits:
    flags = bytearray(b"0") * many
    for place in places:
        flags[place] = 49  # "1"
    return int(flags[::-1], 2) if many else 0


def _counted(postings: _Postings, left: Bits, flags: bytes) -> dict[str, int]:
    counts = {
        word: (bits & left).bit_count() if isinstance(bits, int) else sum(map(flags.__getitem__, bits))
        for word, bits in postings.items()
    }
    return dict(sorted(((w, n) for w, n in counts.items() if n), key=lambda item: (-item[1], item[0])))
