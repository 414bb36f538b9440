"""Kinds of GPU as data: what a program sees of each one's memory, and what it can compute."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from dayzero.core.errors import InputError
from dayzero.core.quantities import Bytes

_MIB = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A size that is known to lie between ``low`` and ``high``, and is likeliest ``size``."""

    low: Bytes
    size: Bytes
    high: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One kind of GPU.

    Attributes:
        name: Short name (``h200``).
        label: What the vendor calls it.
        vendor: ``nvidia`` or ``amd``.
        total: Memory that a program is shown, which is less than the driver's own tool prints.
        compute_capability: Major and minor number.
        compute_units: Multiprocessors.
        offered: Whether it is proposed to who asks for a system; others are only sized where they are named.
        source: Where ``total`` comes from.
    """

    name: str
    label: str
    vendor: str
    total: Span
    compute_capability: tuple[int, int]
    compute_units: int
    source: str
    offered: bool


def accelerator(name: str) -> Accelerator:
    """Look a kind up by its name or an alias of it, in any case.

    Raises:
        InputError: No such kind; the hint names the nearest.
    """
    known, aliases = _kinds()
    wanted = _plain(name)
    found = known.get(aliases.get(wanted, wanted))
    if found is not None:
        return found
    near = difflib.get_close_matches(wanted, [*known, *aliases], n=1, cutoff=0.3)
    nearest = f"Did you mean {aliases.get(near[0], near[0])}? " if near else ""
    raise InputError(f"no GPU kind called {name!r}", hint=f"{nearest}Known are {', '.join(known)}.")


def _plain(name: str) -> str:
    """Write a name as people do: ``RTX3090``, ``GeForce RTX 3090`` and ``nvidia-rtx-3090`` are one."""
    wanted = re.sub(r"[\s_]+", "-", name.strip().lower())
    wanted = re.sub(r"^(?:(?:nvidia|amd|geforce|instinct|tesla)-)+", "", wanted)
    return re.sub(r"^rtx(?=[0-9a])", "rtx-", wanted)


def accelerator_names() -> tuple[str, ...]:
    """List the kinds that are known."""
    return tuple(_kinds()[0])


def taken_at_start(peers: int) -> tuple[Span, str]:
    """Say what is taken of a GPU's memory before an engine allocates anything, and where that figure comes from.

    Args:
        peers: Other GPUs that the process talks to.
    """
    context, each = _document()["taken"], _document()["taken_by_each_peer"]
    parts = {key: (context[f"{key}_mib"] + peers * each[f"{key}_mib"]) * _MIB for key in ("low", "size", "high")}
    source = f"{context['source']}; {each['source']}" if peers else str(context["source"])
    return Span(low=Bytes(parts["low"]), size=Bytes(parts["size"]), high=Bytes(parts["high"])), source


@lru_cache(maxsize=1)
def _document() -> Mapping[str, Mapping[str, int]]:
    return tomllib.loads(files("dayzero.core").joinpath("accelerators.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _kinds() -> tuple[Mapping[str, Accelerator], Mapping[str, str]]:
    text = files("dayzero.core").joinpath("accelerators.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["kind"]
    known = {
        entry["name"]: Accelerator(
            name=entry["name"],
            label=entry["label"],
            vendor=entry["vendor"],
            total=Span(**{key: Bytes(entry[f"{key}_mib"] * _MIB) for key in ("low", "size", "high")}),
            compute_capability=_capability(entry["compute_capability"]),
            compute_units=entry["compute_units"],
            source=entry["source"],
            offered=entry.get("offered", True),
        )
        for entry in entries
    }
    return known, {alias: entry["name"] for entry in entries for alias in entry["aliases"]}


def _capability(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
