"""Put cards into a listing, and gather the raw files that its readers may open."""

import re
from collections.abc import Mapping

from dayzero.catalog.document import raw_path
from dayzero.catalog.model import Card, Listing
from dayzero.catalog.page_model import ClaimPage
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import read_raw
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim, Explanation
from dayzero.evidence.ports import RawStore
from dayzero.evidence.raw_bytes import RawBytes
from dayzero.evidence.state import Missing, Standing, State, Withheld

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def build_listing(cards: tuple[Card, ...], pages: tuple[ClaimPage, ...] = ()) -> Listing:
    """Order the cards by name, and put the pages of the claims beside them.

    Raises:
        InputError: Two packages share a name, or a name cannot be a folder of the site.
    """
    names = [card.package.name for card in cards]
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"a package cannot be called {name!r}", hint="Use lower-case letters, digits, '.', '_' and '-'."
            )
        if names.count(name) > 1:
            raise InputError(f"two packages are called {name!r}", hint="Give each package its own name.")
    return Listing(tuple(sorted(cards, key=lambda card: card.package.name)), pages)


def read_contents(ledger: Ledger, store: RawStore) -> Mapping[Sha256, bytes]:
    """Read every raw file that a claim's page can quote or link.

    A file under a claim that is no longer made, or under a trial, may be gone; its page says so.

    Raises:
        EvidenceError: The raw file under a claim that stands is not in the store.
        IntegrityError: A raw file has changed since it was captured.
    """
    recorded = ledger.raw_files()
    states = ledger.standings().values()
    needed = {state.claim.raw for state in states if isinstance(state, Standing) and isinstance(state.claim, Claim)}
    contents: dict[Sha256, bytes] = {}
    for digest in {digest: None for state in states for digest in _under(state) if digest in recorded}:
        try:
            contents[digest] = RawBytes(read_raw(store, digest))
        except EvidenceError:
            if digest in needed:
                raise
    return contents


def _under(state: State) -> tuple[Sha256, ...]:
    match state:
        case Missing() | Withheld():
            return ()
        case told:
            match told.claim:
                case Claim(raw=raw):
                    return (raw,)
                case Explanation(trials=trials):
                    return tuple(trial.raw for trial in trials)
                case _:
                    return ()


def raw_files(listing: Listing, store: RawStore) -> tuple[tuple[str, bytes], ...]:
    """Read the raw file under every number that is shown, and every one that a claim's page links, with its path in the site.

    Raises:
        EvidenceError: A raw file is not in the store.
        IntegrityError: A raw file has changed since it was captured.
    """
    return tuple((raw_path(digest), read_raw(store, digest)) for digest in listing.raws)
