"""Which release a container image holds, by its name alone."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from packaging.version import InvalidVersion, Version

from dayzero.audit.recipes.model import Code, Release, UnknownCode, Unstated

_HUB = re.compile(r"^(?:(?:index\.|registry-1\.)?docker\.io/)")
_TAG = re.compile(r"v?(?P<version>\d+(?:\.\d+)+(?:\.?(?:rc|post|dev|a|b)\d+)*)(?P<rest>(?:-[A-Za-z0-9._]+)*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How images and commands name engines.

    Attributes:
        images: Repository -> engine.
        plain: What may stand behind the version in a tag.
        programs: The first two words of a command -> engine.
        modules: Module behind ``python -m`` -> engine, and the word that follows it where one must.
        model_flags: Engine -> flags that name the model.
        parallel_flags: Engine -> flags whose values multiply to the number of GPUs.
    """

    images: Mapping[str, str]
    plain: re.Pattern[str]
    programs: Mapping[tuple[str, str], str]
    modules: Mapping[str, tuple[str, str]]
    model_flags: Mapping[str, tuple[str, ...]]
    parallel_flags: Mapping[str, tuple[str, ...]]


@cache
def names() -> Names:
    """Read the table once."""
    table = tomllib.loads(files(__package__).joinpath("images.toml").read_text(encoding="utf-8"))
    return Names(
        images={one["repository"]: one["engine"] for one in table["image"]},
        plain=re.compile(table["plain"], re.IGNORECASE),
        programs={(one["words"][0], one["words"][1]): one["engine"] for one in table["program"]},
        modules={one["name"]: (one["engine"], one.get("command", "")) for one in table["module"]},
        model_flags={engine: tuple(flags) for engine, flags in table["model_flags"].items()},
        parallel_flags={engine: tuple(flags) for engine, flags in table["parallel_flags"].items()},
    )


def code_of(image: str) -> Code:
    """Say which code an image holds; a digest says nothing about that, and a tag that moves names no release."""
    named, _, _ = image.partition("@")
    repository, tag = named, ""
    if ":" in named.rsplit("/", 1)[-1]:
        repository, _, tag = named.rpartition(":")
    engine = names().images.get(_HUB.sub("", repository))
    if "$" in image or "{" in image:
        return UnknownCode(f"the image is {image}, which this file does not set")
    if engine is None:
        return UnknownCode(f"the image {image} is custom: its code is unknown")
    found = _TAG.fullmatch(tag)
    words = [word for word in (found["rest"] if found else "").split("-") if word]
    if found is None or not all(names().plain.fullmatch(word) for word in words):
        what = f"the tag {tag}" if tag else "an image without a tag"
        return Unstated(engine, f"{what} names no release of {engine} ({image})")
    try:
        return Release(engine, str(Version(found["version"])))
    except InvalidVersion:
        return Unstated(engine, f"the tag {tag} names no release of {engine} ({image})")
