"""What a gate is fixed by beforehand, what it captures, and what it can answer.

Logarithms are natural: a divergence is in nats, ``exp(logprob)`` is a probability.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided

FEWEST_PROMPTS = 30
"""Below so many prompts neither the t interval nor the bootstrap over their means can be trusted."""

MEASURES = 3
"""What is tested in each arm: excess divergence, excess clear flips, excess tail."""


class Arm(Enum):
    """Which kernels answer: those that read a prompt, or those that write after it."""

    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token that a server listed at a position.

    Attributes:
        token: ``id:123`` where the server gives ids, else ``bytes:`` and hexadecimal; never the decoded text.
        logprob: As the server gave it; whether it is one is judged later.
    """

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Position:
    """What one server said at one place.

    Attributes:
        prompt: Number of the prompt, from 0.
        index: Number of the place in it (prefill) or in the answer (decode), from 0.
        chosen: The token that stands there: given in the prefill arm, written by the server in the decode arm.
        candidates: Best first; the chosen token is among them where the server gave it, even below the first ``k``.
    """

    prompt: int
    index: int
    chosen: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """All prompts once through one server.

    Attributes:
        name: ``A1``, ``A2``, ``B1``, ``B2`` or ``positive`` (server A, with a defect planted that must be seen).
        arm: Which arm.
        k: How many candidates were asked for.
        positions: In any order.
        tokenizer: A fingerprint of the server's tokenizer, ``""`` where none could be had.
        requests: How many requests were sent.
        failed: What went wrong with those that brought nothing, one line each.
    """

    name: str
    arm: Arm
    k: int
    positions: tuple[Position, ...]
    tokenizer: str = ""
    requests: int = 0
    failed: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name it among the captures of all arms (``prefill/A1``)."""
        return f"{self.arm.value}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionPlan:
    """All that is fixed before the first request.

    Attributes:
        prompts: How many, when every look is taken.
        positions: Places compared in each prompt.
        k: Candidates asked for at each place.
        margin_nat: Excess divergence that does not matter.
        margin_flip: Excess share of places, with a clear flip or a far tail, that does not matter.
        concurrency: Requests in flight, for control and test alike.
        seed: Draws the order of the captures, and every resample.
        looks: How often the data are looked at, evenly spaced in prompts; what each costs is fixed here too.
        alpha: One-sided error over all looks: of calling different what is the same, and the other way round.
        arms: Which arms are captured.
    """

    prompts: int = 64
    positions: int = 128
    k: int = 20
    margin_nat: float = 0.002
    margin_flip: float = 0.005
    concurrency: int = 8
    seed: int = 0
    looks: int = 2
    alpha: float = 0.05
    arms: tuple[Arm, ...] = (Arm.PREFILL, Arm.DECODE)

    def __post_init__(self) -> None:
        counts = {"prompts": self.prompts, "positions": self.positions, "candidates": self.k}
        for name, count in {**counts, "requests in flight": self.concurrency, "looks": self.looks}.items():
            if count < 1:
                raise InputError(f"{count} {name} cannot be measured", hint="Give 1 or more.")
        for name, margin in (("nat", self.margin_nat), ("flips", self.margin_flip)):
            if not 0 < margin < 1:
                raise InputError(f"a margin of {margin:g} ({name}) cannot be held", hint="Give it between 0 and 1.")
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004 - an error of one half is a coin
            raise InputError(f"{self.alpha:g} is no error rate", hint="Give one between 0 and 0.5, such as 0.05.")
        if not self.arms or len(set(self.arms)) != len(self.arms):
            raise InputError("a gate compares at least one arm, each once", hint="Give prefill, decode or both.")

    @property
    def look_sizes(self) -> tuple[int, ...]:
        """Count the prompts that are in by each look; too few to judge by are not looked at, and spend nothing."""
        sizes = sorted({round(self.prompts * look / self.looks) for look in range(1, self.looks + 1)})
        return tuple(size for size in sizes if size >= FEWEST_PROMPTS or size == self.prompts)

    @property
    def alpha_different(self) -> float:
        """Split the error of calling different: any measure of any arm may say so (Bonferroni)."""
        return self.alpha / (MEASURES * len(self.arms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over prompts with its bounds.

    Attributes:
        value: The mean of the prompts' means.
        low, high: Its bounds; each side by itself holds at ``level``.
        n: Prompts.
        level: One-sided confidence of each bound (0.95).
    """

    value: float
    low: float
    high: float
    n: int
    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One condition of the certificate.

    Attributes:
        name: What is asked (``floor of A``).
        found: What was found, in words.
        needed: What it had to be, in words.
        holds: Whether it is.
        mends: Whether more prompts could change a no.
    """

    name: str
    found: str
    needed: str
    holds: bool
    mends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """The instrument can tell the difference that is asked for.

    Attributes:
        floor: Divergence of the less repeatable of the two servers from itself.
        checks: Every condition, all holding.
    """

    floor: Estimate
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class NoInstrument:
    """Nothing can be read off this set-up: on paper ``unsound``.

    Attributes:
        reasons: Why, one a condition that does not hold.
        checks: Every condition, where it came to that.
    """

    reasons: tuple[str, ...]
    checks: tuple[Check, ...] = ()


Instrument: TypeAlias = Sound | NoInstrument


@dataclass(frozen=True, slots=True)
class Same:
    """Every measure of every arm lies below its margin, shown by a sound instrument."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Different:
    """A difference is there, and it is not shown to lie below the margin."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """Neither was shown; the reasons say what more would take."""

    reasons: tuple[str, ...]


GateVerdict: TypeAlias = Same | Different | Inconclusive | NoInstrument | Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Places of one kind, of one comparison.

    Attributes:
        name: ``certain`` (first token at 0.9 or above), ``leaning`` (at 0.5 or above) or ``open``.
        positions: How many places; several pairs of captures count each.
        agreement: Share of them where both name the same first token.
        divergence: Mean of both directions.
        thin: Share of them where the shared candidates hold less than 0.9 on one side.
    """

    name: str
    positions: int
    agreement: float
    divergence: float
    thin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One comparison over all of its places.

    Attributes:
        name: ``A against itself``, ``B against itself``, ``A against B`` or ``positive control``.
        pairs: The captures that were compared (``A1-B1``).
        positions: Places compared; several pairs count each.
        agreement: Share of places where both name the same first token.
        clear_flips: Share of places whose first tokens differ by more than noise worth the margin explains.
        forward, backward: Mean divergence of the second from the first, and of the first from the second.
        divergence: Mean of both, over prompts.
        p99, largest: Of a place.
        far: Places beyond 0.5 nat.
        coverage: Share of places where the shared candidates hold at least 0.9 on both sides.
        groups: The same by kind of place.
    """

    name: str
    pairs: tuple[str, ...]
    positions: int
    agreement: float
    clear_flips: float
    forward: float
    backward: float
    divergence: Estimate
    p99: float
    largest: float
    far: int
    coverage: float
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """One measure of A against B in excess of its control.

    Attributes:
        name: ``divergence``, ``clear flips`` or ``far tail``.
        unit: ``nat``, or ``""`` for a share.
        margin: What does not matter.
        excess: Test minus control, at the level that this look may spend; its upper bound decides for the same.
        above: The lower bound with every test of the gate counted; it decides for different.
        minimum: The excess that so many prompts of this spread find 4 times in 5; 0 where they have no spread.
        p: One-sided, by flipping the signs of prompts: exact where A and B are the same, however heavy the tails.
        decided: ``same``, ``different`` or ``""``.
        prompts_needed: How many would settle it at this spread; 0 where it is settled, or nothing can be said.
    """

    name: str
    unit: str
    margin: float
    excess: Estimate
    above: float
    minimum: float
    p: float
    decided: str
    prompts_needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedArm:
    """What one arm says.

    Attributes:
        arm: Which.
        verdict: Of this arm alone.
        instrument: Its certificate; ``None`` where the data could not be read.
        figures: Every comparison that could be made.
        tests: Every measure; empty where the data could not be read.
    """

    arm: Arm
    verdict: GateVerdict
    instrument: Instrument | None = None
    figures: tuple[Figures, ...] = ()
    tests: tuple[Tested, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the gate says.

    Attributes:
        plan: What was fixed beforehand.
        look: Which look this is, from 1.
        prompts: How many prompts were in.
        verdict: Of all arms together.
        arms: One for each of the plan's.
    """

    plan: DistributionPlan
    look: int
    prompts: int
    verdict: GateVerdict
    arms: tuple[JudgedArm, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """The attempt ends here; what was judged is final."""

    judged: Judged


@dataclass(frozen=True, slots=True)
class Continue:
    """The attempt goes on.

    Attributes:
        judged: How it stands, which is no verdict.
        prompts: How many prompts must be in for the next look.
    """

    judged: Judged
    prompts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """How much must be measured.

    Attributes:
        prompts: How many.
        because: Which measure asks for so many, and by what assumption.
        each: Prompts by measure.
    """

    prompts: int
    because: str
    each: Mapping[str, int]
