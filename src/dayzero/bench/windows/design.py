"""Lay out the windows: AB, BA, AB, ... with a random start, the same requests in both halves of a pair."""

import hashlib

from dayzero.bench.windows.model import Design, Label, Stage, Window

_SEED_BYTES = 4


def rehearsal(design: Design) -> tuple[Window, ...]:
    """Give one window an arm that shows whether it serves, and enters nothing else; B comes first, as A is used next."""
    return (_window(design, "rehearsal", 1, 1, "B", "B"), _window(design, "rehearsal", 1, 2, "A", "A"))


def certificate(design: Design) -> tuple[Window, ...]:
    """Lay out A against itself: arm A under both labels, in the order that the comparison uses too."""
    return _alternating(design, "certificate", design.certificate_pairs)


def comparison(design: Design) -> tuple[Window, ...]:
    """Lay out A against B."""
    return _alternating(design, "comparison", design.pairs)


def _alternating(design: Design, stage: Stage, pairs: int) -> tuple[Window, ...]:
    start = _drawn(design.seed, f"{stage}/start") % 2
    orders: tuple[tuple[Label, Label], ...] = (("A", "B"), ("B", "A"))
    return tuple(
        _window(design, stage, pair, slot, label, "A" if stage == "certificate" else label)
        for pair in range(1, pairs + 1)
        for slot, label in enumerate(orders[(pair + start) % 2], 1)
    )


def _window(design: Design, stage: Stage, pair: int, slot: int, label: Label, arm: Label) -> Window:  # noqa: PLR0913, PLR0917
    return Window(
        stage=stage,
        pair=pair,
        slot=slot,
        label=label,
        arm=arm,
        prompt_seed=_drawn(design.seed, f"{stage}/{pair}"),
        nonce=f"{stage}/{pair}/{slot}",
    )


def _drawn(seed: int, key: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{key}".encode()).digest()[:_SEED_BYTES], "big")
