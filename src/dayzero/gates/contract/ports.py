"""What the contract needs of the outside."""

from typing import Protocol

from dayzero.gates.contract.model import Answer, Call


class Endpoint(Protocol):
    """Sends requests and keeps each with its answer."""

    def send(self, *calls: Call) -> tuple[Answer, ...]:
        """Send requests at the same time, and give their answers in the order of the requests."""
        ...

    def begin(self, check: str) -> None:
        """Say for which check the next requests are."""
        ...
