"""Read the whole catalog from disk: definitions, the release log, the ledger and its raw files, and kits."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from dayzero.adapters.package_files import LOCK
from dayzero.catalog.assemble import assemble
from dayzero.catalog.card import build_card
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.contents import read_contents
from dayzero.catalog.edition import DRAFT, FITS, UNKNOWN, Catalog, Deployment, Edition, SystemFit
from dayzero.catalog.model import Card, Fit, FitState, KitFacts
from dayzero.catalog.performance import Performance, read_performance
from dayzero.catalog.release import LOG_NAME, ReleaseLog
from dayzero.catalog.standing import read_fit, read_ladder
from dayzero.catalog.told import Told
from dayzero.core.errors import InputError
from dayzero.core.hardware import System
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.check import RAW_FOLDER
from dayzero.evidence.ledger import LEDGER_NAME, Ledger
from dayzero.evidence.ports import RawStore
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import store
from dayzero.wiring.catalog_deploy import DeployTable
from dayzero.wiring.catalog_fits import FitTable
from dayzero.wiring.catalog_releases import DEFINITION, RELEASES, Defined, Definitions, defined_in, read_log
from dayzero.wiring.catalog_terms import terms_of
from dayzero.wiring.collector import uncollected
from dayzero.wiring.definitions import collections
from dayzero.wiring.evidence_raw import raw_store
from dayzero.wiring.kits import KitFiles, KitFolder, open_kits


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a catalog is read from.

    Attributes:
        packages: Folder of packages; ``None`` for the standard ones.
        evidence: Folder of the ledger and its raw files.
        kits: Folder of kits, ``None`` for none.
        keys: Public keys that are trusted to sign kits; those in the folder of the kits when none is given.
        performance: What ``dayzero perfdb page`` wrote, ``None`` for nothing.
    """

    packages: Path | None = None
    evidence: Path = Path("evidence")
    kits: Path | None = None
    keys: tuple[Path, ...] = ()
    performance: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A catalog with the files under it.

    Attributes:
        catalog: The catalog.
        contents: The raw files that its pages quote, by digest.
        raw: Its raw files.
        kits: The files of the kits that may be handed out, by (name, handle): those of the open tier.
        licensed: Those that a market hands out to who has a right to them.
    """

    catalog: Catalog
    contents: Mapping[Sha256, bytes]
    raw: RawStore
    kits: Mapping[tuple[str, str], KitFiles] = field(default_factory=dict[tuple[str, str], KitFiles])
    licensed: Mapping[tuple[str, str], KitFiles] = field(default_factory=dict[tuple[str, str], KitFiles])


@dataclass(frozen=True, slots=True)
class _Read:
    """What does not depend on the ledger, read before the cards are built."""

    defined: tuple[Defined, ...]
    log: ReleaseLog
    kits: KitFolder | None


class CatalogSource:
    """Reads a catalog, again and again; what was parsed, rendered or sized before is not done again."""

    def __init__(self, places: Places) -> None:
        """Name the places; nothing is read yet."""
        self._places = places
        self._definitions = Definitions()
        self._deploy = DeployTable()
        self._rendered: dict[tuple[str, Sha256, Sha256], Deployment] = {}
        self._rendering = threading.Lock()
        self._fits = FitTable()
        self._beside: dict[tuple[str, str], Path] = {}

    def stamp(self) -> str:
        """Name the state of all that is read, from sizes and times alone; another state has another stamp."""
        return Sha256.of("\n".join(sorted(_states(self._places))).encode()).hex

    def read(self) -> Offer:
        """Read it all, without a look for cycles meanwhile; what was read stays, and is not looked through afterwards either.

        Raises:
            EvidenceError: The raw file under a claim that stands is gone.
            InputError: A definition is not valid, or there is none.
            IntegrityError: The ledger, the release log, a frozen definition, a raw file or a kit was changed.
        """
        with uncollected():
            return self._offer()

    def _offer(self) -> Offer:
        read = self._read()
        told = Told.read(store.open_ledger(self._places.evidence))
        raw = raw_store(self._places.evidence)
        contents = read_contents(told, raw)
        found: dict[str, dict[tuple[str, str], KitFiles]] = {"open": {}, "licensed": {}}
        editions = tuple(self._editions(read, told, found))
        catalog = assemble(editions, claim_pages(told, contents), told=told, log=read.log)
        catalog = replace(catalog, performance=_performance(self._places.performance))
        return Offer(catalog=catalog, contents=contents, raw=raw, kits=found["open"], licensed=found["licensed"])

    def fit_on(self, edition: Edition, system: System) -> SystemFit:
        """Say whether one system holds a version, also one that is not among the known ones."""
        package = edition.card.package
        return self._fits.on(package, self._beside[edition.name, edition.handle], system)

    def _read(self) -> _Read:
        defined: list[Defined] = []
        log = ReleaseLog()
        for home, names in collections(self._places.packages).items():
            found = read_log(home)
            log = log if log.records else found
            defined += defined_in(home, {name: home / name for name in names}, found, self._definitions)
        kits = None if self._places.kits is None else open_kits(self._places.kits, self._places.keys)
        return _Read(tuple(defined), log, kits)

    def _editions(
        self, read: _Read, told: Told, kits: Mapping[str, dict[tuple[str, str], KitFiles]]
    ) -> Iterator[Edition]:
        released = {(one.package.name, one.package.version) for one in read.defined if one.release}
        yanks = read.log.yanks()
        for one in read.defined:
            name, version = one.package.name, one.package.version
            found = None
            if read.kits is not None and (one.release or (name, version) not in released):
                found = read.kits.of(one.package, one.release.kit if one.release else None)
            card = card_of(one.package, told, found[0] if found else None, recipe=one.recipe)
            edition = self._edition(one, card)
            if edition.release:
                edition = replace(edition, yank=yanks.get((name, version)))
            if found:
                kits[one.package.tier][name, edition.handle] = found[1]
            yield edition

    def _edition(self, one: Defined, card: Card) -> Edition:
        file = self._beside[one.package.name, one.release.version if one.release else DRAFT] = _with_config(one)
        return _put_together(one, card, partial(self._deployment, one), self._fits.of(one.package, file, card.fit))

    def _deployment(self, one: Defined) -> Deployment:
        """Render the deploy files of a version, once; several readers of a live catalog may ask at the same time."""
        key = (one.package.name, one.sha256, one.recipe)
        with self._rendering:
            if key not in self._rendered:
                self._rendered[key] = self._deploy.of(one.package)
            return self._rendered[key]


def card_of(package: Package, told: Told, kit: KitFacts | None, *, recipe: Sha256 | None = None) -> Card:
    """Build a package's card from its definition and the ledger; ``recipe`` is its digest where it is known already."""
    about = told.about(recipe or recipe_digest(package.recipe))
    return build_card(package, about, kit=kit, statuses=read_ladder(package, about), fit=read_fit(package, about))


def offer_of(
    package: Package, definition: str, ledger: Ledger, raw: RawStore, kit: tuple[KitFacts, KitFiles | None]
) -> Offer:
    """Give the catalog of one definition that nobody released, with every claim of the ledger.

    Args:
        package: The definition.
        definition: Its text.
        ledger: The ledger.
        raw: Its raw files.
        kit: What is known of its kit, and its files where they may be handed out.

    Raises:
        EvidenceError: The raw file under a claim that stands is gone.
        IntegrityError: A raw file was changed.
    """
    told = Told.read(ledger)
    contents = read_contents(told, raw)
    content = definition.encode()
    one = Defined(
        package=package,
        recipe=recipe_digest(package.recipe),
        text=definition,
        sha256=Sha256.of(content),
        file=Path(package.name) / DEFINITION,
        release=None,
    )
    card = card_of(package, told, kit[0], recipe=one.recipe)
    rendered = DeployTable().of(package)
    edition = _put_together(one, card, lambda: rendered, FitTable().of(package, one.file, card.fit))
    log = ReleaseLog()
    catalog = assemble((edition,), claim_pages(told, contents), told=told, log=log)
    kits = {} if kit[1] is None else {(package.name, DRAFT): kit[1]}
    return Offer(catalog=catalog, contents=contents, raw=raw, kits=kits)


def _put_together(
    one: Defined,
    card: Card,
    rendering: Callable[[], Deployment],
    fits: tuple[SystemFit, ...],
) -> Edition:
    return Edition(
        card=replace(card, fit=_fit_of(card, fits)),
        release=one.release,
        yank=None,
        definition=one.text,
        definition_sha256=one.sha256,
        rendering=rendering,
        fits=fits,
        difference=None,
        terms=terms_of(_home(one), one.package.tier),
    )


def _fit_of(card: Card, fits: tuple[SystemFit, ...]) -> Fit:
    """Say whether the recipe fits its own system: as the ledger has it, and where it has nothing, as it was worked out just now."""
    own = next((fit for fit in fits if fit.own and fit.state != UNKNOWN), None)
    if card.fit.state is not FitState.UNKNOWN or own is None:
        return card.fit
    state = FitState.COMPUTED_FITS if own.state == FITS else FitState.COMPUTED_DOES_NOT_FIT
    return Fit(state, f"{own.sentence} {card.fit.why}")


def _home(one: Defined) -> Path:
    """Give the folder of packages that a definition lies in: of ``NAME/package.toml``, or ``NAME/releases/VERSION/...``."""
    return one.file.parents[1 if one.release is None else 3]


def _with_config(one: Defined) -> Path:
    """Give the file beside which the model's configuration is looked for: the frozen definition, else the package's own."""
    beside = one.file.with_name("config.json")
    return one.file if beside.is_file() else _home(one) / one.package.name / DEFINITION


def _states(places: Places) -> Iterator[str]:
    """Give the size and the time of change of everything that is read."""
    for home, names in collections(places.packages).items():
        yield from _state(home / LOG_NAME)
        for name in names:
            for file in (DEFINITION, LOCK, "config.json"):
                yield from _state(home / name / file)
            yield from _under(home / name / RELEASES)
        yield from _under(home / "terms")
    yield from _state(places.evidence / LEDGER_NAME)
    yield from _under(places.evidence / RAW_FOLDER)
    if places.kits is not None:
        yield from _under(places.kits)
    if places.performance is not None:
        yield from _state(places.performance)


def _performance(file: Path | None) -> Performance | None:
    if file is None:
        return None
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}", hint="Write it: dayzero perfdb page DB -o FILE.json"
        ) from error
    return read_performance(content, str(file))


def _under(folder: Path) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            yield from _under(Path(entry.path))
        else:
            yield from _state(entry)


def _state(file: Path | os.DirEntry[str]) -> Iterator[str]:
    try:
        found = file.stat()
    except OSError:
        return
    yield f"{os.fspath(file)} {found.st_size} {found.st_mtime_ns} {found.st_ino}"
