"""A statement: what is said, about which bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dayzero.core.pins import Sha256

SignerKind: TypeAlias = Literal["demo", "release"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a statement is about: a name for people, and the digest that decides."""

    name: str
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An in-toto Statement v1.

    Attributes:
        subjects: What it is about; at least one.
        predicate_type: URI that says how to read the predicate.
        predicate: What it says, in JSON values; measured numbers are strings.
    """

    subjects: tuple[Subject, ...]
    predicate_type: str
    predicate: Mapping[str, object]
