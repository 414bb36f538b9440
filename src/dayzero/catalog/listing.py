"""Put cards into a listing, and gather the raw files that its readers may open."""

import re

from dayzero.catalog.document import raw_path
from dayzero.catalog.model import Card, Listing
from dayzero.core.errors import InputError
from dayzero.evidence.claims import read_raw
from dayzero.evidence.ports import RawStore

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def build_listing(cards: tuple[Card, ...]) -> Listing:
    """Order the cards by name.

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
    return Listing(tuple(sorted(cards, key=lambda card: card.package.name)))


def raw_files(listing: Listing, store: RawStore) -> tuple[tuple[str, bytes], ...]:
    """Read the raw file under every number that is shown, with its path in the site.

    Raises:
        EvidenceError: A raw file is not in the store.
        IntegrityError: A raw file has changed since it was captured.
    """
    return tuple((raw_path(raw), read_raw(store, raw.sha256)) for raw in listing.raws)
