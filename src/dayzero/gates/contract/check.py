"""What a check is: a name, the promise that it looks at, and how it looks."""

from collections.abc import Callable
from dataclasses import dataclass

from dayzero.gates.contract.model import Outcome
from dayzero.gates.contract.talk import Talk


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of the contract.

    Attributes:
        name: What it is called.
        promise: What has to hold, as a sentence.
        look: Finds out whether it does.
    """

    name: str
    promise: str
    look: Callable[[Talk], Outcome]
