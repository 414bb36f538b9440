"""Activations that need kernels of their own, as data."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """One activation and where FlashInfer must have it.

    Attributes:
        word: Its name in a model's configuration.
        member: Its member of ``ActivationType``.
        token: Its part of a kernel's name.
        first: The first release that has member and kernels.
        lacking: Artifact pins whose kernels lack it.
        holding: Artifact pins of builds that expect it there.
        source: Where that was read.
    """

    word: str
    member: str
    token: str
    first: str
    lacking: frozenset[str]
    holding: frozenset[str]
    source: str


def activation(word: str) -> Activation | None:
    """Give an activation that needs kernels of its own, ``None`` for one that every build has."""
    return _known().get(word)


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Activation]:
    text = files("dayzero.kernels.flashinfer").joinpath("activations.toml").read_text(encoding="utf-8")
    return {
        entry["word"]: Activation(**entry | {key: frozenset(entry[key]) for key in ("lacking", "holding")})
        for entry in tomllib.loads(text)["activation"]
    }
