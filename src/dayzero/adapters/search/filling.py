"""Write versions into the index: only what is other than what is there, so that a change of one package costs one package."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec
from sqlalchemy import Connection, func, select

from dayzero.adapters.search.tables import VERSION
from dayzero.adapters.search.words import Worded, delete, insert
from dayzero.catalog.facets import FACETS, Facets

_BATCH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What is kept of a version beside its text.

    Attributes:
        latest, yanked: See :class:`dayzero.catalog.facets.Facets`.
        memory: Bytes of all GPUs together.
        fits: Kinds of GPU that hold it.
        values: The values of each of :data:`dayzero.catalog.facets.FACETS`.
    """

    latest: bool
    yanked: bool
    memory: int
    fits: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]


def plain(text: str) -> str:
    """Write a text so that both databases take it: without NUL and without halves of characters."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def fill(connection: Connection, versions: Iterable[Facets]) -> None:
    """Put versions in the place of all that are there."""
    columns = (VERSION.c.id, VERSION.c.name, VERSION.c.handle, VERSION.c.digest)
    there = {(row.name, row.handle): (row.id, row.digest) for row in connection.execute(select(*columns))}
    rows = {row.key: row for row in _rows(versions)}
    kept = {key for key, (_, digest) in there.items() if key in rows and rows[key].digest == digest}
    _take_away(connection, [number for key, (number, _) in there.items() if key not in kept])
    first = (connection.execute(select(func.max(VERSION.c.id))).scalar() or 0) + 1
    new = [row for key, row in rows.items() if key not in kept]
    for start in range(0, len(new), _BATCH):
        _write(connection, new[start : start + _BATCH], first + start)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A version, where it stands among those of its package, and what says whether it changed."""

    name: str
    handle: str
    place: int
    title: str
    text: str
    facets: str

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.handle

    @property
    def digest(self) -> str:
        return sha256("\0".join((str(self.place), self.facets, self.title, self.text)).encode()).hexdigest()


def _rows(versions: Iterable[Facets]) -> Iterator[_Row]:
    places: Counter[str] = Counter()
    for facets in versions:
        stored = Stored(
            latest=facets.latest,
            yanked=facets.yanked,
            memory=facets.memory.count,
            fits=tuple(map(plain, facets.fits)),
            values=tuple(tuple(map(plain, facets.values(facet))) for facet in FACETS),
        )
        yield _Row(
            name=plain(facets.name),
            handle=plain(facets.handle),
            place=places[facets.name],
            title=plain(facets.title),
            text=plain(facets.text),
            facets=msgspec.json.encode(stored).decode(),
        )
        places[facets.name] += 1


def _take_away(connection: Connection, ids: Sequence[int]) -> None:
    for start in range(0, len(ids), _BATCH):
        part = ids[start : start + _BATCH]
        delete(connection, part)
        connection.execute(VERSION.delete().where(VERSION.c.id.in_(part)))


def _write(connection: Connection, rows: Sequence[_Row], first: int) -> None:
    numbered = list(enumerate(rows, start=first))
    connection.execute(VERSION.insert(), [_version(number, row) for number, row in numbered])
    insert(connection, [Worded(id=number, name=row.name, title=row.title, body=row.text) for number, row in numbered])


def _version(number: int, row: _Row) -> dict[str, object]:
    return {
        "id": number,
        "name": row.name,
        "handle": row.handle,
        "place": row.place,
        "digest": row.digest,
        "facets": row.facets,
    }
