"""Size a model on GPUs: from what was asked, or what a log says was asked, to the answer, and what would make it fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.checkpoint_files import read_checkpoint
from dayzero.core.errors import InputError
from dayzero.core.hardware import System, parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Place, Proven
from dayzero.engines.llamacpp.gguf_tensors import read_gguf_tensors
from dayzero.fit.cheapest import Remedy, longest_context, remedies, smallest_system
from dayzero.fit.check import fit
from dayzero.fit.checkpoint import Checkpoint, Unknown
from dayzero.fit.compare import Comparison, compare, judged, measured_figures
from dayzero.fit.memory_log import MemoryLog, Quantity
from dayzero.fit.model import FitPlan, Report
from dayzero.fit.sweep import Swept, sweep
from dayzero.wiring.definitions import package, package_file, package_folders
from dayzero.wiring.fit_packages import FiledRun, filed_run, pinned_checkpoint
from dayzero.wiring.fit_systems import NEAR, elsewhere, kind_with, large_enough
from dayzero.wiring.memory_logs import memory_log
from dayzero.wiring.plugins import memory_model, memory_model_names

DEFAULT_ENGINE = "vllm==0.27.1"
_VERSIONS = {"vllm": "0.27.1", "sglang": "0.5.10"}  # taken where a log does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked on the command line; what is left out is taken from the package or the log.

    Attributes:
        target: Package, ``config.json`` or folder; ``""`` where only a log is given.
        engine: ``NAME==VERSION``, or ``""``.
        system: ``8xb300``, or ``""``.
        tp, pp, dp: Degrees; 0 where not given.
        ep: Whether experts are spread.
        context: Longest request in tokens; 0 where not given.
        flags: The engine's own.
        log: A run's log, to be compared.
        explain: Whether every formula is wanted.
    """

    target: str = ""
    engine: str = ""
    system: str = ""
    tp: int = 0
    pp: int = 0
    dp: int = 0
    ep: bool = False
    context: int = 0
    flags: tuple[str, ...] = ()
    log: Path | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found.

    Attributes:
        name: What the model is called.
        engine: Which engine's memory model answered.
        plan: What was sized; ``None`` where there was no model to size.
        predicted: The answer without looking at the log.
        report: The answer; what the log measured replaces what was computed.
        comparison: Predicted beside actual, where a log was given.
        differences: What was asked otherwise than the log's run, so that it does not decide.
        evidence: Where the run is filed that decides; ``""`` where none does.
    """

    name: str
    engine: str
    plan: FitPlan | None
    predicted: Report | None
    report: Report
    comparison: Comparison | None
    differences: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question with what the package says filled in."""

    name: str
    engine: str
    version: str
    checkpoint: Checkpoint | Unknown
    system: str
    spread: Mapping[str, int]
    flags: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    explain: bool = False


def recipe_of(target: str) -> Recipe | None:
    """Give the recipe where a target is a package, and not a model's own files."""
    path = Path(target)
    if path.suffix == ".json" or (path.is_dir() and not (path / "package.toml").is_file()):
        return None
    if path.suffix == ".gguf" or (path.is_file() and path.suffix != ".toml"):
        return None
    if not path.exists() and not any((folder / target / "package.toml").is_file() for folder in package_folders()):
        raise InputError(
            f"{target} is neither a package, nor a config.json, nor a folder",
            hint="Give a model's config.json, the folder with its weights, or a package's name.",
        )
    return package(target).recipe


def sizing(name: str) -> Callable[[FitPlan], Report]:
    """Give an engine's memory model with its judgement; it is loaded once, for any number of plans."""
    if name not in memory_model_names():
        return lambda plan: fit(
            Unknown(
                reason=f"no memory model of {name} is installed", place=Place(artifact="", file=plan.checkpoint.source)
            )
        )
    model = memory_model(name)
    return lambda plan: fit(model.budget(plan))


def answer(question: Question) -> Answer:
    """Answer one question.

    Raises:
        InputError: Something that was given cannot be used, or something that is needed was not given.
    """
    log = memory_log(question.log) if question.log is not None else None
    asked = _asked(question, log)
    filed = _filed(question)
    if filed is not None:
        return _as_filed(asked, filed)
    if isinstance(asked.checkpoint, Unknown):
        return _unknown(asked, log, str(question.log or ""), asked.checkpoint)
    plan = _plan(asked, asked.checkpoint, log)
    predicted = sizing(asked.engine)(plan)
    if log is None:
        return Answer(
            name=asked.name, engine=asked.engine, plan=plan, predicted=predicted, report=predicted, comparison=None
        )
    return _beside(asked, plan, predicted, log, str(question.log))


def _filed(question: Question) -> FiledRun | None:
    """Find a filed run of a package that is asked about as it stands; a change to it is another recipe."""
    if not question.target or replace(question, explain=False) != Question(target=question.target):
        return None
    recipe = recipe_of(question.target)
    if recipe is None or not recipe.system.accelerators:
        return None
    return filed_run(package(question.target), package_file(question.target))


def _as_filed(asked: _Asked, filed: FiledRun) -> Answer:
    """Let a filed run decide, beside what was computed where the model's tensors are known."""
    if isinstance(asked.checkpoint, Unknown):
        found = _unknown(asked, filed.log, str(filed.file), asked.checkpoint)
    else:
        plan = _plan(asked, asked.checkpoint, None)
        found = _beside(asked, plan, sizing(asked.engine)(plan), filed.log, str(filed.file))
    return replace(found, comparison=None, evidence="" if found.differences else filed.words)


def _beside(asked: _Asked, plan: FitPlan, predicted: Report, log: MemoryLog, log_name: str) -> Answer:
    differences = _differences(asked, plan, log)
    report = predicted
    if not differences:
        measured = replace(plan, measured=measured_figures(log, log_name))
        report = judged(sizing(asked.engine)(measured), log, log_name)
    return Answer(
        name=asked.name,
        engine=asked.engine,
        plan=plan,
        predicted=predicted,
        report=report,
        comparison=compare(predicted, log),
        differences=differences,
    )


@dataclass(frozen=True, slots=True)
class WaysOut:
    """What would make it fit: changes on the same GPUs, the cheapest first, and the smallest system on which it does."""

    changes: tuple[Remedy, ...] = ()
    smallest: Remedy | None = None


def ways_out(found: Answer) -> WaysOut:
    """Say what would make it fit; nothing where it does, or where nothing could be sized."""
    plan, name = found.plan, found.engine
    if plan is None or isinstance(found.report.verdict, Proven) or not found.report.ranks:
        return WaysOut()
    size = sizing(name)
    changes = remedies(plan, memory_model(name).cheaper(plan), size)
    shorter = longest_context(plan, size)
    others = replace(plan, measured=())
    return WaysOut((*changes, *([shorter] if shorter else [])), smallest_system(elsewhere(others), size))


def swept(question: Question) -> tuple[str, str, tuple[Swept, ...]] | None:
    """Size a model on every known system that could hold it, or in every spread over the one that is given.

    Returns:
        The model's name, the engine's name and version, and the rows; ``None`` where it is not known what the model stores.

    Raises:
        InputError: See :func:`answer`.
    """
    asked = _asked(question, None)
    if isinstance(asked.checkpoint, Unknown):
        return None
    systems = (parse_system(asked.system),) if asked.system else tuple(large_enough(asked.checkpoint.size))
    plan = FitPlan(
        checkpoint=asked.checkpoint,
        system=systems[0],
        parallelism=Parallelism(),
        version=asked.version,
        flags=asked.flags,
        env=dict(asked.env),
        context=asked.spread.get("context"),
    )
    return asked.name, f"{asked.engine} {asked.version}", sweep(plan, systems, sizing(asked.engine))


def _asked(question: Question, log: MemoryLog | None) -> _Asked:
    recipe = recipe_of(question.target) if question.target else None
    name, version = _engine(question, recipe, log)
    stated = log.stated if log is not None else None
    packed, packed_flags = _told(name, recipe.flags if recipe else ())
    logged, logged_flags = _told(name, stated.flags if stated else ())
    typed, typed_flags = _told(name, question.flags)
    given = {key: getattr(question, key) for key in ("tp", "pp", "dp", "context") if getattr(question, key)}
    _said_once(given, typed)
    spread = {
        **(_spread(recipe.parallelism) if recipe else {}),
        **packed,
        **(dict(stated.parallelism) if stated else {}),
        **logged,
        **typed,
        **given,
        **({"ep": 1} if question.ep else {}),
    }
    target = question.target or _model_here(stated.model if stated else "")
    return _Asked(
        name=recipe.model.name if recipe else _name(target or (stated.model if stated else "")),
        engine=name,
        version=version,
        checkpoint=_checkpoint(target, recipe, stated.model if stated else ""),
        system=question.system or (_system_name(recipe) if recipe else ""),
        spread=spread,
        flags=(*packed_flags, *logged_flags, *typed_flags),
        explain=question.explain,
        env=(*(stated.env if stated else ()), *(recipe.env if recipe else ())),
    )


def _told(name: str, flags: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
    return memory_model(name).spread_in(flags) if name in memory_model_names() else ({}, flags)


def _said_once(options: Mapping[str, int], flags: Mapping[str, int]) -> None:
    for name in options.keys() & flags.keys():
        if options[name] != flags[name]:
            raise InputError(
                f"--{name} is {options[name]}, and {flags[name]} in the engine's flags", hint="Say it once."
            )


def _name(target: str) -> str:
    """Call a model by its folder, or by its file."""
    path = Path(target)
    folder = path.resolve().parent.name if path.name == "config.json" else ""
    return folder or path.name or "the model"


def _engine(question: Question, recipe: Recipe | None, log: MemoryLog | None) -> tuple[str, str]:
    text = question.engine
    if not text and log is not None:
        text = f"{log.engine}=={log.stated.version}" if log.stated.version else log.engine
    if not text and recipe is not None:
        text = f"{recipe.engine.engine}=={recipe.engine.version}"
    name, _, version = (text or DEFAULT_ENGINE).partition("==")
    if not name or (question.engine and not version):
        raise InputError(f"not an engine's version: {text!r}", hint=f"Write it as {DEFAULT_ENGINE}.")
    return name, version or _VERSIONS.get(name, "")


def _system_name(recipe: Recipe) -> str:
    system = recipe.system
    return f"{system.nodes}x{system.accelerators}x{system.accelerator}" if system.accelerators else ""


def _spread(parallelism: Parallelism) -> dict[str, int]:
    degrees = {"tp": parallelism.tp, "pp": parallelism.pp, "dp": parallelism.dp}
    return {**degrees, **({"ep": 1} if parallelism.ep else {})}


def _model_here(model: str) -> str:
    return model if model and Path(model).is_dir() else ""


def _checkpoint(target: str, recipe: Recipe | None, logged: str) -> Checkpoint | Unknown:
    if recipe is not None:
        return pinned_checkpoint(package(target), package_file(target))
    if not target:
        named = f"the log names the model {logged!r}, which is not on this disk" if logged else "no model is named"
        return Unknown(reason=f"{named}; give its config.json too", place=Place(artifact="", file="config.json"))
    return read_checkpoint(Path(target), read_gguf_tensors)


def _plan(asked: _Asked, checkpoint: Checkpoint, log: MemoryLog | None) -> FitPlan:
    system = _system(asked, log)
    spread = dict(asked.spread)
    ep, context = bool(spread.pop("ep", 0)), spread.pop("context", None)
    if not spread:
        spread["tp"] = system.gpus
    elif "tp" not in spread:
        others = spread.get("pp", 1) * spread.get("dp", 1)
        spread["tp"] = max(system.gpus // others, 1)
    return FitPlan(
        checkpoint=checkpoint,
        system=system,
        parallelism=Parallelism(tp=spread["tp"], pp=spread.get("pp", 1), dp=spread.get("dp", 1), ep=ep),
        version=asked.version,
        flags=asked.flags,
        env=dict(asked.env),
        context=context,
        explain=asked.explain,
    )


def _system(asked: _Asked, log: MemoryLog | None) -> System:
    if asked.system:
        return parse_system(asked.system)
    total = log.smallest(Quantity.TOTAL) if log is not None else None
    if total is None:
        raise InputError(
            "no system is given", hint="Say on which GPUs, as --system 8xb300; or --sweep for all that are known."
        )
    degrees = {name: degree for name, degree in asked.spread.items() if name in {"tp", "pp", "dp"}}
    count = Parallelism(tp=degrees.get("tp", 1), pp=degrees.get("pp", 1), dp=degrees.get("dp", 1)).ranks
    return parse_system(f"{count}x{kind_with(int(total.value))}")


def _differences(asked: _Asked, plan: FitPlan, log: MemoryLog) -> tuple[str, ...]:
    """Say what was asked otherwise than the log's run: then it is another recipe, and the log does not decide."""
    said: list[str] = []
    if asked.engine != log.engine:
        said.append(f"engine {asked.engine}, the log's is {log.engine}")
    if log.stated.version and asked.version != log.stated.version:
        said.append(f"version {asked.version}, the log's is {log.stated.version}")
    logged = log.parallelism
    if logged is not None and logged != plan.parallelism:
        said.append(f"parallelism {plan.parallelism}, the log's is {logged}")
    total = log.smallest(Quantity.TOTAL)
    if total is not None and abs(plan.system.memory.count - int(total.value)) > NEAR:
        said.append(f"{plan.system.name}, the log's GPUs have {Bytes(int(total.value))}")
    context = log.smallest(Quantity.CONTEXT)
    if plan.context is not None and context is not None and plan.context != int(context.value):
        said.append(f"context {plan.context:,}, the log's is {int(context.value):,}")
    return tuple(said)


def _unknown(asked: _Asked, log: MemoryLog | None, log_name: str, why: Unknown) -> Answer:
    report = fit(why)
    return Answer(
        name=asked.name,
        engine=asked.engine,
        plan=None,
        predicted=None,
        report=judged(report, log, log_name) if log is not None else report,
        comparison=compare(None, log) if log is not None else None,
    )
