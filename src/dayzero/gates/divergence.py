"""Compare what two servers said at the same places, from the few candidates that each lists."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.gates.model import Arm, Capture, Position

FAR_NAT = 0.5
THICK = 0.9
_TINY = 1e-12
_REST = 1e-9
_CLEAR_SDS = 3.0


@dataclass(frozen=True, slots=True)
class Listed:
    """One position, ready to be compared.

    Attributes:
        probabilities: Of every listed token.
        least: What no unlisted token can exceed: the ``k``-th best.
        top: The first token.
        chosen: The token that stands there.
    """

    probabilities: Mapping[str, float]
    least: float
    top: str
    chosen: str


@dataclass(frozen=True, slots=True)
class Place:
    """Two servers at one place.

    Attributes:
        forward, backward: Lower bounds of KL of the second from the first, and of the first from the second.
        mass: What the shared candidates hold, on the side where they hold less.
        moved: How far the log-ratio of the two first tokens moved; 0 where the first tokens agree.
        sure: Probability of the first token, mean of both sides.
    """

    forward: float
    backward: float
    mass: float
    moved: float
    sure: float

    @property
    def divergence(self) -> float:
        """Average both directions, so that swapping the servers changes nothing."""
        return (self.forward + self.backward) / 2


Measure: TypeAlias = Callable[[Place], float]
Reading: TypeAlias = Mapping[int, Mapping[int, Listed]]
"""What one capture lists, by prompt and index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One or two pairs of captures over the same places, prompt by prompt.

    Attributes:
        name: What is compared with what.
        pairs: The pairs of captures.
        prompts: The places of each prompt, in the order of the prompts; of all pairs, so an index comes once a pair.
    """

    name: str
    pairs: tuple[str, ...]
    prompts: tuple[tuple[Place, ...], ...]

    @property
    def places(self) -> tuple[Place, ...]:
        """Give the places of all prompts."""
        return tuple(place for prompt in self.prompts for place in prompt)

    def means(self, measure: Measure) -> tuple[float, ...]:
        """Average a measure over the places of each prompt: the prompt is the unit, its places are not independent."""
        return tuple(math.fsum(map(measure, prompt)) / len(prompt) for prompt in self.prompts)


def far(place: Place) -> float:
    """Mark a place in the far tail, which a mean hides: a routing flip of a mixture of experts, say."""
    return float(place.divergence > FAR_NAT)


def clear_flip(margin_nat: float) -> Measure:
    """Mark the places whose first tokens differ by more than noise worth the margin explains.

    Independent noise of spread ``s`` on the logits of two equal candidates costs about ``s**2 / 4`` nat (second order of KL,
    ``Var_p(noise) / 2``), and moves their log-ratio by a spread of ``s * sqrt(2)``, so by ``sqrt(8 * margin)`` where it costs
    the margin. Three times that is no near tie any more.
    """
    bound = _CLEAR_SDS * math.sqrt(8 * margin_nat)
    return lambda place: float(place.moved > bound)


def listed(position: Position, k: int) -> Listed:
    """Turn a position's log-probabilities into probabilities.

    Args:
        position: Checked before: its candidates are sorted and sum to 1 at most, but for rounding.
        k: How many candidates were asked for.
    """
    given = {candidate.token: math.exp(candidate.logprob) for candidate in position.candidates}
    total = math.fsum(given.values())
    probabilities = {token: p / total for token, p in given.items()} if total > 1 else given
    ranked = position.candidates[min(k, len(position.candidates)) - 1]
    return Listed(probabilities, probabilities[ranked.token], position.candidates[0].token, position.chosen)


def lumped(p: Listed, q: Listed) -> float:
    """Bound KL(p || q) from below by what both list.

    Every shared token is a bin of its own. Tokens that only p lists share a bin, whose probability under q is unknown but at
    most ``q.least`` a token; the rest is one bin. The value is the least that KL can be over every such q: grouping outcomes
    never raises KL (data-processing inequality, Cover and Thomas, Elements of Information Theory, section 2.8). It is never
    negative, which a partial sum over shared tokens is not. Two lists without a common token do not look equal.
    """
    shared = _shared(p, q)
    return _bound(p, q, shared, math.fsum([mass for mass, _ in shared]), math.fsum([mass for _, mass in shared]))


def place(p: Listed, q: Listed) -> Place:
    """Compare two servers at one place."""
    shared = _shared(p, q)
    p_shared, q_shared = math.fsum([mass for mass, _ in shared]), math.fsum([mass for _, mass in shared])
    return Place(
        forward=_bound(p, q, shared, p_shared, q_shared),
        backward=_bound(q, p, [(b, a) for a, b in shared], q_shared, p_shared),
        mass=min(p_shared, q_shared),
        moved=_moved(p, q),
        sure=(p.probabilities[p.top] + q.probabilities[q.top]) / 2,
    )


def read(capture: Capture, prompts: int) -> Reading:
    """Make a capture's first prompts ready to be compared."""
    found: dict[int, dict[int, Listed]] = {number: {} for number in range(prompts)}
    for position in capture.positions:
        if position.prompt < prompts:
            found[position.prompt][position.index] = listed(position, capture.k)
    return found


def in_common(arm: Arm, readings: Sequence[Reading], prompt: int) -> tuple[int, ...]:
    """Give the places of a prompt that stand in the same context in every capture.

    Prefill: where all have one. Decode: up to and including the first place where any two captures wrote different tokens;
    what follows answers to different texts. That place is the same for every pair, so no pair is compared over other places
    than its control: were all captures of one server, their labels could be exchanged.
    """
    indexes = sorted(set.intersection(*(set(reading[prompt]) for reading in readings)))
    if arm is Arm.PREFILL:
        return tuple(indexes)
    for count, index in enumerate(indexes):
        if index != count:
            return tuple(indexes[:count])
        if len({reading[prompt][index].chosen for reading in readings}) > 1:
            return tuple(indexes[: count + 1])
    return tuple(indexes)


def compare(
    name: str, readings: Mapping[str, Reading], pairs: Sequence[tuple[str, str]], places: Sequence[tuple[int, ...]]
) -> Comparison:
    """Compare pairs of captures.

    Args:
        name: What is compared with what.
        readings: The captures by name.
        pairs: Which with which.
        places: The indexes to compare in each prompt.
    """
    return Comparison(
        name=name,
        pairs=tuple(f"{a}-{b}" for a, b in pairs),
        prompts=tuple(
            tuple(place(readings[a][prompt][index], readings[b][prompt][index]) for a, b in pairs for index in indexes)
            for prompt, indexes in enumerate(places)
        ),
    )


def _shared(p: Listed, q: Listed) -> list[tuple[float, float]]:
    there = q.probabilities
    return [(mass, there[token]) for token, mass in p.probabilities.items() if token in there]


def _bound(p: Listed, q: Listed, shared: Sequence[tuple[float, float]], p_shared: float, q_shared: float) -> float:
    """Give :func:`lumped` of two lists whose shared tokens, and what these hold on each side, are known."""
    count = len(p.probabilities) - len(shared)
    there = q.probabilities
    p_alone = math.fsum([mass for token, mass in p.probabilities.items() if token not in there]) if count else 0.0
    p_rest = max(1 - p_shared - p_alone, 0.0)
    q_left = max(1 - q_shared, _REST)
    q_alone = min(q_left * p_alone / max(p_alone + p_rest, _TINY), count * q.least) if count else 0.0
    terms = [a * math.log(a / max(b, _TINY)) for a, b in shared if a > 0]
    terms += (_term(p_alone, q_alone), _term(p_rest, q_left - q_alone))
    return max(math.fsum(terms), 0.0)


def _term(p: float, q: float) -> float:
    return p * math.log(p / max(q, _TINY)) if p > 0 else 0.0


def _moved(p: Listed, q: Listed) -> float:
    """Give how far the log-ratio of the two first tokens moved, at least; a tie is no move."""
    if p.top == q.top:
        return 0.0
    return _lead(p, q.top) + _lead(q, p.top)


def _lead(side: Listed, other: str) -> float:
    return math.log(side.probabilities[side.top] / max(side.probabilities.get(other, side.least), _TINY))
