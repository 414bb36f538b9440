"""The catalog for a reader that is a program: ``llms.txt``, a short Markdown that leads to the documents."""

from collections.abc import Iterator
from typing import Final

from dayzero.adapters.site.place import address
from dayzero.catalog.edition import Catalog, Edition
from dayzero.catalog.paths import (
    OPENAPI,
    PACKAGES_DOCUMENT,
    RELEASES_FEED,
    RETRACTIONS_FEED,
    edition_document_path,
    edition_path,
)

MOST: Final = 200
"""How many packages are listed; the document of all packages has the rest."""


def llms_text(catalog: Catalog) -> bytes:
    """Write ``llms.txt``."""
    return ("\n".join(_lines(catalog)) + "\n").encode()


def _lines(catalog: Catalog) -> Iterator[str]:
    yield "# dayzero catalog"
    yield ""
    yield "> Recipes for serving open-weights models on one's own hardware. Each measured number leads to its raw file."
    yield ""
    yield "A number belongs to one version of one package, one engine build and one load. A retracted one is printed nowhere."
    yield ""
    yield "## Documents"
    yield ""
    yield f"- [All packages]({PACKAGES_DOCUMENT}): JSON"
    yield f"- [API]({OPENAPI}): OpenAPI"
    yield f"- [Releases]({RELEASES_FEED}): Atom"
    yield f"- [Retractions]({RETRACTIONS_FEED}): Atom"
    yield "- [How to read a card](how-to-read/index.html)"
    yield ""
    yield "## Packages"
    yield ""
    for entry in catalog.entries[:MOST]:
        yield _package(entry.latest)
    if len(catalog.entries) > MOST:
        yield f"- The first {MOST} of {len(catalog.entries)} are listed here; [all packages]({PACKAGES_DOCUMENT}) has the rest."


def _package(edition: Edition) -> str:
    package = edition.card.package
    page = address(edition_path(edition.name, edition.handle))
    document = address(edition_document_path(edition.name, edition.handle))
    state = "yanked" if edition.yank else "draft, not released" if edition.release is None else edition.published[:10]
    highest = edition.card.highest
    status = f"{highest.step} on {highest.date}" if highest else "nothing shown yet"
    title = " ".join(package.title.replace("[", "(").replace("]", ")").split())
    return (
        f"- [{title}]({page}): {edition.name} {edition.handle} ({state}); {package.recipe.engine}; {edition.card.floor} "
        f"Status: {status}. [JSON]({document})"
    )
