"""What a check looks at: the ledger with its states, and the readings of pages, indexed once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dayzero.core.pins import Sha256
from dayzero.core.verdict import Place
from dayzero.evidence.citation import RawBlock, Reading
from dayzero.evidence.ledger import LEDGER_NAME, Ledger
from dayzero.evidence.model import Claim, Explanation, Trial
from dayzero.evidence.state import Standing, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Ledger and pages, looked up by slug and by raw file.

    Attributes:
        ledger: The ledger.
        folder: What its folder is called in places.
        standings: Where each slug stands.
        cited: The places that cite each slug.
        claims: The standing claims on each raw file, with their lines in the ledger.
        trials: The trials on each raw file, of explanations that stand, with slugs and lines.
        blocks: The blocks that quote each raw file.
    """

    ledger: Ledger
    folder: str
    standings: Mapping[str, State]
    cited: Mapping[str, Sequence[Place]]
    claims: Mapping[Sha256, Sequence[tuple[Claim, int]]]
    trials: Mapping[Sha256, Sequence[tuple[str, Trial, int]]]
    blocks: Mapping[Sha256, Sequence[RawBlock]]

    def line(self, number: int) -> Place:
        """Name a line of the ledger."""
        return Place(artifact="", file=f"{self.folder}/{LEDGER_NAME}", position=f"line {number}")

    def cited_at(self, slug: str) -> tuple[Place, ...]:
        """List where pages cite a slug."""
        return tuple(self.cited.get(slug, ()))

    def users(self, digest: Sha256) -> tuple[Place, ...]:
        """List every place in pages that shows something from a raw file."""
        cited = (place for claim, _ in self.claims.get(digest, ()) for place in self.cited_at(claim.slug))
        tried = (place for slug, _, _ in self.trials.get(digest, ()) for place in self.cited_at(slug))
        places = {*cited, *tried, *(block.place for block in self.blocks.get(digest, ()))}
        return tuple(sorted(places, key=lambda place: (place.file, len(place.position), place.position)))


def examine(ledger: Ledger, readings: Iterable[Reading], *, folder: str) -> Examination:
    """Index a ledger and what was read of the pages.

    Args:
        ledger: The ledger.
        readings: What was found in each page.
        folder: What the ledger's folder is called.
    """
    standings = ledger.standings()
    cited: defaultdict[str, list[Place]] = defaultdict(list)
    blocks: defaultdict[Sha256, list[RawBlock]] = defaultdict(list)
    claims: defaultdict[Sha256, list[tuple[Claim, int]]] = defaultdict(list)
    trials: defaultdict[Sha256, list[tuple[str, Trial, int]]] = defaultdict(list)
    for reading in readings:
        for citation in reading.citations:
            cited[citation.slug].append(citation.place)
        for block in reading.blocks:
            blocks[block.raw].append(block)
    for state in standings.values():
        match state:
            case Standing(claim=Claim() as claim, line=line):
                claims[claim.raw].append((claim, line))
            case Standing(claim=Explanation(slug=slug, trials=tried), line=line):
                for trial in tried:
                    trials[trial.raw].append((slug, trial, line))
            case _:
                pass
    return Examination(
        ledger=ledger, folder=folder, standings=standings, cited=cited, claims=claims, trials=trials, blocks=blocks
    )
