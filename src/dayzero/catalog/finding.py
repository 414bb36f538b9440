"""Read off each version by what it can be found."""

from collections.abc import Iterator

from dayzero.catalog.edition import FITS, Catalog, Edition
from dayzero.catalog.facets import NO_GPU, NO_STATUS, Facets
from dayzero.catalog.words import origin_words
from dayzero.core.accelerators import accelerator
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.quantities import Bytes


def all_facets(catalog: Catalog) -> Iterator[Facets]:
    """Give the facets of every version, by package, newest first."""
    for entry in catalog.entries:
        latest = entry.latest
        for edition in entry.editions:
            yield facets_of(edition, latest=edition is latest)


def facets_of(edition: Edition, *, latest: bool) -> Facets:
    """Read off one version by what it can be found; ``latest`` says that a listing shows this one of its package."""
    card = edition.card
    package, recipe = card.package, card.package.recipe
    system = recipe.system
    gpu, label = _gpu(system.accelerator)
    return Facets(
        name=edition.name,
        handle=edition.handle,
        title=package.title,
        latest=latest,
        yanked=edition.yank is not None,
        published=edition.published,
        model=recipe.model.name,
        architecture=recipe.model.architecture,
        gpu=gpu,
        gpus=str(system.gpus),
        fits=tuple(dict.fromkeys(fit.gpu for fit in edition.fits if fit.gpu and fit.state == FITS)),
        memory_each=system.memory,
        memory=Bytes(system.memory.count * max(system.gpus, 1)),
        engine=recipe.engine.engine,
        precision=recipe.model.tensor_types,
        status=card.highest.step if card.highest else NO_STATUS,
        licence=recipe.model.licence,
        tier=package.tier,
        text="\n".join((label, *_text(package))),
    )


def _gpu(name: str) -> tuple[str, str]:
    """Give the one name of a kind of GPU, and what its vendor calls it."""
    if not name:
        return NO_GPU, ""
    try:
        kind = accelerator(name)
    except InputError:
        return name.lower(), name
    return kind.name, kind.label


def _text(package: Package) -> Iterator[str]:
    """Give what a search looks through. No measured value is in it: one that is taken back must not be found."""
    recipe = package.recipe
    yield from (package.name, package.version, package.title, package.summary, package.tier, package.technique)
    yield from (recipe.model.name, recipe.model.architecture, recipe.model.licence, *recipe.model.tensor_types)
    yield from (origin_words(recipe.model.origin), recipe.engine.engine, str(recipe.engine), recipe.engine.image)
    yield from (f"{kernel.library} {kernel.distribution}=={kernel.version}" for kernel in recipe.kernels)
    yield from (recipe.system.name, recipe.name, " ".join(recipe.flags))
    yield from (f"{name}={value}" for name, value in recipe.env)
    yield from (f"{wall.advisory} {wall.resolution}" for wall in package.walls)
    yield from (ref.label for ref in package.claims)
    yield from (f"{entry.topic}: {entry.why}" for entry in package.unmeasured)
    yield from (change.text for change in package.changes)
