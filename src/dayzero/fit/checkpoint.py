"""What a model stores: every tensor under the name that its checkpoint gives it, with its shape, dtype and bytes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place

_LAYER = re.compile(r"(?:^|\.)(?:layers|blocks|blk|h)\.(\d+)\.")


class Basis(Enum):
    """What a list of tensors was taken from, the strongest first."""

    HEADERS = "headers"
    INDEX = "index"
    CONFIG = "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One stored tensor, or the equal ones of all experts of one layer.

    Attributes:
        name: As the upstream checkpoint has it; the index of an expert is written ``*``.
        shape: As stored: a packed tensor has its packed shape.
        dtype: As safetensors names it (``BF16``, ``F32``, ``F8_E4M3``, ``U8``, ``I32``).
        stored: Bytes of all ``count`` of them together.
        count: How many equal tensors the name stands for.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    stored: Bytes
    count: int = 1

    @property
    def layer(self) -> int | None:
        """Index of the layer that the name places it in; ``None`` outside the layers."""
        found = _LAYER.search(self.name)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Why the tensors of a model cannot be listed; never an empty list in their place."""

    reason: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All the tensors of one model.

    Attributes:
        tensors: In the order of the model; of one part of it in :attr:`Basis.INDEX`, see ``size``.
        config: ``config.json`` as it stands, empty where there is none.
        basis: What the list was taken from.
        source: The file or folder that it was taken from, for citing.
        shards: Files that hold the tensors; ``None`` where nothing says.
        notes: What was taken for granted, or does not agree.
        stated: Total that an index states, which need not be true.
    """

    tensors: tuple[Tensor, ...]
    config: Mapping[str, object]
    basis: Basis
    source: str
    shards: int | None
    notes: tuple[str, ...] = ()
    stated: Bytes | None = None

    @property
    def size(self) -> Bytes:
        """Sum of what all tensors store."""
        return Bytes(sum(tensor.stored.count for tensor in self.tensors))
