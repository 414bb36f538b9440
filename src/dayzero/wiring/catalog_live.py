"""The catalog as it is at this moment: read again where a definition, the release log, the ledger or a kit changed."""

import gc
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from dayzero.adapters.search.index import SqlSearchIndex
from dayzero.adapters.site.export import comparisons_by_version, pairs_beside
from dayzero.adapters.site.place import Site, site_of
from dayzero.adapters.store.engine import open_engine
from dayzero.catalog.edition import Catalog, Edition, Entry, SystemFit
from dayzero.catalog.facets import Filter, Found
from dayzero.catalog.finding import all_facets
from dayzero.catalog.ports import SearchIndex
from dayzero.catalog.release import LOG_NAME
from dayzero.core.accelerators import accelerator
from dayzero.core.errors import DayzeroError, InputError, IntegrityError, RemoteError
from dayzero.core.hardware import System, parse_system
from dayzero.core.pins import Sha256
from dayzero.evidence.check import RAW_FOLDER
from dayzero.evidence.claims import read_raw
from dayzero.evidence.ledger import LEDGER_NAME
from dayzero.wiring.catalog_source import CatalogSource, Offer, Places
from dayzero.wiring.definitions import collections
from dayzero.wiring.site import kit_paths

_NODE: Final = 8
_PATIENCE: Final = 20.0  # how many times as long as it takes to look at all files is waited before that is done again
_LEAST_S: Final = 0.5

Version = tuple[str, str]
FitAnswer = Callable[[Edition, System], SystemFit]
"""Says whether a system holds a version."""


class UnavailableError(DayzeroError):
    """The catalog cannot be read as it lies there now, so nothing that is read from it is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One state of the catalog, ready to be asked.

    Attributes:
        stamp: Names the state.
        offer: What was read.
        site: What its pages have in common.
        entries: The packages by name, in order.
        editions: The versions.
        comparisons: Pages that set a version beside another one.
        raws: Digests of the raw files that a reader may open.
        index: Finds versions; it holds this state while :attr:`stamp` is its stamp.
        sized: Sizes a version on a system that the catalog does not list.
    """

    stamp: str
    offer: Offer
    site: Site
    entries: Mapping[str, Entry]
    editions: Mapping[Version, Edition]
    comparisons: Mapping[Version, tuple[tuple[str, str], ...]]
    raws: frozenset[str]
    index: SearchIndex
    sized: FitAnswer
    _fits: dict[tuple[Version, str], SystemFit] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def catalog(self) -> Catalog:
        """What is on offer."""
        return self.offer.catalog

    def search(self, wanted: Filter, *, limit: int, offset: int = 0) -> tuple[Found, tuple[Edition, ...]]:
        """Find versions.

        Raises:
            UnavailableError: Another server has just put another state into the index.
            RemoteError: The index does not answer.
        """
        found = self.index.search(wanted, limit=limit, offset=offset)
        if found.stamp != self.stamp:
            raise UnavailableError("the search index holds another state of the catalog", hint="Ask again in a moment.")
        return found, tuple(self.editions[hit] for hit in found.hits)

    @property
    def slugs(self) -> frozenset[str]:
        """The claims that have a page."""
        return frozenset(self.site.pages)

    def kit(self, edition: Edition, file: str) -> bytes | None:
        """Read one file of a version's kit: the archive, its attestation or the key; ``None`` where none is handed out.

        Raises:
            RemoteError: It cannot be read any more.
            IntegrityError: The archive is not the one that was published.
        """
        found = self.offer.kits.get((edition.name, edition.handle))
        places = {} if found is None else {place.name: place for place in (found.archive, found.attestation, found.key)}
        if found is None or file not in places:
            return None
        try:
            content = places[file].read_bytes()
        except OSError as error:
            raise RemoteError(
                f"the file {file} of the kit cannot be read: {error.strerror}", hint="Ask who keeps this catalog."
            ) from error
        pin = edition.release.kit if edition.release else None
        if pin is not None and places[file] == found.archive and Sha256.of(content) != pin.sha256:
            raise IntegrityError(
                f"the archive {file} is not the one that was published", hint="Ask who keeps this catalog."
            )
        return content

    def raw(self, digest: Sha256) -> bytes:
        """Read a raw file, held to its digest.

        Raises:
            EvidenceError: It is not there.
            IntegrityError: It was changed.
        """
        return read_raw(self.offer.raw, digest)

    def fit(self, edition: Edition, gpu: str, count: int) -> SystemFit:
        """Say whether a number of GPUs of one kind holds a version: as the catalog lists it, or sized now.

        Raises:
            InputError: The kind of GPU is not known, or so many do not make whole machines.
        """
        kind = accelerator(gpu).name
        listed = [fit for fit in edition.fits if (fit.gpu, fit.count) == (kind, count)]
        if listed:
            return next((fit for fit in listed if fit.own), listed[0])
        system = _system(kind, count)
        key = ((edition.name, edition.handle), system.name)
        with self._lock:
            if key not in self._fits:
                self._fits[key] = self.sized(edition, system)
            return self._fits[key]


def _system(kind: str, count: int) -> System:
    """Give a system of so many GPUs; more than eight stand in machines of eight."""
    if count <= _NODE:
        return parse_system(f"{count}x{kind}")
    if count % _NODE:
        raise InputError(
            f"{count} GPUs do not stand in whole machines of {_NODE}",
            hint=f"Ask for up to {_NODE}, or for a multiple of {_NODE}.",
        )
    return parse_system(f"{count // _NODE}x{_NODE}x{kind}")


def snapshot_of(offer: Offer, index: SearchIndex, sized: FitAnswer, *, market: bool = False) -> Snapshot:
    """Make a state ready to be asked, and put it into the index, where only what changed is written.

    Args:
        offer: What was read.
        index: Where it is found from then on.
        sized: Sizes a version on a system that the catalog does not list.
        market: Packages are sold here too.

    Raises:
        RemoteError: The index does not answer.
    """
    catalog = offer.catalog
    facets = tuple(all_facets(catalog))
    stamp = sha256("\0".join(map(repr, facets)).encode("utf-8", "replace")).hexdigest()
    if index.stamp() != stamp:
        index.replace(facets, stamp)
    pairs = [pair for chosen in pairs_beside(catalog).values() for pair in chosen]
    return Snapshot(
        stamp=stamp,
        offer=offer,
        site=site_of(catalog, kits=kit_paths(offer), live=True, market=market),
        entries={entry.name: entry for entry in catalog.entries},
        editions={(edition.name, edition.handle): edition for edition in catalog.editions},
        comparisons=comparisons_by_version(dict.fromkeys(pairs)),
        raws=frozenset(digest.hex for digest in catalog.raws),
        index=index,
        sized=sized,
    )


class LiveCatalog:
    """Gives the state of the catalog, and never one that is no longer so.

    Args:
        read: Reads everything.
        index: Finds versions.
        sized: Sizes a version on a system that the catalog does not list.
        watched: Files and folders whose change shows at once: the ledger, the release log, the folder of raw files, the rows.
        look: Names the state of every file that is read. It is asked about twice a second, and more seldom where that takes long.
        clock: Seconds that only grow.
        market: Packages are sold here too, and pages lead there.
    """

    def __init__(  # noqa: PLR0913  (what it needs from outside)
        self,
        read: Callable[[], Offer],
        index: SearchIndex,
        sized: FitAnswer,
        *,
        watched: Iterable[Path] = (),
        look: Callable[[], str] = str,
        clock: Callable[[], float] = time.monotonic,
        market: bool = False,
    ) -> None:
        self._market = market
        self._read, self._index, self._sized = read, index, sized
        self._watched, self._look, self._clock = tuple(watched), look, clock
        self._lock = threading.Lock()
        self._few: tuple[tuple[int, ...], ...] | None = None
        self._all, self._next_look = "", 0.0
        self._state: Snapshot | DayzeroError = RemoteError("nothing was read yet", hint="Ask again.")

    def now(self) -> Snapshot:
        """Give the state as it is now.

        Raises:
            UnavailableError: It cannot be read: a file was changed that must not be, is gone, or is not valid; or the index fails.
        """
        with self._lock:
            try:
                if self._changed() or not self._holds():
                    self._state = snapshot_of(self._read(), self._index, self._sized, market=self._market)
                    _set_aside()
            except DayzeroError as error:
                self._state = error
            except OSError as error:
                self._state = RemoteError(
                    f"the disk does not answer: {error}", hint="See whether its files can be read."
                )
            state = self._state
        if isinstance(state, DayzeroError):
            raise UnavailableError(state.message, hint=state.hint) from state
        return state

    def _holds(self) -> bool:
        """Say whether the state may be told still: it is in the index, or is an error that does not go by itself."""
        match self._state:
            case RemoteError():
                return False
            case Snapshot(stamp=stamp):
                return self._index.stamp() == stamp
            case _:
                return True

    def _changed(self) -> bool:
        """Look whether anything is other than when it was read; what is written while it is read shows the next time."""
        few = tuple(map(_trace, self._watched))
        changed = few != self._few
        started = self._clock()
        if changed or started >= self._next_look:
            everything = self._look()
            took = self._clock() - started
            self._next_look = self._clock() + max(_LEAST_S, _PATIENCE * took)
            changed = changed or everything != self._all
            self._all = everything
        self._few = few
        return changed


def _set_aside() -> None:
    """Have the collector of garbage leave alone what stays: going through thousands of packages would make a reader wait."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def open_live(places: Places, database: str | Path, *, market: bool = False) -> LiveCatalog:
    """Open the live catalog of some places; nothing is read before it is asked.

    Args:
        places: Where it is read from.
        database: Where its search index lies: a file for SQLite, or a URL of PostgreSQL.
        market: Packages are sold here too, and pages lead there.

    Raises:
        InputError: The database is none that is known.
        RemoteError: It does not answer.
    """
    source = CatalogSource(places)
    logs = [home / LOG_NAME for home in collections(places.packages)]
    evidence = [places.evidence / LEDGER_NAME, places.evidence / RAW_FOLDER]
    rows = [places.performance] if places.performance else []
    return LiveCatalog(
        source.read,
        SqlSearchIndex(open_engine(database)),
        source.fit_on,
        watched=(*logs, *evidence, *rows),
        look=source.stamp,
        market=market,
    )


def _trace(file: Path) -> tuple[int, ...]:
    """Give what changes with a file: its time to the nanosecond, its size, and which file it is; nothing where there is none."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
