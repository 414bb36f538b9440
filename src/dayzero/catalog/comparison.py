"""Any two versions side by side. Numbers stand beside each other only where they were taken in the same way."""

from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.catalog.beside import kind_of, load_of, not_comparable, ratio
from dayzero.catalog.edition import Edition
from dayzero.catalog.model import Absent, Card, Gone, Measurement, Shown
from dayzero.catalog.pinned import pinned_facts
from dayzero.catalog.words import fit_words
from dayzero.core.recipe import Recipe

_PINNED = frozenset({"model", "engine", "kernels", "system", "parallelism", "flags", "environment", "serving", "terms"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One topic of both.

    Attributes:
        topic: What it is about, in words.
        left: What the left one says.
        right: What the right one says.
    """

    topic: str
    left: str
    right: str

    @property
    def same(self) -> bool:
        """Say whether both say the same."""
        return self.left == self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRow:
    """One number of either or both.

    Attributes:
        label: What it is, in words.
        load: Under which load, in words.
        left: Value with unit, or in words why the left one shows none.
        right: The same of the right one.
        left_slug: The left claim, ``""`` where it has none.
        right_slug: The right claim.
        left_shown: The left one shows a value.
        right_shown: The right one shows a value.
        why: Why they cannot be compared (``not comparable: ...``); ``""`` where they can.
        ratio: Right by left, as it is printed; ``""`` where they cannot be compared.
    """

    label: str
    load: str
    left: str
    right: str
    left_slug: str
    right_slug: str
    left_shown: bool
    right_shown: bool
    why: str
    ratio: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two versions side by side.

    Attributes:
        left, right: As (name, handle).
        left_title, right_title: Titles of their cards.
        rows: What is pinned, set, shown and promised.
        numbers: The measured numbers.
        note: What has to be known before the numbers are compared: same hardware or not, same model or not.
    """

    left: tuple[str, str]
    right: tuple[str, str]
    left_title: str
    right_title: str
    rows: tuple[Row, ...]
    numbers: tuple[NumberRow, ...]
    note: str


def compare(left: Edition, right: Edition) -> Comparison:
    """Hold two versions together, of one package or of two."""
    return Comparison(
        left=(left.name, left.handle),
        right=(right.name, right.handle),
        left_title=left.card.package.title,
        right_title=right.card.package.title,
        rows=tuple(_rows(left, right)),
        numbers=tuple(_numbers(left.card, right.card)),
        note=_note(left.card.package.recipe, right.card.package.recipe),
    )


def _rows(left: Edition, right: Edition) -> Iterator[Row]:
    for (topic, one), (_, other) in zip(_said(left), _said(right), strict=True):
        yield Row(topic=topic, left=one, right=other)
    facts, others = pinned_facts(left.card.package), pinned_facts(right.card.package)
    order = dict.fromkeys((*facts, *others))
    topics = {topic: index for index, topic in enumerate(dict.fromkeys(topic for topic, _ in order))}
    for key in sorted(order, key=lambda key: topics[key[0]]):
        topic, name = key
        if topic in _PINNED:
            yield Row(topic=f"{topic}: {name}", left=facts.get(key, ""), right=others.get(key, ""))


def _said(edition: Edition) -> Iterator[tuple[str, str]]:
    card = edition.card
    highest = card.highest
    yield "version", edition.handle
    yield "published", edition.published[:10] or "not released"
    yield "yanked", edition.yank.reason if edition.yank else "no"
    yield "hardware floor", card.floor
    yield "does it fit", f"{fit_words(card.fit.state)}. {card.fit.why}"
    yield "highest status", "nothing shown yet" if highest is None else f"{highest.step}, {highest.date}, {highest.pin}"
    for gate in card.gates:
        yield gate.gate, gate.word
    yield "not measured", "; ".join(entry.topic for entry in card.package.unmeasured)
    yield "deploy targets", ", ".join(edition.targets)


def _numbers(left: Card, right: Card) -> Iterator[NumberRow]:
    """Pair the numbers: first those of one kind and load, then those of one kind, and then what is left of either."""
    ones, others = list(left.measurements), list(right.measurements)
    pairs: dict[str, Measurement] = {}
    for keyed in (_kind_and_load, _kind):
        free: dict[object, list[Measurement]] = {}
        for other in others:
            free.setdefault(keyed(other, right), []).append(other)
        for one in ones:
            if one.slug not in pairs and (found := free.get(keyed(one, left))):
                pairs[one.slug] = found.pop(0)
        taken = {id(other) for other in pairs.values()}
        others = [other for other in others if id(other) not in taken]
    for one in ones:
        yield _number(one, pairs.get(one.slug), (left, right))
    for other in others:
        yield _number(None, other, (left, right))


def _kind_and_load(measurement: Measurement, card: Card) -> object:
    return kind_of(measurement.ref), load_of(measurement.ref, card.package.workload)


def _kind(measurement: Measurement, _: Card) -> object:
    return kind_of(measurement.ref)


def _number(one: Measurement | None, other: Measurement | None, cards: tuple[Card, Card]) -> NumberRow:
    shown = one or other
    why = ""
    if one is not None and other is not None:
        apart = not_comparable((one.ref, cards[0].package.workload), (other.ref, cards[1].package.workload))
        why = f"not comparable: {apart}" if apart else ""
    return NumberRow(
        label=shown.ref.label if shown else "",
        load=_load(one, other),
        left=_figure(one),
        right=_figure(other),
        left_slug=one.slug if one else "",
        right_slug=other.slug if other else "",
        left_shown=one is not None and isinstance(one.figure, Shown),
        right_shown=other is not None and isinstance(other.figure, Shown),
        why=why,
        ratio="" if why or one is None or other is None else ratio(one, other),
    )


def _load(one: Measurement | None, other: Measurement | None) -> str:
    loads = dict.fromkeys(measurement.load for measurement in (one, other) if measurement is not None)
    return " / ".join(load for load in loads if load)


def _figure(measurement: Measurement | None) -> str:
    if measurement is None:
        return "not asked for"
    match measurement.figure:
        case Shown(claim=claim):
            return claim.text
        case Gone(reason=reason) as gone:
            return f"{gone.word}: {reason}"
        case Absent(why=why):
            return f"no number: {why}"


def _note(left: Recipe, right: Recipe) -> str:
    said = []
    if left.model != right.model:
        said.append("The models are not the same; tokens are each model's own.")
    if left.system != right.system:
        said.append("The systems are not the same.")
    return " ".join(said) or "The model and the system are the same."
