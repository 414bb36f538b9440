"""What keeps a lack from doing harm: what stands before its line, and what the engine itself asks about the very thing."""

import ast
import re

from dayzero.audit.python.bindings import FUNCTIONS
from dayzero.audit.python.context import Condition, is_constant
from dayzero.audit.python.lack import Keyword, Lack
from dayzero.audit.python.signatures import Misfit
from dayzero.audit.python.study import Study, stands_in
from dayzero.audit.python.values import Absent, FunctionValue
from dayzero.audit.python_source import last_name, nodes_of

_ASKS = re.compile(r"(?:^|_)(?:has|is|can|supports?|supported|available|enabled)(?:_|$)")
_PROBES = {"hasattr", "getattr", "find_spec", "supports_kw"}


def guarded(study: Study, lack: Lack) -> str:
    """Say what keeps the lack from doing harm; ``""`` where nothing does."""
    if lack.context.catches(lack.raised):
        return f"{lack.raised} is caught around it"
    if isinstance(lack.what, Misfit) and lack.keywords and not lack.what.missing and not lack.what.surplus:
        reasons = [_kept(study, frozenset({one.name}), _around(one, lack)) for one in lack.keywords]
        return reasons[0] if all(reasons) else _kept_before(study, lack)
    return _kept(study, lack.words, lack.context.conditions) or _probed(lack) or _kept_before(study, lack)


def _kept_before(study: Study, lack: Lack) -> str:
    """Say what keeps everybody away who leads to the line; ``""`` where somebody gets there."""
    for places in study.approaches.of(lack.context.scope):
        reasons = [_kept(study, lack.words, one.conditions) for one in places]
        if all(reasons):
            return f"{reasons[0]}, before it is called at {places[0].scope.module.file}"
    return "it stands in for an import that is there" if stands_in(study, lack.line, lack.context.scope) else ""


def _around(keyword: Keyword, lack: Lack) -> tuple[Condition, ...]:
    return tuple(dict.fromkeys((*keyword.context.conditions, *lack.context.conditions)))


def _kept(study: Study, words: frozenset[str], conditions: tuple[Condition, ...]) -> str:
    for one in conditions:
        answer = study.gates.truth(one.test, one.scope, {})
        if answer is not None and answer != one.holds:
            return f"it is not reached on this build: {_short(one.test)} is {answer}"
        if words & study.gates.words(one.test, one.scope):
            return f"{_short(one.test)} looks for it first"
    return ""


def _probed(lack: Lack) -> str:
    """Look whether the file probes for the very name elsewhere, as one does that keeps the answer in a flag."""
    if isinstance(lack.what, Absent) and lack.what.kind == "module":
        return ""
    for node in nodes_of(lack.module.tree):
        match node:
            case ast.Call(args=[_, ast.Constant(value=str() as word), *_]) if word in lack.words:
                if last_name(node.func) in _PROBES:
                    return f"the file probes for it at line {node.lineno}"
            case _:
                continue
    return ""


def lane_closed(study: Study, lack: Lack) -> str:
    """Look whether the class says by itself that it cannot serve on this build: then another one is chosen."""
    owner = lack.context.scope.owner
    body = owner.node.body if owner and owner.node else []
    for method in body:
        if isinstance(method, FUNCTIONS) and owner and _ASKS.search(method.name) and not is_constant(method):
            definition = owner.inner(method).definition()
            if definition and study.gates.function(FunctionValue(definition)) is False:
                return f"{owner.qualname}.{method.name} is False on this build, so that another lane is taken"
    return ""


def refused(study: Study, lack: Lack) -> tuple[str, str] | None:
    """Name the class around a line whose constructor asks for something that this build lacks, and what it asks."""
    owner = lack.context.scope.owner
    body = owner.node.body if owner and owner.node else []
    made = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    for statement in made[0].body if made and owner else []:
        match statement:
            case ast.Assert(test=test):
                wanted_to_hold, asked = True, test
            case ast.If(test=test, body=[*_, ast.Raise()]):
                wanted_to_hold, asked = False, test
            case _:
                continue
        answer = study.gates.truth(asked, owner.inner(made[0]), {}) if owner else None
        if owner and answer is not None and answer != wanted_to_hold:
            return owner.qualname, _short(asked if wanted_to_hold else ast.UnaryOp(op=ast.Not(), operand=asked))
    return None


def foreseen(study: Study, absent: Absent) -> str:
    """Name a probe of the engine that is false because of the very thing."""
    for lane in study.lanes:
        if (lane.lost.owner, lane.lost.name) == (absent.owner, absent.name):
            return lane.probe.qualname
    return ""


def fail_open(study: Study, lack: Lack) -> str:
    """Name a gate on the way, or in the file, that checks the callee's name and not what the call passes."""
    if not isinstance(lack.what, Misfit):
        return ""
    callee = lack.what.callee.qualname.split(".")[0]
    scope = study.world.scope(lack.module.name)
    for node in nodes_of(lack.module.tree) if scope else ():
        if isinstance(node, ast.Call) and _ASKS.search(last_name(node.func)) and scope:
            value = study.world.in_scope(scope, last_name(node.func))
            if isinstance(value, FunctionValue) and callee in study.gates.words(node, scope):
                return (
                    f"the gate {last_name(node.func)} ({value.definition.place()}) looks only whether {callee} is there"
                )
    return ""


def _short(test: ast.expr) -> str:
    text = " ".join(ast.unparse(test).split())
    return text if len(text) <= 60 else f"{text[:60]}..."  # noqa: PLR2004  (fits a line)
