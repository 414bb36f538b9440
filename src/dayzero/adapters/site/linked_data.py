"""A version as JSON-LD in the words of schema.org: the same facts as on its page, for programs that read those words."""

import json
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from dayzero.adapters.site.place import address, up
from dayzero.catalog.edition import Edition
from dayzero.catalog.paths import definition_path, edition_path, linked_data_path, raw_path
from dayzero.catalog.words import origin_words
from dayzero.core.package import Package
from dayzero.evidence.model import RawFile

_Json: TypeAlias = Mapping[str, object]

_CONTEXT: Final = "https://schema.org"


def linked_data(edition: Edition) -> bytes:
    """Write a version as one JSON-LD document. Addresses are relative to it."""
    root = up(linked_data_path(edition.name, edition.handle))
    package = edition.card.package
    facts: dict[str, object] = {
        "@context": _CONTEXT,
        "@type": "SoftwareApplication",
        "@id": root + address(edition_path(edition.name, edition.handle)),
        "identifier": [f"{edition.name}@{edition.handle}", f"sha256:{edition.recipe_sha256.hex}"],
        "name": package.title,
        "description": package.summary,
        "softwareVersion": package.version,
        "applicationCategory": "Recipe for serving a language model",
        "softwareRequirements": f"{package.recipe.engine}. {edition.card.floor}",
        "creativeWorkStatus": _status(edition),
        "isBasedOn": _model(package),
        "offers": _offer(package),
        "hasPart": {
            "@type": "SoftwareSourceCode",
            "name": "package.toml",
            "encodingFormat": "application/toml",
            "identifier": f"sha256:{edition.definition_sha256.hex}",
            "url": root + address(definition_path(edition.name, edition.handle)),
        },
        "subjectOf": [_dataset(raw, root) for raw in edition.card.raws],
    }
    if edition.published:
        facts["datePublished"] = edition.published
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode()


def _status(edition: Edition) -> list[str]:
    return list(_statuses(edition))


def _statuses(edition: Edition) -> Iterator[str]:
    yield "Draft" if edition.release is None else "Published"
    if edition.yank is not None:
        yield f"Yanked since {edition.yank.at}: {edition.yank.reason}"
    for gone in edition.card.gone:
        yield f"{gone.ref.label}: no longer published"


def _model(package: Package) -> _Json:
    model = package.recipe.model
    return {
        "@type": "CreativeWork",
        "name": model.name,
        "identifier": origin_words(model.origin),
        "license": model.licence,
    }


def _offer(package: Package) -> _Json:
    if package.tier == "licensed":
        return {"@type": "Offer", "category": package.tier, "description": "A signed licence comes first."}
    return {"@type": "Offer", "category": package.tier, "price": "0", "description": "No signature is needed."}


def _dataset(raw: RawFile, root: str) -> _Json:
    return {
        "@type": "Dataset",
        "name": raw.name,
        "description": f"Raw file under measured numbers, written by: {raw.command}",
        "identifier": f"sha256:{raw.sha256.hex}",
        "dateCreated": raw.captured_at,
        "distribution": {
            "@type": "DataDownload",
            "contentUrl": root + raw_path(raw.sha256),
            "contentSize": f"{raw.size.count} B",
            "encodingFormat": "text/plain",
        },
    }
