"""Gather the raw files that a reader may open, each held to its digest."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from dayzero.catalog.edition import Catalog
from dayzero.catalog.paths import raw_path
from dayzero.catalog.told import Told
from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import read_raw
from dayzero.evidence.model import Claim, Explanation
from dayzero.evidence.ports import RawStore
from dayzero.evidence.raw_bytes import RawBytes
from dayzero.evidence.state import ClaimState, Standing, Withheld

_AT_HAND: Final = 32


class Contents(Mapping[Sha256, bytes]):
    """Raw files that were there and whole, by digest; each is read, and held to its digest, again when it is asked for.

    The few that were asked for last are at hand: the claims of one package rest on the same files.

    Args:
        digests: Which ones.
        store: Where they lie.

    Raises:
        EvidenceError: One that is asked for is gone since.
        IntegrityError: It was changed since.
    """

    def __init__(self, digests: Iterable[Sha256], store: RawStore) -> None:
        self._digests = dict.fromkeys(digests)
        self._read = lru_cache(maxsize=_AT_HAND)(lambda digest: RawBytes(read_raw(store, digest)))

    def __getitem__(self, digest: Sha256) -> bytes:
        """Read one."""
        if digest not in self._digests:
            raise KeyError(digest)
        return self._read(digest)

    def __contains__(self, digest: object) -> bool:
        """Say whether one is there, without reading it."""
        return digest in self._digests

    def __iter__(self) -> Iterator[Sha256]:
        """Give the digests."""
        return iter(self._digests)

    def __len__(self) -> int:
        """Count them."""
        return len(self._digests)


def read_contents(told: Told, store: RawStore) -> Contents:
    """Look at every raw file that a claim's page can quote or link, or that an earlier claim rests on.

    A file under a claim that is no longer made, or under a trial, may be gone; its page says so.

    Raises:
        EvidenceError: The raw file under a claim that stands is not in the store.
        IntegrityError: A raw file has changed since it was captured.
    """
    states = told.standings.values()
    needed = {state.claim.raw for state in states if isinstance(state, Standing) and isinstance(state.claim, Claim)}
    said = (state for history in told.histories.values() for state in history)
    whole: list[Sha256] = []
    for digest in dict.fromkeys(digest for state in said for digest in _under(state) if digest in told.raws):
        try:
            read_raw(store, digest)
        except EvidenceError:
            if digest in needed:
                raise
        else:
            whole.append(digest)
    return Contents(whole, store)


def raw_files(catalog: Catalog, contents: Mapping[Sha256, bytes], store: RawStore) -> Iterator[tuple[str, bytes]]:
    """Give the raw file under every number that is shown, and every one that a claim's page links, with its path in the site.

    Raises:
        EvidenceError: A raw file is not in the store.
        IntegrityError: A raw file has changed since it was captured.
    """
    for digest in catalog.raws:
        content = contents.get(digest)
        yield raw_path(digest), read_raw(store, digest) if content is None else content


def _under(state: ClaimState) -> tuple[Sha256, ...]:
    match state:
        case Withheld():
            return ()
        case told:
            match told.claim:
                case Claim(raw=raw):
                    return (raw,)
                case Explanation(trials=trials):
                    return tuple(trial.raw for trial in trials)
                case _:
                    return ()
