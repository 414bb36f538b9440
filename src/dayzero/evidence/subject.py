"""Name the configuration that a claim is about."""

from dataclasses import asdict
from typing import Any

import rfc8785

from dayzero.core.pins import Sha256
from dayzero.core.recipe import Recipe


def recipe_digest(recipe: Recipe) -> Sha256:
    """Give the SHA-256 of the recipe's RFC 8785 form: equal for equal recipes, other for any other one."""
    # asdict drops the names of classes, and two kinds of origin could have equal members.
    document: dict[str, Any] = {"recipe": asdict(recipe), "origin": type(recipe.model.origin).__name__}
    return Sha256.of(rfc8785.dumps(document))
