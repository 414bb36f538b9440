"""Find and load what is installed, by the group and the name of its entry point."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar, cast

from dayzero.core.errors import InputError

_Plugin = TypeVar("_Plugin")


@cache
def named(group: str) -> dict[str, EntryPoint]:
    """Look a group up once: that reads the metadata of every installed distribution."""
    return {point.name: point for point in entry_points(group=group)}


def load(group: str, noun: str, name: str, kind: type[_Plugin]) -> _Plugin:  # noqa: ARG001  (kind binds the result's type)
    """Load one.

    Args:
        group: Group of its entry point.
        noun: What it is, for the error.
        name: Name of its entry point.
        kind: The interface that it keeps.

    Raises:
        InputError: It is not installed.
    """
    points = named(group)
    if name not in points:
        raise InputError(
            f"no {noun} called {name!r} is installed",
            hint=f"Use one of: {', '.join(sorted(points)) or 'none is installed; reinstall dayzero'}.",
        )
    return cast("_Plugin", points[name].load())
