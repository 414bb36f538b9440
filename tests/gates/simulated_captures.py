"""A model in small: logits of every place, and servers that add their own noise to them.

Base logits are Zipf's law (slope drawn per place, so that some places are certain and others open) under a random order of the
vocabulary. A server adds to each capture fresh Gaussian noise (reduction order), and rarely a large one (a routing flip of a
mixture of experts); a changed model adds noise that stays the same in every capture of it. Prompts differ in how much.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dayzero.gates.model import Arm, Candidate, Capture, DistributionPlan, Position

VOCABULARY = 400
_TOKENS = tuple(f"id:{number}" for number in range(VOCABULARY))
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What the servers add.

    Attributes:
        fresh: Spread that every capture draws anew.
        flips: Share of places of a capture where a far larger noise strikes.
        flip_size: Its spread.
        changed: Spread that B adds to all of its captures alike.
        changed_flips: Share of places where B's change is far larger.
    """

    fresh: float = 0.01
    flips: float = 0.0
    flip_size: float = 0.3
    changed: float = 0.0
    changed_flips: float = 0.0


def logits(plan: DistributionPlan, draws: np.random.Generator) -> Array:
    """Draw the model: one row of logits a place of a prompt."""
    shape = (plan.prompts, plan.positions)
    slopes = draws.uniform(1.2, 3.5, size=(*shape, 1))
    ranks = np.log(np.arange(1, VOCABULARY + 1))
    given: Array = draws.permuted(-slopes * ranks + draws.normal(0, 0.3, size=(*shape, VOCABULARY)), axis=-1)
    return given


def unlike(shape: tuple[int, ...], draws: np.random.Generator) -> Array:
    """Draw how much more or less each prompt is touched than the others, so that its places are not independent."""
    touched: Array = draws.lognormal(0, 0.4, size=(shape[0], 1, 1))
    return touched


def noisy(base: Array, spread: float, flips: float, flip_size: float, draws: np.random.Generator) -> Array:
    """Add noise to every logit, and at a few places a far larger one."""
    struck = draws.random(size=(*base.shape[:2], 1)) < flips
    size = spread * unlike(base.shape, draws) + struck * flip_size
    added: Array = base + draws.normal(0, 1, size=base.shape) * size
    return added


def capture(plan: DistributionPlan, name: str, arm: Arm, given: Array, text: NDArray[np.int64]) -> Capture:
    """Give the first ``k`` candidates of every place, as a server does."""
    logprobs = (
        given
        - np.log(np.exp(given - given.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True))
        - given.max(axis=-1, keepdims=True)
    )
    order = np.argsort(-logprobs, axis=-1)[..., : plan.k]
    best = np.take_along_axis(logprobs, order, axis=-1)
    listed = zip(order.reshape(-1, plan.k).tolist(), best.reshape(-1, plan.k).tolist(), strict=True)
    positions = []
    for place, (tokens, values) in enumerate(listed):
        prompt, index = divmod(place, plan.positions)
        candidates = tuple([Candidate(_TOKENS[token], value) for token, value in zip(tokens, values, strict=True)])
        chosen = _TOKENS[text[prompt, index]] if arm is Arm.PREFILL else candidates[0].token
        positions.append(Position(prompt, index, chosen, candidates))
    return Capture(name=name, arm=arm, k=plan.k, positions=tuple(positions), tokenizer="t", requests=plan.prompts)


def gate(
    plan: DistributionPlan, noise: Noise, *, seed: int, arm: Arm = Arm.PREFILL, positive: float = 0.3
) -> Mapping[str, Capture]:
    """Capture one whole attempt in one arm.

    Args:
        plan: Its size.
        noise: What the servers add.
        seed: Of everything drawn.
        arm: Which arm.
        positive: Spread of the planted defect.
    """
    draws = np.random.default_rng(seed)
    base = logits(plan, draws)
    text = draws.integers(VOCABULARY, size=base.shape[:2])
    changed = noisy(base, noise.changed, noise.changed_flips, 1.0, draws)
    defect = noisy(base, positive, 0.0, 0.0, draws)
    servers = {"A1": base, "A2": base, "B1": changed, "B2": changed, "positive": defect}
    found = (
        capture(plan, name, arm, noisy(model, noise.fresh, noise.flips, noise.flip_size, draws), text)
        for name, model in servers.items()
    )
    return {one.key: one for one in found}
