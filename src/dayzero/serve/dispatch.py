"""Compare what a launch asked for with what the engine's own log says it resolved."""

from collections.abc import Iterable

from dayzero.serve.model import Asked, Dispatch, Resolved

_NO_DEMAND = {"", "auto", "none", "default"}


def compare(asked: Iterable[Asked], resolved: Iterable[Resolved]) -> tuple[Dispatch, ...]:
    """Put each thing that was asked beside what came of it.

    An engine that states two values for one thing (a backend per kind of layer, a default and then what replaced it) agrees
    only if both are the one that was asked. A launch that leaves the choice to the engine (``auto``) asks for nothing.
    """
    stated = tuple(resolved)
    return tuple(_dispatch(one, stated) for one in asked if one.value.lower() not in _NO_DEMAND)


def differences(dispatched: Iterable[Dispatch]) -> tuple[str, ...]:
    """Word each finding: the engine resolved something else than the launch asks for."""
    return tuple(
        f"{one.asked.by} asks for {one.asked.value}, and the log says {one.asked.name} is "
        + " and ".join(f"{value.value} (line {value.line})" for value in one.got)
        for one in dispatched
        if one.agrees is False
    )


def _dispatch(asked: Asked, stated: tuple[Resolved, ...]) -> Dispatch:
    got = tuple(one for one in stated if one.name == asked.name)
    agrees = all(_plain(one.value) == _plain(asked.value) for one in got) if got else None
    return Dispatch(asked=asked, got=got, agrees=agrees)


def _plain(value: str) -> str:
    return value.strip("'\"").lower()
