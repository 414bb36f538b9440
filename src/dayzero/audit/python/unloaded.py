"""What does it do to the service that an extension cannot be loaded? Follow who imports it, and what they make of the error."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dayzero.audit.extensions import Extension, extensions, loaded_by
from dayzero.audit.finding import Applies, Finding, Severity
from dayzero.audit.installed import Installed
from dayzero.audit.python.bound import bound_by
from dayzero.audit.python.conditions import Served
from dayzero.audit.python.context import Context
from dayzero.audit.python.importers import Site, import_sites
from dayzero.audit.python.judge import judge
from dayzero.audit.python.lack import Lack
from dayzero.audit.python.scope import module_scope
from dayzero.audit.python.study import Study, engine_study
from dayzero.audit.python.values import Absent
from dayzero.audit.python_source import Module, import_source, last_name, nodes_of

_MOST_PACKAGES = 2  # an extension's own package, and the one above it


@dataclass(frozen=True, slots=True)
class _Asked:
    study: Study
    subject: Served
    extension: Extension
    rule: str
    said: str


def unloaded(installed: Installed, subject: Served, extension: Extension, rule: str, said: str) -> Finding:
    """Judge by its importers how bad it is that an extension cannot be loaded: the worst of them counts.

    Args:
        installed: What is installed.
        subject: What is served.
        extension: It.
        rule: The rule that asks.
        said: What is wrong, in words.
    """
    asked = _Asked(engine_study(installed), subject, extension, rule, said)
    found = tuple(_judged(asked, extension.module, _MOST_PACKAGES))
    unknown = Finding(rule, Severity.PATH, said, extension.place, None, "", f"what runs on {_last(extension.module)}")
    return min(found, key=_weight, default=unknown)


def called_upon(installed: Installed, subject: Served, extension: Extension, words: tuple[str, str, str]) -> Finding:
    """Judge how bad it is that an extension loads and is another than its callers were written for.

    Who catches the error of an import is not helped: the import succeeds, and a call fails.

    Args:
        installed: What is installed.
        subject: What is served.
        extension: It.
        words: The rule that asks, what is wrong, and what resolves it.
    """
    rule, said, advice = words
    asked = _Asked(engine_study(installed), subject, extension, rule, said)
    bare = (
        replace(one, context=replace(one.context, caught=frozenset())) for one in _sites(asked.study, extension.module)
    )
    unknown = Finding(
        rule, Severity.PATH, said, extension.place, None, advice, f"what runs on {_last(extension.module)}"
    )
    found = min((_at(asked, one) for one in bare), key=_weight, default=unknown)
    return replace(found, library=extension.place, resolution=advice)


def _weight(finding: Finding) -> tuple[bool, int]:
    """Order findings, the worst first; what does not concern the subject comes last."""
    conditional = finding.severity in {Severity.PATH, Severity.OPT_IN, Severity.UNVERIFIED}
    return (conditional and finding.holds is Applies.NO, list(Severity).index(finding.severity))


def _judged(asked: _Asked, module: str, depth: int) -> Iterator[Finding]:
    for site in _sites(asked.study, module):
        holder = site.context.scope.module
        finding = _at(asked, site)
        deeper = site.stops_import and depth > 1 and finding.severity is not Severity.START
        yield from (tuple(_judged(asked, holder.name, depth - 1)) if deeper else ()) or (finding,)
        if site.context.catches("ImportError"):
            for raised, reason in _raised(asked.study, holder, _flags(holder, site)):
                yield _at(replace(asked, said=f"{asked.said}; {reason}"), raised)


def _sites(study: Study, module: str) -> tuple[Site, ...]:
    """Find who imports a module from outside its package; where the package itself cannot do without it, that is who counts."""
    package = module.rpartition(".")[0]
    found = tuple(import_sites(study.installed.python, module))
    own = tuple(one for one in found if one.stops_import and one.context.scope.module.name == package)
    below = f"{module}."
    return own or tuple(one for one in found if not one.context.scope.module.name.startswith(below))


def _at(asked: _Asked, site: Site) -> Finding:
    module = asked.extension.module
    absent = Absent(kind="module", owner=module, name=module, place=asked.extension.place)
    lack = Lack(absent, site.context, site.line, "ImportError")
    return judge(asked.study, lack, asked.subject, asked.rule, asked.said)


def _last(module: str) -> str:
    return module.rpartition(".")[2]


def _flags(module: Module, site: Site) -> frozenset[str]:
    """Name what the handlers around an import say no by (``FAST_AVAILABLE = False``)."""
    tries = (one for one in nodes_of(module.tree) if isinstance(one, ast.Try))
    own = next((one for one in tries if any(inner.lineno == site.line for inner in one.body)), None)
    said = (node for handler in (own.handlers if own else ()) for node in handler.body)
    return frozenset(name for node in said for name in _denied(node))


def _denied(node: ast.stmt) -> Iterator[str]:
    for name, value in bound_by(node):
        match value:
            case ast.Constant(value=None | False):
                yield name
            case _:
                continue


def _raised(study: Study, module: Module, flags: frozenset[str]) -> Iterator[tuple[Site, str]]:
    """Find what raises while it is imported because no extension could be loaded, and say it."""
    python = study.installed.python
    values: dict[str, ast.expr] = {name: ast.Constant(value=False) for name in _all_denied(study, module)}
    if not flags & set(values):
        return
    words = tuple(one.encode() for one in sorted(flags))
    for name in python.holding(*words, below=module.name.split(".", 1)[0]):
        parsed = python.parsed(name)
        if not isinstance(parsed, Module) or not (parsed is module or _takes_from(parsed, module.name)):
            continue
        scope = module_scope(parsed)
        for node in parsed.tree.body:
            match node:
                case ast.If(test=test, body=[ast.Raise(exc=error) as raised]):
                    named = {one.id for one in nodes_of(test) if isinstance(one, ast.Name)}
                    if named & flags and study.gates.truth(test, scope, values):
                        how = last_name(error) if error is not None else "an error"
                        yield Site(Context(scope), raised.lineno), f"{parsed.place(raised.lineno)} raises {how}"
                case _:
                    continue


def _takes_from(module: Module, source: str) -> bool:
    return any(isinstance(one, ast.ImportFrom) and import_source(one, module) == source for one in module.tree.body)


def _all_denied(study: Study, module: Module) -> Iterator[str]:
    """Name the flags of a module whose extension cannot be loaded, or is not there."""
    installed = study.installed
    holder = installed.python.modules[module.name].distribution
    there = set(loaded_by(installed.runs, holder)) - set(extensions(installed).modules) | set(installed.python.modules)
    for node in module.tree.body:
        match node:
            case ast.Try(body=[ast.ImportFrom(names=names) as asked, *_], handlers=handlers):
                source = import_source(asked, module)
                if not asked.level or any(f"{source}.{one.name}" in there for one in names):
                    continue
                yield from (name for handler in handlers for one in handler.body for name in _denied(one))
            case _:
                continue
