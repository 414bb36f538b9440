"""What is other in one version of a package than in the one before it: what it pins and sets, and what was measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.catalog.beside import figure_words, not_comparable, ratio
from dayzero.catalog.model import Card, Measurement
from dayzero.catalog.pinned import pinned_facts
from dayzero.core.workload import Workload

_SHOWN_BY: Mapping[tuple[bool, bool], str] = {
    (True, False): "only the earlier version shows a number",
    (False, True): "only the later version shows a number",
    (False, False): "neither version shows a number",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One thing that the definition says otherwise.

    Attributes:
        topic: What it belongs to: ``model``, ``engine``, ``kernels``, ``system``, ``parallelism``, ``flags``, ``environment``,
            ``serving``, ``workload``, ``terms``.
        name: Which part of it, in words (``--max-model-len``, ``revision``).
        before: What it was, in words; ``""`` where it was not there.
        after: What it is, in words; ``""`` where it is there no longer.
    """

    topic: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """One number of the grid in both versions.

    Attributes:
        id: Handle of the claim in the package.
        label: What it is, in words.
        load: Under which load, in words; ``""`` where it belongs to no cell.
        before: The earlier version's value with its unit; ``""`` where it shows none.
        after: The later version's; ``""`` where it shows none.
        why: Why the two cannot be set against each other; ``""`` where they can.
        ratio: Later by earlier, as it is printed (``1.25``); ``""`` where ``why`` says something or the earlier one is zero.
    """

    id: str
    label: str
    load: str
    before: str
    after: str
    why: str
    ratio: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditionDifference:
    """One version beside the one before it.

    Attributes:
        before: Version of the earlier one.
        same_recipe: The recipe is the same, so that the same numbers hold.
        same_grid: Both were to be measured under the same requests: seed, cells, lengths and counts.
        grid: The same as a sentence.
        changed: What the definition says otherwise, in the order of the topics.
        claims: Every number that either asks for, in the order of the later definition.
    """

    before: str
    same_recipe: bool
    same_grid: bool
    grid: str
    changed: tuple[Changed, ...]
    claims: tuple[ClaimChange, ...]


def differ(before: Card, after: Card) -> EditionDifference:
    """Say what is other in a version than in the one before it."""
    same_grid = before.package.workload == after.package.workload
    return EditionDifference(
        before=before.package.version,
        same_recipe=before.recipe == after.recipe,
        same_grid=same_grid,
        grid="The same requests are asked for: the same seed, and the same cells."
        if same_grid
        else "Other requests are asked for, so that only numbers of equal cells can be set against each other.",
        changed=_changed(pinned_facts(before.package), pinned_facts(after.package)),
        claims=tuple(_claim_changes(before, after)),
    )


def _changed(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> tuple[Changed, ...]:
    order = dict.fromkeys((*before, *after))
    topics = {topic: index for index, topic in enumerate(dict.fromkeys(topic for topic, _ in order))}
    keys = sorted(order, key=lambda key: topics[key[0]])
    return tuple(
        Changed(topic=key[0], name=key[1], before=before.get(key, ""), after=after.get(key, ""))
        for key in keys
        if before.get(key) != after.get(key)
    )


def _claim_changes(before: Card, after: Card) -> Iterator[ClaimChange]:
    earlier = {measurement.ref.id: measurement for measurement in before.measurements}
    for later in after.measurements:
        yield _claim_change(earlier.pop(later.ref.id, None), later, (before.package.workload, after.package.workload))
    for gone in earlier.values():
        yield ClaimChange(
            id=gone.ref.id,
            label=gone.ref.label,
            load=gone.load,
            before=figure_words(gone),
            after="",
            why="the later version does not ask for it",
            ratio="",
        )


def _claim_change(earlier: Measurement | None, later: Measurement, workloads: tuple[Workload, Workload]) -> ClaimChange:
    if earlier is None:
        why = "the earlier version does not ask for it"
    else:
        why = not_comparable((earlier.ref, workloads[0]), (later.ref, workloads[1]))
        shown = bool(figure_words(earlier)), bool(figure_words(later))
        why = why or ("" if all(shown) else _SHOWN_BY[shown])
    return ClaimChange(
        id=later.ref.id,
        label=later.ref.label,
        load=later.load,
        before=figure_words(earlier) if earlier else "",
        after=figure_words(later),
        why=why,
        ratio="" if why or earlier is None else ratio(earlier, later),
    )
