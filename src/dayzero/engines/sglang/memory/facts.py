"""What SGLang decides about memory, looked up by version."""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dayzero.core.errors import InputError


def fact(name: str, version: str) -> Mapping[str, Any]:
    """Give the entry of a fact that holds for a version.

    Raises:
        InputError: The version has another form.
    """
    asked = release(version)
    return max(
        (entry for entry in _document()[name] if release(entry["since"]) <= asked), key=lambda e: release(e["since"])
    )


def measured(name: str) -> Mapping[str, Any]:
    """Give figures that were fitted to runs."""
    found: Mapping[str, Any] = _document()[name]
    return found


@lru_cache(maxsize=64)
def release(version: str) -> tuple[int, ...]:
    """Read the numbers of a version: ``0.5.10.post1`` is ``(0, 5, 10)``.

    Raises:
        InputError: It does not begin with a number.
    """
    found = re.match(r"v?(\d+(?:\.\d+)*)", version, re.ASCII)
    if not found:
        raise InputError(f"not a version of SGLang: {version!r}", hint="Give it as 0.5.18.")
    return tuple(int(part) for part in found[1].split("."))


@lru_cache(maxsize=1)
def _document() -> Mapping[str, Any]:
    return tomllib.loads(files("dayzero.engines.sglang.memory").joinpath("facts.toml").read_text(encoding="utf-8"))
