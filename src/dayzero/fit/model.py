"""A memory budget, rank by rank, and the answer it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

from dayzero.core.hardware import HostMemory, System
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Verdict
from dayzero.fit.checkpoint import Checkpoint

FigureBasis: TypeAlias = Literal["computed", "measured", "estimated"]


class Component(Enum):
    """What takes memory on a GPU."""

    WEIGHTS = "weights"
    KV_CACHE = "kv_cache"
    ACTIVATIONS = "activations"
    GRAPHS = "graphs"
    OTHER = "other"


class State(Enum):
    """The answer with the ground it stands on: ``measured`` where what decides it was read from a run."""

    MEASURED_FITS = "measured-fits"
    COMPUTED_FITS = "computed-fits"
    MEASURED_DOES_NOT_FIT = "measured-does-not-fit"
    COMPUTED_DOES_NOT_FIT = "computed-does-not-fit"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One component on one rank.

    Attributes:
        component: What takes it.
        size: How much, the likeliest value.
        low: No less than this.
        high: No more than this.
        source: Where the figure comes from: a formula of an engine's version, or the line of a log.
        basis: ``computed`` from shapes, ``measured`` on a run, ``estimated`` from runs of other models.
    """

    component: Component
    size: Bytes
    low: Bytes
    high: Bytes
    source: str
    basis: FigureBasis


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """How one figure was worked out, for whoever wants to check it: ``name = expression = value``."""

    name: str
    expression: str
    value: Bytes
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where one kind of tensor goes.

    Attributes:
        name: As the checkpoint names it, without the layer's number.
        number: How many of them the rank's stage has.
        stored: Bytes that the checkpoint stores of them.
        held: Bytes that the rank holds of them.
        how: How the ranks share one.
        source: Where the engine says so.
    """

    name: str
    number: int
    stored: Bytes
    held: Bytes
    how: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBudget:
    """The memory of one GPU, or of several that hold the same.

    Attributes:
        rank: Which ones, in the engine's words (``TP 0-7``).
        count: How many they are.
        figures: One a component; :attr:`Component.KV_CACHE` is what the engine sets aside for the cache.
        request: What of the cache one request of the whole context takes.
        free: Free on the GPU before the engine allocates anything.
        free_source: Where that comes from.
        budget: What the engine lets itself use.
        late: What of the figures the engine allocates without counting it against its budget.
        limit_low: No less than this may be used, see ``limit``.
        limit_high: No more than this may be used.
        overcommitted: By how much, least and likeliest, all that the engine allocates exceeds what is free, with the cache
            at the size that the engine gives it.
        stated: The size of the cache is what the user asked for, not what is left.
        formulas: How the figures were worked out, where the plan asks for it.
        placements: Where the weights go, where the plan asks for it, the largest first.
    """

    rank: str
    count: int
    figures: tuple[Figure, ...]
    request: Figure
    free: Bytes
    free_source: str
    budget: Bytes
    late: Bytes
    limit_low: Bytes
    limit_high: Bytes
    overcommitted: tuple[Bytes, Bytes]
    stated: bool = False
    formulas: tuple[Formula, ...] = ()
    placements: tuple[Placement, ...] = ()

    def figure(self, component: Component) -> Figure:
        """Give the figure of one component."""
        return next(figure for figure in self.figures if figure.component is component)

    @property
    def needed(self) -> tuple[Bytes, Bytes, Bytes]:
        """Least, likeliest and most that the rank needs to serve one request of the whole context."""
        parts = (*(figure for figure in self.figures if figure.component is not Component.KV_CACHE), self.request)
        return (
            Bytes(sum(part.low.count for part in parts)),
            Bytes(sum(part.size.count for part in parts)),
            Bytes(sum(part.high.count for part in parts)),
        )

    @property
    def limit(self) -> Bytes:
        """What the rank may use: what is free, or the engine's budget with what it does not count, whichever is less."""
        return min(self.free, self.budget + self.late)

    @property
    def headroom(self) -> int:
        """Bytes of the limit that are left beside what is needed; negative where it falls short."""
        left = self.limit.count - self.needed[1].count
        likeliest = self.overcommitted[1].count
        return min(left, -likeliest) if likeliest else left


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an engine's memory model says of one plan.

    On all ranks together the weights are ``stored + replicated + added``.

    Attributes:
        ranks: Every kind of rank of one instance.
        context_tokens: Longest request, prompt and answer together.
        kv_tokens: Tokens that the engine says its cache holds; ``None`` where it would not start.
        max_concurrency: Requests of the whole context that the cache holds at once, as the engine prints it.
        stored: What the checkpoint stores of the weights that are loaded.
        replicated: Bytes of them that are held by more ranks than one, without the first.
        added: Bytes that no tensor of the checkpoint stores: padding, copies, other types; negative where these take less.
        notes: What the figures leave out or take for granted.
        advisories: What in the plan does not do what it seems to.
        uncounted: What takes more memory than is counted here, so that nothing proves that the plan fits.
    """

    ranks: tuple[RankBudget, ...]
    context_tokens: int
    kv_tokens: int | None
    max_concurrency: float | None
    stored: Bytes
    replicated: Bytes
    added: int
    notes: tuple[str, ...] = ()
    advisories: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """What is to be sized.

    Attributes:
        checkpoint: The model's tensors and its ``config.json``.
        system: Which GPUs, and how many.
        parallelism: How the model is spread over them; the flags must not say it again.
        version: The engine's version (``0.27.1``).
        flags: The engine's own settings, as words of a command line.
        env: Environment variables.
        context: Longest request in tokens; ``None`` for what the flags or the model say.
        measured: Figures that were read from a run of this plan; each replaces the one that would be computed, on every rank.
        explain: Give formulas and placements too.
    """

    checkpoint: Checkpoint
    system: System
    parallelism: Parallelism
    version: str
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    context: int | None = None
    measured: tuple[Figure, ...] = ()
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Whether a plan fits on its GPUs, and with what headroom on the tightest one."""

    verdict: Verdict
    state: State
    ranks: tuple[RankBudget, ...]
    kv_tokens: int | None
    context_tokens: int
    max_concurrency: float | None
    headroom: int
    notes: tuple[str, ...] = ()
    advisories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One part of the budget of a host without GPUs: what takes the memory, how much, and where the figure comes from."""

    name: str
    size: Bytes
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """The budget of one recipe in the memory of one host."""

    terms: tuple[Term, ...]
    memory: HostMemory
    verdict: Verdict

    @property
    def needed(self) -> Bytes:
        """Sum of all terms."""
        return Bytes(sum(term.size.count for term in self.terms))
