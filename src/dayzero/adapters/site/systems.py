"""Put the answers to "does my system fit?" in the order in which a reader looks for them: by kind of GPU."""

from collections.abc import Iterable
from dataclasses import dataclass

from dayzero.adapters.site.shelf import gpu_words
from dayzero.catalog.edition import DOES_NOT_FIT, FITS, UNKNOWN, SystemFit


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of GPU, or several of which nothing is known.

    Attributes:
        words: What it is called.
        answer: The answers in a few words: from how many on it fits.
        fits: The answers, the smallest system first.
        own: True for the kind that the recipe names.
    """

    words: str
    answer: str
    fits: tuple[SystemFit, ...]
    own: bool


def by_kind(fits: Iterable[SystemFit]) -> tuple[Kind, ...]:
    """Group the answers by kind of GPU: the recipe's own first, then as the kinds come; those that nobody knows share a group."""
    found: dict[str, list[SystemFit]] = {}
    for fit in fits:
        found.setdefault(fit.gpu, []).append(fit)
    kinds = [_kind(gpu, sorted(group, key=lambda fit: (fit.count, fit.nodes))) for gpu, group in found.items()]
    told = [kind for kind in kinds if kind.own or any(fit.state != UNKNOWN for fit in kind.fits)]
    untold = [kind for kind in kinds if kind not in told]
    if len(untold) > 1:
        fits = tuple(fit for kind in untold for fit in kind.fits)
        untold = [
            Kind(words=f"{len(untold)} {'other ' if told else ''}kinds of GPU", answer="unknown", fits=fits, own=False)
        ]
    return (*sorted(told, key=lambda kind: not kind.own), *untold)


def kinds_offered(fits: Iterable[SystemFit]) -> tuple[tuple[str, str], ...]:
    """List the kinds of GPU that answers are about, as (short name, words), by words."""
    return tuple(sorted({(fit.gpu, gpu_words(fit.gpu)) for fit in fits if fit.gpu}, key=lambda pair: pair[1]))


def _kind(gpu: str, group: list[SystemFit]) -> Kind:
    return Kind(
        words=gpu_words(gpu) if gpu else "No GPU",
        answer=_answer(gpu, group),
        fits=tuple(group),
        own=any(fit.own for fit in group),
    )


def _answer(gpu: str, group: list[SystemFit]) -> str:
    least = next((fit for fit in group if fit.state == FITS), None)
    if least is not None:
        how = f", {least.ground}" if least.ground else ""
        return f"fits from {least.count} on{how}" if gpu else f"fits{how}"
    if all(fit.state == DOES_NOT_FIT for fit in group):
        return f"does not fit on {group[-1].count} or fewer" if gpu else "does not fit"
    refused = [fit.count for fit in group if fit.state == DOES_NOT_FIT]
    return f"does not fit on {max(refused)} or fewer, unknown for more" if refused and gpu else "unknown"
