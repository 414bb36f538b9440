"""On which systems does a version run? Sized by its engine's memory model, once for all versions that ask the same."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dayzero.catalog.edition import DOES_NOT_FIT, FITS, UNKNOWN, SystemFit
from dayzero.catalog.model import Fit, FitState
from dayzero.core.accelerators import accelerator
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.hardware import System
from dayzero.core.package import Package
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import Sha256
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Proven, Refuted, Verdict
from dayzero.fit.cheapest import Sizing, spread
from dayzero.fit.checkpoint import Checkpoint, Unknown
from dayzero.fit.model import FitPlan, Report, State
from dayzero.wiring.fit import sizing
from dayzero.wiring.fit_packages import pinned_checkpoint
from dayzero.wiring.fit_systems import known_systems, usual_spreads
from dayzero.wiring.plugins import memory_model, memory_model_names

_CONFIG = "config.json"
_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD"}

# Flags of which no memory model asks anything; leaving them out lets packages that differ in nothing else share an answer.
_NO_MEMORY = frozenset({"--seed", "--served-model-name", "--host", "--port", "--api-key", "--uvicorn-log-level"})
_SAID = {
    FitState.MEASURED_FITS: (FITS, "measured"),
    FitState.COMPUTED_FITS: (FITS, "computed"),
    FitState.MEASURED_DOES_NOT_FIT: (DOES_NOT_FIT, "measured"),
    FitState.COMPUTED_DOES_NOT_FIT: (DOES_NOT_FIT, "computed"),
    FitState.UNKNOWN: (UNKNOWN, ""),
}
_MEASURED = frozenset({State.MEASURED_FITS, State.MEASURED_DOES_NOT_FIT})


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be sized, wherever it is to run; versions that ask the same share what was sized.

    Attributes:
        plan: The model and the settings; ``None`` where nothing can be sized.
        why: Why nothing can.
        size: The engine's memory model.
        sized: What was sized on which system in which way, and what the model said that does not divide so.
    """

    plan: FitPlan | None
    why: str
    size: Sizing | None = None
    sized: dict[tuple[System, Parallelism], Report | str] = field(
        default_factory=dict[tuple[System, Parallelism], Report | str]
    )


class FitTable:
    """Answers for many versions; what was sized once is not sized again."""

    def __init__(self) -> None:
        """Begin with no answer."""
        self._asked: dict[object, _Asked] = {}
        self._answers: dict[object, tuple[SystemFit, ...]] = {}

    def of(self, package: Package, definition: Path, own: Fit) -> tuple[SystemFit, ...]:
        """Say of every known system whether it holds the model, the recipe's own first.

        Args:
            package: The definition.
            definition: Its file: a model's configuration may lie beside it.
            own: What the ledger says of the recipe's own system; where it does not know, it is sized, too.
        """
        told, asked = self._ask(package, definition)
        spread_of = _spread(package, told)
        key = (id(asked), package.recipe.system, spread_of)
        if key not in self._answers:
            own_system = (_sized(package.recipe.system, asked, (spread_of,)),)
            self._answers[key] = (*own_system, *_on(asked, known_systems(), spread_of))
        sized, *others = self._answers[key]
        return (_own(package, own, sized), *(other for other in others if other.system != sized.system))

    def on(self, package: Package, definition: Path, system: System) -> SystemFit:
        """Say whether one system holds the model, also one that is not among the known ones."""
        told, asked = self._ask(package, definition)
        return next(iter(_on(asked, (system,), _spread(package, told))))

    def _ask(self, package: Package, definition: Path) -> tuple[Mapping[str, int], _Asked]:
        """Give how the flags spread the model, and what is to be sized; each is kept, so that its id stays its own."""
        recipe, config = package.recipe, definition.with_name(_CONFIG)
        beside = Sha256.of(config.read_bytes()) if config.is_file() else None
        told, flags = _told(recipe)
        engine = (recipe.engine.engine, recipe.engine.version)
        key = (recipe.model, beside, engine, _vendor(recipe.system), told.get("context"), flags, recipe.env)
        if key not in self._asked:
            self._asked[key] = _asked(package, definition, (told, flags))
        return told, self._asked[key]


def _vendor(system: System) -> str:
    """Name who makes a system's GPUs, ``""`` where it has none or their kind is not known."""
    try:
        return accelerator(system.accelerator).vendor if system.accelerators else ""
    except InputError:
        return ""


def _told(recipe: Recipe) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Take the flags apart into how they spread the model, and the others that may say something of memory."""
    flags = _flags(recipe.flags)
    if recipe.engine.engine not in memory_model_names():
        return {}, flags
    try:
        return memory_model(recipe.engine.engine).spread_in(flags)
    except InputError:
        return {}, flags  # the memory model says so again when it is asked for a size


def _spread(package: Package, told: Mapping[str, int]) -> Parallelism:
    stated = package.recipe.parallelism
    return Parallelism(
        tp=told.get("tp", stated.tp),
        pp=told.get("pp", stated.pp),
        dp=told.get("dp", stated.dp),
        ep=bool(told.get("ep", stated.ep)),
    )


def _flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    leave = False
    for word in flags:
        leave = (leave and not word.startswith("-")) or word.partition("=")[0] in _NO_MEMORY
        if not leave:
            kept.append(word)
    return tuple(kept)


def _asked(package: Package, definition: Path, settings: tuple[Mapping[str, int], tuple[str, ...]]) -> _Asked:
    recipe, (told, flags) = package.recipe, settings
    checkpoint = _why_not(recipe) or _checkpoint(package, definition)
    if isinstance(checkpoint, str):
        return _Asked(None, checkpoint)
    plan = FitPlan(
        checkpoint=checkpoint,
        system=recipe.system,
        parallelism=Parallelism(),
        version=recipe.engine.version,
        flags=flags,
        env=dict(recipe.env),
        context=told.get("context"),
    )
    return _Asked(plan, "", sizing(recipe.engine.engine))


def _why_not(recipe: Recipe) -> str:
    """Say why a recipe cannot be sized whatever its model is, ``""`` where it can."""
    if not recipe.system.accelerators:
        return "The recipe computes on the processor; whether its engine build takes GPUs was not looked at."
    if not _vendor(recipe.system):
        return f"No GPU kind called {recipe.system.accelerator} is known, so nothing was sized."
    name = recipe.engine.engine
    return "" if name in memory_model_names() else f"No memory model of {name} is installed, so nothing was sized."


def _checkpoint(package: Package, definition: Path) -> Checkpoint | str:
    """List the tensors of the model, or say why they cannot be listed."""
    model = package.recipe.model.name
    try:
        found = pinned_checkpoint(package, definition, caches=False)
    except InputError:
        return f"Not sized: what lies of {model} beside the definition cannot be read."
    except IntegrityError:
        return f"Not sized: a file of {model} that lies beside the definition is not the one that is pinned."
    return f"Not sized: {_without_paths(found)}." if isinstance(found, Unknown) else found


def _without_paths(unknown: Unknown) -> str:
    """Say why nothing is known of the tensors, without a path of the machine that builds the site."""
    reason = unknown.reason.partition("; ")[0].replace("are on this disk", "lie beside the definition")
    return reason if "/" not in reason else "the tensors of the model cannot be listed"


def _on(asked: _Asked, systems: Iterable[System], own: Parallelism) -> Iterator[SystemFit]:
    plan = asked.plan
    if plan is None:
        yield from (_row(system, UNKNOWN, "", asked.why) for system in systems)
        return
    vendor = _vendor(plan.system)
    for system in systems:
        if _vendor(system) != vendor:
            label = accelerator(system.accelerator).label
            yield _row(
                system,
                UNKNOWN,
                "",
                f"The engine build is for GPUs of {_VENDORS.get(vendor, vendor)}; on {label} it was not looked at.",
            )
        else:
            yield _sized(system, asked, _candidates(system, own))


def _candidates(system: System, own: Parallelism) -> tuple[Parallelism, ...]:
    """Give the recipe's own way to take all GPUs of a system, where it is one, and then the usual ways."""
    first = (own,) if own.ranks == system.gpus else ()
    return tuple(dict.fromkeys((*first, *usual_spreads(system))))


def _sized(system: System, asked: _Asked, spreads: tuple[Parallelism, ...]) -> SystemFit:
    """Size each way until one is proven to fit; one that is refuted says nothing while another is undecided."""
    plan = asked.plan
    if plan is None:
        return _row(system, UNKNOWN, "", asked.why)
    best: tuple[FitPlan, Report] | None = None
    trouble = "there is no way to spread the model over it"
    for way in spreads:
        candidate = replace(plan, system=system, parallelism=way)
        report = _report(candidate, asked)
        if isinstance(report, str):
            trouble = report
            continue
        if best is None or _rank(report.verdict) > _rank(best[1].verdict):
            best = candidate, report
        if isinstance(report.verdict, Proven):
            break
    return _row(system, UNKNOWN, "", f"Not sized: {trouble}.") if best is None else _answer(*best)


def _report(plan: FitPlan, asked: _Asked) -> Report | str:
    key = (plan.system, plan.parallelism)
    if key not in asked.sized and asked.size is not None:
        try:
            asked.sized[key] = asked.size(plan)
        except InputError as error:
            asked.sized[key] = error.message
    return asked.sized[key]


def _rank(verdict: Verdict) -> int:
    match verdict:
        case Proven():
            return 2
        case Refuted():
            return 0
        case _:
            return 1


def _answer(plan: FitPlan, report: Report) -> SystemFit:
    ground = "measured" if report.state in _MEASURED else "computed"
    sentence = f"With {spread(plan)}: {report.verdict.reason}."
    match report.verdict:
        case Proven():
            return _row(plan.system, FITS, ground, sentence)
        case Refuted():
            return _row(plan.system, DOES_NOT_FIT, ground, sentence)
        case _:
            return _row(plan.system, UNKNOWN, "", sentence)


def _row(system: System, state: str, ground: str, sentence: str, *, own: bool = False) -> SystemFit:
    kind = system.accelerator
    try:
        found = accelerator(kind) if kind else None
    except InputError:
        found = None
    gpu, words = (found.name, found.label) if found else (kind.lower(), kind)
    label = f"{system.accelerators} x {words}" if kind else f"no GPU, {system.memory} of memory"
    return SystemFit(
        system=_name(system, gpu),
        label=f"{system.nodes} x {label}" if system.nodes > 1 else label,
        gpu=gpu,
        count=system.gpus,
        nodes=system.nodes,
        state=state,
        ground=ground,
        sentence=sentence,
        own=own,
    )


def _name(system: System, gpu: str) -> str:
    """Name a system as it is asked for (``8xb200``), whatever the recipe calls it; one without GPUs keeps its name."""
    if not gpu:
        return system.name
    return f"{system.nodes}x{system.accelerators}x{gpu}" if system.nodes > 1 else f"{system.accelerators}x{gpu}"


def _own(package: Package, own: Fit, sized: SystemFit) -> SystemFit:
    """Let what the ledger says of the recipe's own system decide; where it knows nothing, what was sized."""
    if own.state is FitState.UNKNOWN and package.recipe.system.accelerators and sized.state != UNKNOWN:
        return replace(sized, own=True)
    state, ground = _SAID[own.state]
    return _row(package.recipe.system, state, ground, own.why, own=True)
