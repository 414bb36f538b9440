"""What fit needs from outside: an engine's own memory model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from dayzero.core.recipe import Recipe
from dayzero.fit.cheapest import Change
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import Budget, FitPlan, Term


class HostMemoryModel(Protocol):
    """Knows what one engine allocates in the memory of a host without GPUs."""

    def memory_terms(self, recipe: Recipe, weights: Path) -> tuple[Term, ...]:
        """Size each allocation of one instance in the memory of a host without GPUs.

        Args:
            recipe: What will be served, with its flags.
            weights: The first pinned file of the model, on this disk.

        Raises:
            InputError: The weights or the flags cannot be read.
        """
        ...


class Alternatives(Protocol):
    """Knows how else one engine could be run."""

    def spread_in(self, flags: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
        """Read how flags spread the model, named as ``Parallelism`` does, and the longest request as ``context``.

        Returns:
            What was read, and the other flags.

        Raises:
            InputError: One of them cannot be read.
        """
        ...

    def cheaper(self, plan: FitPlan) -> tuple[Change, ...]:
        """List settings that may take less memory, the cheapest first; whether they do is for :class:`MemoryModel`."""
        ...


class MemoryModel(Alternatives, Protocol):
    """Knows what one engine allocates on each GPU, and how else it could be run."""

    def budget(self, plan: FitPlan) -> Budget | Unknown:
        """Size each component of one instance on each GPU; ``Unknown`` where the model does not cover the plan.

        Raises:
            InputError: A flag cannot be read, or the parallelism does not go with the model or the system.
        """
        ...
