"""Name the configuration that a claim is about."""

from dataclasses import asdict
from typing import Any

import rfc8785

from dayzero.core.pins import Sha256
from dayzero.core.recipe import Recipe

# What recipes learned to say after the first digests were taken: at its default it is left out, so that those stay true.
_ADDED: tuple[tuple[tuple[str, ...], object], ...] = (
    (("pre_stop_s",), 0),
    (("system", "nodes"), 1),
    (("system", "host_memory"), {"count": 0}),
    (("system", "shared_memory"), {"count": 0}),
    (("engine", "lock"), ""),
    (("model", "origin", "tokenizer_revision"), None),
    (("model", "origin", "code_revision"), None),
    (("model", "files", "header_sha256"), None),
)


def recipe_digest(recipe: Recipe) -> Sha256:
    """Give the SHA-256 of the recipe's RFC 8785 form: equal for equal recipes, other for any other one."""
    # asdict drops the names of classes, and two kinds of origin could have equal members.
    members: dict[str, Any] = asdict(recipe)
    for path, default in _ADDED:
        _leave_out(members, path, default)
    return Sha256.of(rfc8785.dumps({"recipe": members, "origin": type(recipe.model.origin).__name__}))


def _leave_out(members: Any, path: tuple[str, ...], default: object) -> None:  # noqa: ANN401  (what asdict makes of a recipe)
    """Take a member out where it has its default; on the way, each entry of a list is gone through."""
    if isinstance(members, tuple):
        for entry in members:
            _leave_out(entry, path, default)
        return
    name, *inner = path
    if inner:
        _leave_out(members[name], tuple(inner), default)
    elif name in members and members[name] == default:
        del members[name]
