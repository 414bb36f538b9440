"""A family: which models it is for, and what lists their parameters."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import Names, Weight

Text: TypeAlias = Callable[[Fields, Names], Iterable[Weight]]

_AT_THE_TOP = Names()


@dataclass(frozen=True, slots=True)
class Family:
    """One language model architecture.

    Attributes:
        architecture: As ``architectures`` names it.
        model_types: The ``model_type`` of its configuration, alone or nested as a ``text_config``.
        text: Lists the parameters of the language model.
        names: Where the language model stands when it is not nested.
        drafts: Whether ``text`` lists the layers that ``num_nextn_predict_layers`` counts.
    """

    architecture: str
    model_types: tuple[str, ...]
    text: Text
    names: Names = _AT_THE_TOP
    drafts: bool = False
