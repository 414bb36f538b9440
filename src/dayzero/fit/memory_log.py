"""What a run's own log says of its memory: every figure with its line, and what stopped a start."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum

from dayzero.core.parallelism import Parallelism

GIB = 1 << 30
MIB = 1 << 20


class Quantity(Enum):
    """What a log states; the values are the names of the groups in a :class:`Wording`. Sizes are of one GPU."""

    WEIGHTS = "weights"
    ACTIVATIONS = "activations"
    GRAPHS = "graphs"
    KV_CACHE = "kv_cache"
    NON_TORCH = "non_torch"
    CONSUMED = "consumed"  # weights and non-torch together
    TOTAL = "total"
    FREE = "free"
    LEFT = "left"  # free once the weights are loaded
    BUDGET = "budget"
    REQUEST = "request"  # cache of one request of the whole context
    KV_TOKENS = "kv_tokens"
    KV_BLOCKS = "kv_blocks"
    CONCURRENCY = "concurrency"
    CONTEXT = "context"

    @property
    def counted(self) -> bool:
        """Whether it is a count, not a size."""
        return self in _COUNTS


_COUNTS = frozenset({Quantity.KV_TOKENS, Quantity.KV_BLOCKS, Quantity.CONCURRENCY, Quantity.CONTEXT})
_BY_NAME = {quantity.value: quantity for quantity in Quantity}


@dataclass(frozen=True, slots=True)
class Said:
    """One line of a log without what carried it, and the process that wrote it."""

    number: int
    process: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How a program writes figures: groups named after quantities; ``device``, where the line names one.

    Attributes:
        pattern: Searched in the message. Groups ``before`` and ``after`` give ``drop`` by their difference.
        unit: Bytes of the size that is written.
        adds: Whether further lines of one process add up, as one line a buffer does.
        drop: What the difference of ``before`` and ``after`` is.
    """

    pattern: re.Pattern[str]
    unit: int = GIB
    adds: bool = False
    drop: Quantity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One figure.

    Attributes:
        value: Bytes, or a count; below zero where the engine found less than nothing for its cache.
        rounding: By how much the rounding of the log may be off.
        line: Where it stands.
        process: Whose it is: a rank's name, or a device.
    """

    quantity: Quantity
    value: Decimal
    rounding: Decimal
    line: int
    process: str

    def says_as_much_as(self, other: "Reading") -> bool:
        """Say whether the other is the same figure, rounded as much or more."""
        return abs(self.value - other.value) <= other.rounding and self.rounding <= other.rounding


@dataclass(frozen=True, slots=True)
class Shortage:
    """The line with which memory ran out, in the log's words."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a log says was asked for.

    Attributes:
        version: The engine's version.
        model: As the command line named it.
        flags: Settings that are not the engine's own choice, as words of a command line, parallelism left out.
        parallelism: Degrees, as (name, value) with the names of :class:`Parallelism`.
        block_size: Tokens in a block of the cache, where figures count blocks.
        env: Variables that the run must have had.
    """

    version: str = ""
    model: str = ""
    flags: tuple[str, ...] = ()
    parallelism: tuple[tuple[str, int], ...] = ()
    block_size: int = 0
    env: tuple[tuple[str, str], ...] = ()

    def updated(self, other: "Stated") -> "Stated":
        """Take over what another line says and this one did not."""
        names = dict(other.parallelism) | dict(self.parallelism)
        return Stated(
            version=self.version or other.version,
            model=self.model or other.model,
            flags=self.flags or other.flags,
            parallelism=tuple(names.items()),
            block_size=self.block_size or other.block_size,
            env=self.env or other.env,
        )


def _says_nothing(_: str) -> Stated | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDialect:
    """How one engine writes about its memory.

    Attributes:
        engine: Name of the engine.
        wordings: Its figures; a later line of the same process and quantity replaces an earlier one.
        began: The first line of an attempt; what was read before belongs to another one.
        started: The engine serves.
        shortages: Memory ran out; a start that goes on to serve survived it.
        needles: Words of which each line that matters holds one, so that the others cost little.
        states: Reads what was asked for from a line.
        host: Names of devices that are the host's memory; left out where another device is named.
    """

    engine: str
    wordings: tuple[Wording, ...]
    began: tuple[re.Pattern[str], ...]
    started: tuple[re.Pattern[str], ...]
    shortages: tuple[re.Pattern[str], ...]
    needles: tuple[str, ...]
    states: Callable[[str], Stated | None] = _says_nothing
    host: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLog:
    """What a log says of the memory of its last attempt to start."""

    engine: str
    stated: Stated = field(default_factory=Stated)
    readings: tuple[Reading, ...] = ()
    started: int | None = None
    shortage: Shortage | None = None

    def of(self, quantity: Quantity) -> tuple[Reading, ...]:
        """Give every process's reading of one quantity."""
        return tuple(reading for reading in self.readings if reading.quantity is quantity)

    def largest(self, quantity: Quantity) -> Reading | None:
        """Give the reading of the process that has most."""
        return max(self.of(quantity), key=lambda reading: reading.value, default=None)

    def smallest(self, quantity: Quantity) -> Reading | None:
        """Give the reading of the process that has least."""
        return min(self.of(quantity), key=lambda reading: reading.value, default=None)

    @property
    def parallelism(self) -> Parallelism | None:
        """How the model was spread, where the log says."""
        named = dict(self.stated.parallelism)
        if not named:
            return None
        return Parallelism(
            tp=named.get("tp", 1), pp=named.get("pp", 1), dp=named.get("dp", 1), ep=bool(named.get("ep", 0))
        )


class _Attempt:
    """Gathers the readings of one attempt."""

    def __init__(self, dialect: MemoryDialect) -> None:
        self._dialect = dialect
        self._readings: dict[tuple[Quantity, str], Reading] = {}
        self._stated = Stated()
        self._started: int | None = None
        self._shortage: Shortage | None = None

    def hear(self, said: Said) -> None:
        """Take one line."""
        for wording in self._dialect.wordings:
            found = wording.pattern.search(said.text)
            for reading in _readings(found, wording, said) if found else ():
                self._keep(reading, adds=wording.adds)
        stated = self._dialect.states(said.text)
        if stated is not None:
            self._stated = self._stated.updated(stated)
        if any(pattern.search(said.text) for pattern in self._dialect.started):
            self._started = self._started or said.number
        elif any(pattern.search(said.text) for pattern in self._dialect.shortages):
            self._short(said)

    def _short(self, said: Said) -> None:
        before_start = self._shortage is None or (self._started is not None and self._shortage.line < self._started)
        self._shortage = Shortage(said.number, said.text.strip()) if before_start else self._shortage

    def _keep(self, reading: Reading, *, adds: bool) -> None:
        key = (reading.quantity, reading.process)
        known = self._readings.get(key)
        if known is not None and adds:
            reading = replace(known, value=known.value + reading.value, rounding=known.rounding + reading.rounding)
        elif known is not None and known.says_as_much_as(reading):
            return
        self._readings[key] = reading

    @property
    def heard(self) -> bool:
        """Whether a figure was read, or the attempt ended."""
        return bool(self._readings) or self._shortage is not None or self._started is not None

    def log(self) -> MemoryLog:
        """Give what was gathered; a shortage that the start survived is none."""
        readings = sorted(self._readings.values(), key=lambda reading: reading.line)
        host = self._dialect.host
        devices = [reading for reading in readings if host is None or not host.match(reading.process)]
        survived = self._shortage is not None and self._started is not None and self._shortage.line < self._started
        return MemoryLog(
            engine=self._dialect.engine,
            stated=self._stated,
            readings=tuple(_with_weights(devices or readings)),
            started=self._started,
            shortage=None if survived else self._shortage,
        )


def gather(lines: Iterable[Said], dialect: MemoryDialect) -> MemoryLog:
    """Read the memory figures of the last attempt of a log.

    Args:
        lines: The lines of one service, in order.
        dialect: How the engine writes.
    """
    attempt = _Attempt(dialect)
    for said in lines:
        if attempt.heard and any(pattern.search(said.text) for pattern in dialect.began):
            attempt = _Attempt(dialect)
        if any(needle in said.text for needle in dialect.needles):
            attempt.hear(said)
    return attempt.log()


def _with_weights(readings: list[Reading]) -> Iterator[Reading]:
    """Add the weights where a log says only what was free before and after they were loaded."""
    yield from (reading for reading in readings if reading.quantity is not Quantity.LEFT)
    known = {(reading.quantity, reading.process): reading for reading in readings}
    for reading in readings:
        before = known.get((Quantity.FREE, reading.process))
        if reading.quantity is Quantity.LEFT and before and (Quantity.WEIGHTS, reading.process) not in known:
            value, rounding = before.value - reading.value, before.rounding + reading.rounding
            yield replace(reading, quantity=Quantity.WEIGHTS, value=value, rounding=rounding)


def _readings(found: re.Match[str], wording: Wording, said: Said) -> Iterator[Reading]:
    groups = {name: text for name, text in found.groupdict().items() if text}
    process = groups.pop("device", "") or said.process
    if wording.drop is not None:
        before, after = (Decimal(groups.pop(name).replace(",", "")) for name in ("before", "after"))
        text = str(before - after)
        yield _reading(wording.drop, text, wording.unit, said.number, process)
    for name, text in groups.items():
        quantity = _BY_NAME[name]
        yield _reading(quantity, text, 1 if quantity.counted else wording.unit, said.number, process)


def _reading(quantity: Quantity, text: str, unit: int, line: int, process: str) -> Reading:
    number = Decimal(text.replace(",", "").rstrip("."))
    last_digit = Decimal(1).scaleb(int(number.as_tuple().exponent)) if "." in text else Decimal(0)
    return Reading(quantity=quantity, value=number * unit, rounding=last_digit * unit / 2, line=line, process=process)
