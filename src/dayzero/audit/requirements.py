"""What a distribution's metadata asks for, on Linux on x86-64, and what is asked for only with an extra."""

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dayzero.audit.installed import Distribution

_PYTHON = "3.12"
# Extras without which the engine does not serve: sglang 0.4.4.post1 has its run-time dependencies in them.
_SERVING_EXTRAS = {"sglang": ("srt", "all")}


@dataclass(frozen=True, slots=True)
class Asked:
    """One requirement.

    Attributes:
        requirement: Name and versions.
        line: As the metadata has it.
        extra: The extra that asks for it, ``""`` where it is always asked for.
    """

    requirement: Requirement
    line: str
    extra: str = ""

    @property
    def name(self) -> str:
        """The distribution asked for, normalised."""
        return canonicalize_name(self.requirement.name)

    @property
    def exact(self) -> str:
        """The one version that it accepts, ``""`` where it accepts several."""
        pins = [one.version for one in self.requirement.specifier if one.operator in {"==", "==="}]
        return pins[0] if pins and "*" not in pins[0] else ""


def asked_by(distribution: Distribution) -> tuple[Asked, ...]:
    """List what a distribution needs, those extras included without which an engine does not serve."""
    extras = {"", *_SERVING_EXTRAS.get(distribution.name, ())}
    found: list[Asked] = []
    while True:
        found = [one for one in all_asked_by(distribution) if one.extra in extras]
        own = {extra for one in found if one.name == distribution.name for extra in one.requirement.extras}
        if own <= extras:
            return tuple(one for one in found if one.name != distribution.name)
        extras |= own


def all_asked_by(distribution: Distribution) -> Iterator[Asked]:
    """Give every requirement of a distribution that can hold on Linux on x86-64; what cannot be parsed is left out."""
    for line in distribution.requires:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        for extra in ("", *_extras_in(requirement)):
            if requirement.marker is None or requirement.marker.evaluate(_environment(extra)):
                yield Asked(requirement, line, extra)
                break


def unreadable(distribution: Distribution) -> Iterator[str]:
    """Give the lines of the metadata that are no requirements."""
    for line in distribution.requires:
        try:
            Requirement(line)
        except InvalidRequirement:
            yield line


def _extras_in(requirement: Requirement) -> Iterator[str]:
    words = str(requirement.marker or "").replace("'", '"').split('"')
    for before, word in zip(words[::2], words[1::2], strict=False):
        if before.rstrip().endswith(("extra ==", "extra==")):
            yield word


def _environment(extra: str) -> dict[str, str]:
    return {
        **{key: str(value) for key, value in default_environment().items()},
        "python_version": _PYTHON,
        "python_full_version": f"{_PYTHON}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "extra": extra,
    }
