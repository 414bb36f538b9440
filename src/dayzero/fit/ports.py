"""What fit needs from outside: an engine's own memory model."""

from pathlib import Path
from typing import Protocol

from dayzero.core.recipe import Recipe
from dayzero.fit.model import Term


class MemoryModel(Protocol):
    """Knows what one engine allocates for a recipe."""

    def memory_terms(self, recipe: Recipe, weights: Path) -> tuple[Term, ...]:
        """Size each allocation of one instance on one rank.

        Args:
            recipe: What will be served, with its flags.
            weights: The first pinned file of the model, on this disk.

        Raises:
            InputError: The weights or the flags cannot be read.
        """
        ...
