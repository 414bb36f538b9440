"""Facts of one engine that change with its versions: read from the ``facts.toml`` of a package, looked up by version."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dayzero.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedFacts:
    """The facts that one package holds.

    Attributes:
        package: Package with the ``facts.toml``.
        engine: What people call the engine.
        example: One of its versions, for the hint.
    """

    package: str
    engine: str
    example: str

    def fact(self, name: str, version: str) -> Mapping[str, Any]:
        """Give the entry of a fact that holds for a version.

        Raises:
            InputError: The version has another form.
        """
        asked = self.release(version)
        return max(
            (entry for entry in _document(self.package)[name] if self.release(entry["since"]) <= asked),
            key=lambda entry: self.release(entry["since"]),
        )

    def measured(self, name: str) -> Mapping[str, Any]:
        """Give figures that were fitted to runs."""
        found: Mapping[str, Any] = _document(self.package)[name]
        return found

    def release(self, version: str) -> tuple[int, ...]:
        """Read the numbers of a version: ``0.27.1rc2.dev3`` is ``(0, 27, 1)``.

        Raises:
            InputError: It does not begin with a number.
        """
        numbers = _numbers(version)
        if not numbers:
            raise InputError(f"not a version of {self.engine}: {version!r}", hint=f"Give it as {self.example}.")
        return numbers


@lru_cache(maxsize=64)
def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"v?(\d+(?:\.\d+)*)", version, re.ASCII)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


@lru_cache(maxsize=8)
def _document(package: str) -> Mapping[str, Any]:
    return tomllib.loads(files(package).joinpath("facts.toml").read_text(encoding="utf-8"))
