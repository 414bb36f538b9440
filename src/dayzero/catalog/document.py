"""The catalog as JSON documents: the same values as on the pages. Measured values are strings, so that nobody rounds them."""

from dayzero.catalog.card_document import Json, card_document, number_document, step_document
from dayzero.catalog.difference import EditionDifference
from dayzero.catalog.edition import Catalog, DeployFile, Edition, Entry, SystemFit, TakenBack
from dayzero.catalog.facets import FacetCounts, Filter, count
from dayzero.catalog.finding import all_facets
from dayzero.catalog.page_model import ClaimPage
from dayzero.catalog.paths import (
    claim_document_path,
    claim_path,
    definition_path,
    deploy_path,
    edition_document_path,
    edition_path,
    package_document_path,
    page_path,
    raw_path,
    release_document_path,
)

SCHEMA = "dayzero/catalog/v1"
PACKAGE_SCHEMA = "dayzero/catalog-package/v1"
EDITION_SCHEMA = "dayzero/catalog-edition/v1"
RELEASE_SCHEMA = "dayzero/catalog-release/v1"
CLAIM_SCHEMA = "dayzero/catalog-claim/v1"


def packages_document(catalog: Catalog) -> Json:
    """Write what is on offer: the version of each package that a listing shows, and the values by which they are found."""
    return {
        "schema": SCHEMA,
        "as_of": catalog.as_of,
        "ledger_head": catalog.ledger_head,
        "release_head": catalog.release_head,
        "facets": counts_document(count(all_facets(catalog), Filter())),
        "packages": [summary_document(entry.latest) for entry in catalog.entries],
        "retractions": [taken_back_document(back) for back in catalog.retractions],
    }


def counts_document(counts: FacetCounts) -> Json:
    """Write how many versions have each value of each facet."""
    return {facet: dict(values) for facet, values in counts.items()}


def package_document(entry: Entry) -> Json:
    """Write a package with all its versions, newest first."""
    return {
        "schema": PACKAGE_SCHEMA,
        "name": entry.name,
        "latest": entry.latest.handle,
        "page": page_path(entry.name),
        "editions": [summary_document(edition) for edition in entry.editions],
    }


def summary_document(edition: Edition) -> Json:
    """Write a version in short, as a listing shows it."""
    card, package = edition.card, edition.card.package
    recipe, highest = package.recipe, edition.card.highest
    return {
        "name": edition.name,
        "version": edition.version,
        "released": edition.published or None,
        "yanked": _yank(edition),
        "title": package.title,
        "summary": package.summary,
        "tier": package.tier,
        "model": recipe.model.name,
        "architecture": recipe.model.architecture,
        "precision": list(recipe.model.tensor_types),
        "licence": recipe.model.licence,
        "engine": recipe.engine.engine,
        "engine_build": str(recipe.engine),
        "floor": card.floor,
        "fit": card.fit.state.value,
        "fits": sorted({fit.system for fit in edition.fits if fit.state == "fits"}),
        "status": None if highest is None else step_document(highest),
        "headline": None if card.headline is None else number_document(card.headline),
        "gone": [measurement.slug for measurement in card.gone],
        "recipe_sha256": card.recipe.hex,
        "definition_sha256": edition.definition_sha256.hex,
        "page": edition_path(edition.name, edition.handle),
        "document": edition_document_path(edition.name, edition.handle),
        "package": package_document_path(edition.name),
    }


def edition_document(edition: Edition, pages: frozenset[str]) -> Json:
    """Write a version as it is now.

    Args:
        edition: The version.
        pages: Slugs of the claims that have a page.
    """
    name, handle = edition.name, edition.handle
    return {
        "schema": EDITION_SCHEMA,
        **card_document(edition.card, pages),
        "page": edition_path(name, handle),
        "released": edition.published or None,
        "release": release_document_path(name, handle) if edition.release else None,
        "yanked": _yank(edition),
        "definition": definition_path(name, handle),
        "definition_sha256": edition.definition_sha256.hex,
        "deploy": [_deploy(file, name, handle) for file in edition.deploy],
        "not_carried": [{"target": other.target, "why": other.why} for other in edition.not_carried],
        "fits": [fit_document(fit) for fit in edition.fits],
        "difference": None if edition.difference is None else difference_document(edition.difference),
        "terms": None
        if edition.terms is None
        else {
            "name": edition.terms.name,
            "sha256": edition.terms.sha256.hex,
            "text": edition.terms.text,
            "maintenance": edition.terms.maintenance,
        },
    }


def release_document(edition: Edition) -> Json:
    """Write what was published: it holds nothing that can change, so that its bytes never do.

    Raises:
        ValueError: The edition is a draft.
    """
    release = edition.release
    if release is None:
        raise ValueError(f"{edition.name} is not released")
    kit = release.kit
    return {
        "schema": RELEASE_SCHEMA,
        "name": release.package,
        "version": release.version,
        "published_at": release.at,
        "definition": edition.definition,
        "definition_sha256": release.definition.hex,
        "recipe_sha256": release.recipe.hex,
        "kit": None if kit is None else {"archive": kit.archive, "sha256": kit.sha256.hex, "bytes": kit.size.count},
    }


def claim_document(page: ClaimPage) -> Json:
    """Write where a claim stands."""
    return {
        "schema": CLAIM_SCHEMA,
        "slug": page.slug,
        "label": page.label,
        "state": page.state.value,
        "value": page.value or None,
        "unit": page.unit,
        "reasons": [{"what": said.what, "at": said.at, "reason": said.reason} for said in page.reasons],
        "page": claim_path(page.slug),
        "document": claim_document_path(page.slug),
        "raw": [raw_path(digest) for digest in page.linked],
        "derived": [other.slug for other in page.derived],
        "explanations": [other.slug for other in page.causes],
        "history": [
            {
                "what": said.what,
                "state": said.state.value if said.state else None,
                "at": said.at,
                "value": said.value or None,
                "reason": said.reason,
            }
            for said in page.history
        ],
    }


def taken_back_document(back: TakenBack) -> Json:
    """Write what was taken back, and which cards it was shown on."""
    return {
        "slug": back.slug,
        "label": back.label,
        "kind": back.kind,
        "reason": back.reason,
        "at": back.at,
        "ledger_line": back.line,
        "cards": [{"name": name, "version": handle, "page": edition_path(name, handle)} for name, handle in back.cards],
        "page": claim_path(back.slug),
    }


def fit_document(fit: SystemFit) -> Json:
    """Write whether a version runs on one system."""
    return {
        "system": fit.system,
        "label": fit.label,
        "gpu": fit.gpu or None,
        "gpus": fit.count,
        "nodes": fit.nodes,
        "state": fit.state,
        "ground": fit.ground or None,
        "why": fit.sentence,
        "own": fit.own,
    }


def difference_document(difference: EditionDifference) -> Json:
    """Write what is other than in the version before."""
    return {
        "before": difference.before,
        "same_recipe": difference.same_recipe,
        "same_grid": difference.same_grid,
        "grid": difference.grid,
        "changed": [
            {"topic": change.topic, "name": change.name, "before": change.before, "after": change.after}
            for change in difference.changed
        ],
        "claims": [
            {
                "id": change.id,
                "label": change.label,
                "load": change.load,
                "before": change.before or None,
                "after": change.after or None,
                "why_not_comparable": change.why or None,
                "ratio": change.ratio or None,
            }
            for change in difference.claims
        ],
    }


def _yank(edition: Edition) -> Json | None:
    return None if edition.yank is None else {"at": edition.yank.at, "reason": edition.yank.reason}


def _deploy(file: DeployFile, name: str, handle: str) -> Json:
    return {
        "target": file.target,
        "file": file.path,
        "path": deploy_path(name, handle, file.target, file.path),
        "sha256": file.sha256.hex,
        "bytes": len(file.content),
        "parsed_back": file.proven,
        "why": file.why,
    }
