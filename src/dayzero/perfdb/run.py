"""A run of one's own: a chain of lines, one a case, and what each says of its row."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dayzero.core.errors import IntegrityError
from dayzero.perfdb.model import Grade

SCHEMA = "dayzero/perfdb-run/v1"
FIRST = "0" * 64
Line: TypeAlias = Mapping[str, Any]
_POWER_CAP = 0x4  # nvml.h: the driver lowers clocks to stay within the power limit
_HOST_BOUND = 2.0  # times what its kernels take
_NOT_THROTTLING = 0x1 | 0x2 | 0x100  # nvml.h: idle, clocks set by a user, display clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A grade, and what keeps it from being a better one."""

    grade: Grade
    because: tuple[str, ...]


def sealed(told: Line, prev: str) -> bytes:
    """Write a line of the chain: what it tells, the digest of the line before it, and its own as the last member."""
    body = json.dumps({**told, "prev": prev}, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    return body + f',"sha256":"{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def opened(lines: Iterable[bytes], name: str) -> tuple[Line, ...]:
    """Read a chain.

    Args:
        lines: Its lines.
        name: What it is called in an error.

    Raises:
        IntegrityError: A line was changed, lost, moved or cut off.
    """
    found: list[Line] = []
    prev = FIRST
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            raise IntegrityError(
                f"{name}:{number} was cut off while it was written",
                hint="'dayzero perfdb collect' with this folder takes it off, and goes on.",
            )
        told = _opened(line)
        if told is None or told.get("prev") != prev:
            raise IntegrityError(
                f"{name}:{number} is not the line that was written", hint="Take the run from where it was made."
            )
        prev = str(told["sha256"])
        found.append(told)
    return tuple(found)


def _opened(line: bytes) -> Line | None:
    body, marker, rest = line.rstrip(b"\n").rpartition(b',"sha256":"')
    if not marker or rest != hashlib.sha256(body).hexdigest().encode() + b'"}':
        return None
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def last_digest(lines: Sequence[Line]) -> str:
    """Give the digest that the next line names."""
    return str(lines[-1]["sha256"]) if lines else FIRST


def kernels_say(patterns: Sequence[str], kernels: Sequence[Sequence[Any]] | None) -> str:
    """Say whether the kernels that were launched are those of a label: ``agree``, ``differ`` or ``unseen``."""
    if kernels is None or not patterns:
        return "unseen"
    names = [str(name) for name, _ in kernels]
    return "agree" if all(any(re.search(p, name) for name in names) for p in patterns) else "differ"


def kernel_digest(kernels: Sequence[Sequence[Any]]) -> str:
    """Name a list of kernels by what was launched, how often and in which order."""
    return hashlib.sha256(json.dumps(kernels).encode()).hexdigest()


def throttled(clocks: Line, highest_mhz: int) -> bool:
    """Whether the GPU held its clocks back while it was looked at.

    At its power limit a GPU says so also while its clocks are still at their highest. Where no look found them lower, in the
    window or at either end of it, nothing was held back; any other reason counts as it is told.

    Args:
        clocks: What was seen in the window of a case.
        highest_mhz: Highest clock of the GPU; 0 where it is not known.
    """
    reasons = int(clocks.get("throttle", 0)) & ~_NOT_THROTTLING
    if reasons != _POWER_CAP or not highest_mhz:
        return bool(reasons)
    return min(int(clocks.get(f"sm_mhz_{when}", 0)) for when in ("before", "min", "after")) < highest_mhz


def standing(line: Line, worker: Line, *, build: str) -> Standing:
    """Grade a measured case.

    Args:
        line: Its line.
        worker: What the process that measured it is.
        build: Digest of the wheel, or of what it recorded; ``""`` where neither is known.
    """
    contradictions = tuple(_contradictions(line))
    if contradictions:
        return Standing(grade="D", because=contradictions)
    if not build:
        return Standing(grade="C", because=("no digest names the build",))
    lacking = tuple(_lacking(line, worker))
    return Standing(grade="B" if lacking else "A", because=lacking)


def _contradictions(line: Line) -> Iterable[str]:
    if line.get("kernels") == "differ":
        yield "the kernels are not those of the label"
    differ = line.get("files", {}).get("differ", ())
    if differ:
        yield f"{differ[0]} is not as the wheel recorded it" + (f", and {len(differ) - 1} more" if differ[1:] else "")


def _lacking(line: Line, worker: Line) -> Iterable[str]:
    clocks = line.get("clocks", {})
    if not line.get("files", {}).get("checked"):
        yield "no loaded file was compared with the wheel's record"
    if line.get("check", {}).get("state") != "agrees":
        yield "the result was not checked"
    if line.get("kernels") != "agree":
        yield "the kernels were not seen"
    if not worker.get("driver"):
        yield "the driver is not known"
    if not clocks.get("looks"):
        yield "no clock was seen while it ran"
    elif throttled(clocks, int(worker.get("sm_max_mhz", 0))):
        fell = f", to {clocks['sm_mhz_min']} MHz" if clocks.get("sm_mhz_min") else ""
        yield f"the GPU held its clocks back{fell}: {int(clocks['throttle']):#x}"
    busy, took = float(line.get("busy_us") or 0), float(line.get("latency_us", {}).get("p50", 0))
    if busy and not line.get("used_cuda_graph") and took > _HOST_BOUND * busy:
        yield f"the GPU waited for the host: its kernels took {busy:g} of {took:g} us"
