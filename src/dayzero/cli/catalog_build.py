"""``dayzero catalog build``: the catalog as a static site."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.keys import load_key
from dayzero.adapters.site.folder import write_site
from dayzero.catalog.paths import OPENAPI
from dayzero.cli.catalog_text import build_document, tell_build
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.web.api import api_routes
from dayzero.web.kept import Pages
from dayzero.web.openapi import openapi_bytes
from dayzero.wiring.catalog_live import open_live
from dayzero.wiring.catalog_source import CatalogSource, Places
from dayzero.wiring.site import site_files


def build_site(  # noqa: PLR0913  (each argument is one option)
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    packages: Path | None = None,
    evidence: Path = Path("evidence"),
    kits: Path | None = None,
    perfdb: Path | None = None,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--key", negative=())] = (),
    sign: Path | None = None,
    output_format: OutputFormat = "text",
) -> int:
    """Build the static site from definitions, the release log and the evidence ledger.

    Args:
        output: Folder of the site; an earlier site there is replaced as a whole.
        packages: Folder of the packages; the ones that travel with dayzero when left out.
        evidence: Folder of the ledger and its raw files.
        kits: Folder with NAME-VERSION.kit.zip and its attestation, at any depth: cards show the facts of verified kits.
        perfdb: What 'dayzero perfdb page' wrote: a page of operator latencies, their coverage and what was taken back.
        key: A public key that you trust to sign kits; the *.pub.pem in the folder of the kits when left out.
        sign: Private key that signs the index of the site, so that 'dayzero catalog verify' can hold every file to it.
        output_format: How the result is written to stdout.
    """
    if key and kits is None:
        raise InputError("--key without --kits checks nothing", hint="Give --kits DIR too.")
    signer = None if sign is None else load_key(sign)
    places = Places(packages=packages, evidence=evidence, kits=kits, keys=key, performance=perfdb)
    offer = CatalogSource(places).read()
    write_site(site_files(offer, signer, ((OPENAPI, _openapi(places)),)), output)
    if output_format == "json":
        print_json(build_document(offer.catalog, output, signed=signer is not None))
    else:
        tell_build(offer.catalog, output)
    return PROVEN


def _openapi(places: Places) -> bytes:
    """Describe the documents beside the pages in the words of the live server, which is not started for it."""
    return openapi_bytes(api_routes(Pages(open_live(places, ":memory:"))))
