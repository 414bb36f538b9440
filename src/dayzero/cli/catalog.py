"""``dayzero catalog``: what is on offer?"""

import threading
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.site.folder import write_site
from dayzero.adapters.site.server import serve
from dayzero.catalog.model import Absent, Card, Gone, Listing, Shown
from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.wiring import definitions, store
from dayzero.wiring.kits import kit_facts
from dayzero.wiring.site import list_packages, raw_store, site_files

APP = cyclopts.App(
    name="catalog", help="What is on offer? Cards and their listing, every number read from the evidence ledger."
)


@APP.command(name="build")
def build_site(  # noqa: PLR0913  (each argument is one option)
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    packages: Path | None = None,
    evidence: Path = Path("evidence"),
    kits: Path | None = None,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--key", negative=())] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Build the static site from package definitions and the evidence ledger: a card a package, a page a claim.

    Args:
        output: Folder of the site; an earlier site there is replaced as a whole.
        packages: Folder of the package definitions; the ones that travel with dayzero when left out.
        evidence: Folder of the ledger and its raw files.
        kits: Folder with NAME-VERSION.kit.zip and its attestation, at any depth: cards show the facts of verified kits.
        key: A public key that you trust to sign kits; the *.pub.pem in the folder of the kits when left out.
        output_format: How the result is written to stdout.
    """
    if key and kits is None:
        raise InputError("--key without --kits checks nothing", hint="Give --kits DIR too.")
    ledger, raw = store.open_ledger(evidence), raw_store(evidence)
    offered = definitions.packages(packages)
    facts = {} if kits is None else kit_facts(offered, kits, key)
    listing = list_packages(offered, ledger, raw, facts)
    write_site(site_files(listing, raw), output)
    if output_format == "json":
        print_json(_document(listing, output))
    else:
        _print(listing, output)
    return PROVEN


@APP.command(name="serve")
def serve_site(site: Path, *, port: int = 0, host: str = "127.0.0.1") -> int:
    """Serve a built site until Ctrl-C.

    Args:
        site: Folder of the site.
        port: TCP port; 0 takes a free one.
        host: Address to listen on; only this machine can reach the default.
    """
    with serve(site, host=host, port=port) as address:
        try:
            print(f"serving {site} at {address}", flush=True)
            stderr_console().print("Ctrl-C stops it.")
            threading.Event().wait()
        except KeyboardInterrupt:
            stderr_console().print("stopped")
    return PROVEN


def _document(listing: Listing, output: Path) -> dict[str, object]:
    return {
        "schema": "dayzero/catalog-build/v1",
        "site": str(output),
        "claims": len(listing.pages),
        "packages": [
            {
                "name": card.package.name,
                "version": card.package.version,
                "shown": sum(isinstance(m.figure, Shown) for m in card.measurements),
                "gone": [m.slug for m in card.gone],
                "absent": [m.slug for m in card.absent],
                "kit": card.kit.archive if card.kit else None,
            }
            for card in listing.cards
        ],
    }


def _print(listing: Listing, output: Path) -> None:
    console = stderr_console()
    for card in listing.cards:
        print(f"{card.package.name} {card.package.version}: {_headline(card)}")
        if card.kit:
            console.print(f"  kit {card.kit.archive}, {card.kit.size}, verified", markup=False)
        for measurement in (*card.gone, *card.absent):
            match measurement.figure:
                case Gone(reason=reason) as gone:
                    console.print(f"  {measurement.slug} was {gone.word}: {reason}", markup=False)
                case Absent(why=why):
                    console.print(f"  no number: {why}", markup=False)
    cards, pages = (_count(len(made), noun) for made, noun in ((listing.cards, "card"), (listing.pages, "claim page")))
    print(f"built {output / 'index.html'} with {cards} and {pages}")


def _headline(card: Card) -> str:
    shown = sum(isinstance(m.figure, Shown) for m in card.measurements)
    counted = f"{shown} of {len(card.measurements)} numbers shown"
    match card.headline:
        case None:
            return counted
        case headline:
            figure = headline.figure
            value = figure.claim.text if isinstance(figure, Shown) else "no number"
            return f"{value} ({headline.ref.label}); {counted}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
