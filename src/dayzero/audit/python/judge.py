"""How bad is a lack? Look at what guards it, at whether every start gets there, and at what it depends on."""

import ast
import re
from dataclasses import dataclass

from dayzero.audit.finding import Applies, Finding, Severity
from dayzero.audit.python.approach import outermost
from dayzero.audit.python.chosen import by_flags
from dayzero.audit.python.conditions import (
    Served,
    flags_apply,
    flags_of,
    gpu_applies,
    gpu_of,
    layers_apply,
    layers_of,
    model_applies,
    model_of,
    named_by_model,
    one_value_asked,
    otherwise_chosen,
    words_of,
)
from dayzero.audit.python.context import Condition
from dayzero.audit.python.guards import fail_open, foreseen, guarded, lane_closed, refused
from dayzero.audit.python.lack import Lack
from dayzero.audit.python.reach import Way
from dayzero.audit.python.signatures import Misfit
from dayzero.audit.python.study import Study, at_own_pin, wanted
from dayzero.audit.python.values import Absent

_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    severity: Severity
    because: str = ""
    when: str = ""
    applies: Applies = Applies.UNKNOWN


def judge(study: Study, lack: Lack, subject: Served, rule: str, said: str = "") -> Finding:
    """Make a finding of a lack; ``said`` are other words for what is lacking."""
    answer = _judged(study, lack, subject)
    library = study.distribution_of(_asked_module(lack))
    pinned = wanted(study.asker, library) if library else ""
    resolution = f"Use a {library.name if library else 'library'} that has it, or another {study.asker.name}."
    if library and pinned and not at_own_pin(study.asker, library):
        resolution = f"Install {library.name}{pinned}, which {study.asker} asks for."
    return Finding(
        rule=rule,
        severity=answer.severity,
        message=f"{said or describe(lack, str(library) if library else '')}{answer.because}",
        engine=lack.place,
        library=lack.what.callee.place() if isinstance(lack.what, Misfit) else lack.what.place,
        resolution=resolution,
        when=answer.when,
        applies=answer.applies,
    )


def describe(lack: Lack, library: str) -> str:
    """Say what is lacking in one sentence."""
    on = f" in {library}" if library else ""
    match lack.what:
        case Absent(kind="module", name=name):
            return f"there is no module {name}{on}"
        case Absent(kind="name", owner=owner, name=name):
            return f"the module {owner} has no name {name}{on}"
        case Absent(kind=kind, owner=owner, name=name):
            return f"{owner} has no {kind} {name}{on}"
        case Misfit(callee=callee, unexpected=unexpected, missing=missing, surplus=surplus):
            said = [f"does not take {', '.join(unexpected)}"] if unexpected else []
            said += [f"needs {', '.join(missing)}, which the call does not give"] if missing else []
            said += [f"takes {surplus} arguments by position fewer than the call gives"] if surplus else []
            return f"{callee.module.name}.{callee.qualname} {' and '.join(said)}{on}"


def concerns(study: Study, module: str, subject: Served) -> bool:
    """Say whether what is in a module of the asker may matter to a subject.

    It may where a start may import it, or where its place does not show that it is for another GPU, model or kind of layer.
    """
    path = study.installed.python.modules[module].path
    fit = (
        gpu_applies(gpu_of(path, "", ()), subject.capability),
        model_applies(model_of(path), subject),
        layers_apply(path, subject),
    )
    elsewhere = Applies.NO in fit or bool(study.loads.for_others(module, subject))
    return study.reach.may_import(module) or not elsewhere


def _judged(  # noqa: PLR0911  (one answer a reason)
    study: Study, lack: Lack, subject: Served
) -> _Judgement:
    guard = guarded(study, lack)
    if guard:
        return _Judgement(severity=Severity.GUARDED, because=f" ({guard})")
    if outermost(lack.context.scope) is None:
        return _of_module(study, lack, subject)
    outer = _broken(study, lack)
    if outer is not None:
        return _of_module(study, outer, subject)
    if lane := lane_closed(study, lack):
        return _Judgement(severity=Severity.DOWNGRADE, because=f"; {lane}")
    if refusal := refused(study, lack):
        owner, test = refusal
        return _Judgement(
            severity=Severity.OPT_IN,
            because=f"; {owner} refuses by itself: {test} is False",
            when=f"{owner} is made although {test} is False",
            applies=Applies.UNKNOWN,
        )
    if isinstance(lack.what, Absent) and (probe := foreseen(study, lack.what)):
        return _Judgement(
            severity=Severity.OPT_IN,
            because=f"; {probe}() is False on this build",
            when=f"{lack.context.scope.qualname} is chosen although {probe}() is False",
            applies=Applies.UNKNOWN,
        )
    setting = named_by_model(lack.what.name, subject) if isinstance(lack.what, Absent) else ""
    if setting and isinstance(lack.what, Absent) and lack.what.kind == "member":
        return _Judgement(
            severity=Severity.START,
            because=", and nothing looks whether it is there",
            when=f"the model's {setting} is {lack.what.name.lower()}",
            applies=Applies.YES,
        )
    way = study.reach.called(lack.context.scope)
    started = _at_start(study, lack, way, subject) if way is not None else None
    return started or _on_path(study, lack, subject)


def _of_module(study: Study, lack: Lack, subject: Served) -> _Judgement:
    module = lack.module.name
    way = study.reach.imported(module)
    if way is not None:
        through = f" from {way.through[0]}" if way.through else ""
        return _Judgement(severity=Severity.START, because=f"; every start imports {module}{through}")
    with_model = study.reach.imported_with(module, _architectures(subject))
    if with_model is not None:
        return _Judgement(
            severity=Severity.START,
            because=f"; loading the model imports {module}",
            when=f"the model is {', '.join(_architectures(subject))}",
            applies=Applies.YES,
        )
    loader = study.reach.loader(module)
    if loader and loader.caught:
        return _Judgement(
            severity=Severity.DOWNGRADE,
            because=f"; {module} cannot be imported, and what {loader.place} names is passed over: "
            f"{' and '.join(map(str, loader.caught))} take that as an answer",
        )
    found = _on_path(study, lack, subject)
    when = found.when if found.applies is Applies.NO else f"{module} is imported; {found.when}".removesuffix("; ")
    return _Judgement(severity=found.severity, because=found.because, when=when, applies=found.applies)


def _at_start(study: Study, lack: Lack, way: Way, subject: Served) -> _Judgement | None:
    """Judge a line that a function called at every start leads to; ``None`` where a condition may keep it away."""
    conditions = (*lack.context.conditions, *way.conditions)
    gpu = gpu_of("", "", conditions)
    for one in way.conditions:
        answer = study.gates.truth(one.test, one.scope, {})
        if answer is not None and answer != one.holds:
            return None
    if any(_off_by_default(study, flag) for flag in flags_of(conditions)) or study.defaults.closing(conditions):
        return None
    if one_value_asked(way.conditions) or _sometimes(study, lack):
        return None
    if any(
        not _says_gpu(one) and study.gates.truth(one.test, one.scope, {}) is None for one in lack.context.conditions
    ):
        return None
    applies = gpu_applies(gpu, subject.capability)
    through = f"; every start calls it from {way.through[0]}" if way.through else ""
    severity = Severity.PATH if applies is Applies.NO else Severity.START
    return _Judgement(severity=severity, because=through, when=gpu, applies=applies)


def _sometimes(study: Study, lack: Lack) -> bool:
    """Say whether a call fits unless it is given a keyword, and whether it is given each of these only under a condition."""
    if not isinstance(lack.what, Misfit) or not lack.keywords or lack.what.missing or lack.what.surplus:
        return False
    return all(
        any(
            one not in lack.context.conditions and study.gates.truth(one.test, one.scope, {}) is not one.holds
            for one in word.context.conditions
        )
        for word in lack.keywords
    )


def _says_gpu(condition: Condition) -> bool:
    return "capability" in ast.unparse(condition.test)


def _off_by_default(study: Study, flag: str) -> bool:
    pattern = re.compile(rb"\b" + re.escape(flag.encode()) + rb"\s*:\s*[\w\[\]| ]+=\s*False\b")
    python = study.installed.python
    return any(
        pattern.search(python.read(name))
        for package in study.packages
        for name in python.holding(f"{flag}:".encode(), below=package)
    )


def _on_path(study: Study, lack: Lack, subject: Served) -> _Judgement:
    conditions = tuple(
        dict.fromkeys((*lack.context.conditions, *(c for k in lack.keywords for c in k.context.conditions)))
    )
    path, names = lack.place.file, lack.context.scope.qualname
    closing = _closing(study, lack, conditions)
    flags = (*flags_of(conditions), *closing)
    gpu, model = gpu_of(path, names, conditions), model_of(path)
    opt_in = bool(flags) or lack.context.foresees(lack.raised)
    said = [
        word for word in (gpu, f"model {model}" if model else "", *list(words_of(conditions))[-_MOST_SHOWN:]) if word
    ]
    said += [f"{closing[0]} is not at its default"] if closing else []
    said = said or [f"{names or lack.module.name} runs"]
    layers = layers_apply(path, subject)
    fit = (gpu_applies(gpu, subject.capability), model_applies(model, subject), layers)
    said = [f"model with {layers_of(path)}"] if layers is Applies.NO else said
    applies = Applies.NO if Applies.NO in fit else Applies.UNKNOWN
    if chosen := otherwise_chosen(_approaching(study, lack, conditions), subject):
        applies, said = Applies.NO, [chosen]
    if gpu and model and set(fit) == {Applies.YES}:
        applies = Applies.YES
    if opt_in and applies is not Applies.NO:
        applies = flags_apply(flags, subject)
    if applies is Applies.UNKNOWN and (told := by_flags(study.installed.python, lack.module, subject)):
        applies, said = told[0], [told[1], *said]
    if applies is Applies.UNKNOWN and (others := study.loads.for_others(lack.module.name, subject)):
        applies = Applies.NO
        said = [f"model {' or '.join(others[:_MOST_SHOWN])}, whose files alone lead here"]
    open_gate = fail_open(study, lack)
    return _Judgement(
        severity=Severity.OPT_IN if opt_in else Severity.PATH,
        because=f"; {open_gate}" if open_gate else "",
        when=", ".join(said),
        applies=applies,
    )


def _approaching(study: Study, lack: Lack, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Give what must hold to get to a line, with what stands before the only call of its function."""
    single = (places[0].conditions for places in study.approaches.of(lack.context.scope) if len(places) == 1)
    return (*conditions, *(one for group in single for one in group))


def _closing(study: Study, lack: Lack, conditions: tuple[Condition, ...]) -> tuple[str, ...]:
    """Name the settings that must be changed to get to a line; none where the defaults lead there, or may."""
    own = study.defaults.closing(conditions)
    if own:
        return own
    for places in study.approaches.of(lack.context.scope):
        closed = [study.defaults.closing(one.conditions) for one in places]
        if all(closed):
            return tuple(dict.fromkeys(name for names in closed for name in names))
    return ()


def _architectures(subject: Served) -> tuple[str, ...]:
    named = (subject.model or {}).get("architectures")
    return tuple(one for one in named if isinstance(one, str)) if isinstance(named, list) else ()


def _broken(study: Study, lack: Lack) -> Lack | None:
    """Find what breaks the import of the file: then nothing in it runs."""
    for one in study.lacks:
        if one.module is lack.module and outermost(one.context.scope) is None and not guarded(study, one):
            return one
    return None


def _asked_module(lack: Lack) -> str:
    return lack.what.callee.module.name if isinstance(lack.what, Misfit) else lack.what.owner
