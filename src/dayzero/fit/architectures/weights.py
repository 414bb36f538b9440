"""The parameters of a model before any quantisation, and the small words that the families are written in."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

GATED = ("gate_proj", "up_proj", "down_proj")
NUMBERED = ("w1", "w3", "w2")


class Role(Enum):
    """What a parameter is to a quantiser."""

    LINEAR = "linear"
    STACK = "stack of experts"
    HEAD = "output head"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Weight:
    """One parameter, or the equal ones of all experts of a layer.

    Attributes:
        name: As the checkpoint has it; the index of an expert is ``*``.
        shape: As stored without quantisation.
        role: What quantisers may do with it.
        count: How many the name stands for.
        dtype: Its own storage type where it keeps one; ``""`` is the model's.
        tower: Whether it belongs to a vision tower or its projector.
        parts: For a stack: names of the projections that are fused along its outputs, equal in width.
        outputs_last: For a stack: whether each expert is stored as inputs by outputs.
    """

    name: str
    shape: tuple[int, ...]
    role: Role = Role.OTHER
    count: int = 1
    dtype: str = ""
    tower: bool = False
    parts: tuple[str, ...] = ()
    outputs_last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Where a language model stands inside its checkpoint.

    Attributes:
        root: Before the embedding and the layers.
        head: The output head.
        tied: What the configuration says of the output head being the embedding; ``None`` where it says nothing.
    """

    root: str = "model."
    head: str = "lm_head"
    tied: bool | None = None


def linear(  # noqa: PLR0913  (a projection is said in one line)
    module: str, outputs: int, inputs: int, *, bias: bool = False, count: int = 1, role: Role = Role.LINEAR
) -> Iterator[Weight]:
    """Give the weight of a projection, and its bias."""
    yield Weight(f"{module}.weight", (outputs, inputs), role, count)
    if bias:
        yield Weight(f"{module}.bias", (outputs,), count=count)


def router(module: str, experts: int, hidden: int, *, bias: bool = False) -> Iterator[Weight]:
    """Give what chooses the experts: no checkpoint quantises it."""
    return linear(module, experts, hidden, bias=bias, role=Role.OTHER)


def norm(module: str, width: int, *, bias: bool = False) -> Iterator[Weight]:
    """Give the weight of a normalisation, and its bias."""
    yield Weight(f"{module}.weight", (width,))
    if bias:
        yield Weight(f"{module}.bias", (width,))


def gated(
    stem: str, hidden: int, width: int, *, bias: bool = False, names: tuple[str, str, str] = GATED
) -> Iterator[Weight]:
    """Give a gated feed-forward: two projections in, one out."""
    gate, up, down = names
    yield from linear(f"{stem}.{gate}", width, hidden, bias=bias)
    yield from linear(f"{stem}.{up}", width, hidden, bias=bias)
    yield from linear(f"{stem}.{down}", hidden, width, bias=bias)


def experts(  # noqa: PLR0913  (so are the experts of a layer)
    stem: str, count: int, hidden: int, width: int, *, names: tuple[str, str, str] = GATED, gate: bool = True
) -> Iterator[Weight]:
    """Give the routed experts of a layer, each stored on its own."""
    first, up, down = names
    if gate:
        yield from linear(f"{stem}.*.{first}", width, hidden, count=count)
    yield from linear(f"{stem}.*.{up}", width, hidden, count=count)
    yield from linear(f"{stem}.*.{down}", hidden, width, count=count)


def stacked(stem: str, count: int, hidden: int, width: int, *, outputs_last: bool = True) -> Iterator[Weight]:
    """Give the routed experts of a layer as two tensors that hold all of them."""
    into = (hidden, 2 * width) if outputs_last else (2 * width, hidden)
    out = (width, hidden) if outputs_last else (hidden, width)
    yield Weight(
        f"{stem}.gate_up_proj", (count, *into), Role.STACK, parts=("gate_proj", "up_proj"), outputs_last=outputs_last
    )
    yield Weight(f"{stem}.down_proj", (count, *out), Role.STACK, parts=("down_proj",), outputs_last=outputs_last)
