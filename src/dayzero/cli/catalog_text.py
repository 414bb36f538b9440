"""Tell what a catalog came to."""

from pathlib import Path

from dayzero.catalog.edition import Catalog, Edition
from dayzero.catalog.model import Absent, Card, Gone, Shown
from dayzero.cli.console import stderr_console


def build_document(catalog: Catalog, output: Path, *, signed: bool) -> dict[str, object]:
    """Write what was built as ``dayzero/catalog-build/v1``."""
    return {
        "schema": "dayzero/catalog-build/v1",
        "site": str(output),
        "as_of": catalog.as_of,
        "signed": signed,
        "claims": len(catalog.pages),
        "packages": [
            {
                "name": edition.name,
                "version": edition.version,
                "released": edition.published or None,
                "yanked": edition.yank.reason if edition.yank else None,
                "shown": sum(isinstance(m.figure, Shown) for m in edition.card.measurements),
                "gone": [m.slug for m in edition.card.gone],
                "absent": [m.slug for m in edition.card.absent],
                "kit": edition.card.kit.archive if edition.card.kit else None,
            }
            for edition in catalog.editions
        ],
    }


def tell_build(catalog: Catalog, output: Path) -> None:
    """Print a line for each version, and on stderr what is shown no more and what was never there."""
    console = stderr_console()
    for edition in catalog.editions:
        card = edition.card
        print(f"{edition.name} {edition.version}{_standing(edition)}: {_headline(card)}")
        if card.kit:
            console.print(f"  kit {card.kit.archive}, {card.kit.size}, verified", markup=False)
        for measurement in (*card.gone, *card.absent):
            match measurement.figure:
                case Gone(reason=reason) as gone:
                    console.print(f"  {measurement.slug} was {gone.word}: {reason}", markup=False)
                case Absent(why=why):
                    console.print(f"  no number: {why}", markup=False)
    counted = (_count(len(made), noun) for made, noun in ((catalog.editions, "card"), (catalog.pages, "claim page")))
    print(f"built {output / 'index.html'} with {' and '.join(counted)}")


def _standing(edition: Edition) -> str:
    if edition.release is None:
        return " (not released)"
    return " (yanked)" if edition.yank else ""


def _headline(card: Card) -> str:
    shown = sum(isinstance(m.figure, Shown) for m in card.measurements)
    counted = f"{shown} of {len(card.measurements)} numbers shown"
    headline = card.headline
    if headline is None:
        return counted
    value = headline.figure.claim.text if isinstance(headline.figure, Shown) else "no number"
    return f"{value} ({headline.ref.label}); {counted}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
