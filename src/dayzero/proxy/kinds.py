"""Tell the kinds of layer of a model apart by what they store."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_LAYER: Final = re.compile(r"^(?P<before>(?:.*\.)?(?:layers|blocks|blk|h)\.)(?P<layer>\d+)\.(?P<rest>.+)$")
_TELLING: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Layers that store tensors of the same names, types and shapes.

    Attributes:
        first: Number of the first one, from 0.
        count: How many there are in the whole model.
        tells: Names of tensors that not every kind has, a few of them; empty where there is one kind.
    """

    first: int
    count: int
    tells: tuple[str, ...]


def kinds_of(tensors: Iterable[tuple[str, str, int]]) -> tuple[Kind, ...]:
    """Group the layers of the stack that stores the most; a vision tower beside it has layers of its own, and is left out.

    Args:
        tensors: Name, form (type and shape) and stored bytes of each tensor.
    """
    stacks: dict[str, dict[int, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    sizes: dict[str, int] = defaultdict(int)
    for name, form, size in tensors:
        found = _LAYER.match(name)
        if found:
            stacks[found["before"]][int(found["layer"])].add((found["rest"], form))
            sizes[found["before"]] += size
    if not stacks:
        return ()
    layers = stacks[max(sizes, key=lambda before: sizes[before])]
    same: dict[frozenset[tuple[str, str]], list[int]] = defaultdict(list)
    for number, held in sorted(layers.items()):
        same[frozenset(held)].append(number)
    everywhere = frozenset.intersection(*same)
    return tuple(
        Kind(first=numbers[0], count=len(numbers), tells=_tells(held - everywhere)) for held, numbers in same.items()
    )


def _tells(held: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    """Name the modules that tell a kind apart: the shortest names, as ``self_attn.A_log`` and ``mlp.gate_proj``."""
    names = {name.removesuffix(".weight") for name, _ in held}
    return tuple(sorted(sorted(names, key=lambda name: (len(name), name))[:_TELLING]))
