"""Does code refuse to go on beside the installed version of a library, because it demands a newer or an older one?"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed, PythonFiles, once
from dayzero.audit.python.conditions import values_given
from dayzero.audit.python.context import caught_by
from dayzero.audit.python.library_version import library_of
from dayzero.audit.python.reach import startup_of
from dayzero.audit.python.study import engine_study
from dayzero.audit.python_source import Module, import_source, last_name, statements_of
from dayzero.audit.requirements import asked_by
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place

_ID = "version-check"
_WORDS = (b"assert_pkg_version", b"require_version", b"version.parse", b"parse_version", b"__version__", b"Version(")
_SPEAKS = re.compile(
    rb"[<>]=?\s*(?:[\w.]+\.)?(?:parse\w*|Version)\(\s*[\"']v?\d"
    rb"|(?:parse\w*|Version)\(\s*[\"']v?[\d.]+[^\n]{0,20}\)\s*[<>]"
    rb"|\b(?:assert|require|check)_\w*version\w*\("
)
_HELPER = re.compile(r"(?:assert|require|check)_\w*version\w*")
_LITERAL = re.compile(r"v?\d+(\.\d+)*[\w.+]*")
_PARSES = {"parse", "parse_version", "Version"}
# What a library that is older or newer by this sign has to be instead.
_INSTEAD: Mapping[type[ast.cmpop], str] = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}
_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
_ENDS = {"ImportError", "Exception", "BaseException", "RuntimeError"}
_ON_CUDA = {"is_cuda", "_is_cuda"}
_BACKEND = "--attention-backend"
_Test: TypeAlias = tuple[ast.expr, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """Where a statement stands.

    Attributes:
        module: The module.
        function: The function around it, ``""`` for none.
        tests: What leads to it: each test, and the answer that does.
        versions: Local names that are versions of libraries.
        loop: Loops over texts that it is in: the loop's name, and the texts.
    """

    module: Module
    function: str = ""
    tests: tuple[_Test, ...] = ()
    versions: Mapping[str, Distribution]
    loop: tuple[str, tuple[str, ...]] = ("", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """Versions of a library that a line demands and that the installed one is not of."""

    library: Distribution
    specifier: SpecifierSet
    place: Place
    around: _Around


class VersionChecks:
    """Implements ``audit.rules.Rule``."""

    id: str = _ID
    question: str = "Does code refuse to go on beside the installed version of a library?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Find ``require_version("x>=1.2")``, ``assert_pkg_version("x", "1.2")`` and ``if version < "1.2": raise``."""
        for demand in _demands(subject.installed):
            answers = [(_answer(test, subject), holds, test) for test, holds in demand.around.tests]
            if not any(known is not None and known is not holds for known, holds, _ in answers):
                yield self._finding(subject, demand, [_short(test) for known, _, test in answers if known is None])

    def _finding(self, subject: Subject, demand: _Demand, open_to: list[str]) -> Finding:
        library, around = demand.library, demand.around
        started = _is_started(subject.installed, around)
        severity = (Severity.PATH if open_to else Severity.START) if started else Severity.OPT_IN
        used = [] if started else [f"{around.module.name} is used"]
        chosen = not started and around.module.name.rpartition(".")[2] == _quantization(subject.model)
        return Finding(
            self.id,
            severity,
            f"{around.module.artifact} demands {library.name}{demand.specifier}, and raises beside {library.version}",
            demand.place,
            Place(artifact=library.files.artifact, file="METADATA", quote=f"Version: {library.version}"),
            f"Install {library.name}{demand.specifier}.",
            ", ".join((*used, *open_to)),
            Applies.YES if severity is Severity.START or (chosen and not open_to) else Applies.UNKNOWN,
        )


@once
def _demands(installed: Installed) -> tuple[_Demand, ...]:
    """Look through all files, once for whatever is to be served with them."""
    python = installed.python
    found: list[_Demand] = []
    for name in python.holding(*_WORDS):
        if name in python.modules and _SPEAKS.search(python.text(name)):
            module = python.parsed(name)
            if isinstance(module, Module):
                found += _walked(installed, module.tree.body, _Around(module=module, versions={}))
    return tuple(found)


def _walked(installed: Installed, body: list[ast.stmt], around: _Around) -> Iterator[_Demand]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name, body=inner) | ast.AsyncFunctionDef(name=name, body=inner):
                yield from _walked(installed, inner, replace(around, function=name, tests=(), versions={}))
            case ast.ClassDef(body=inner) | ast.With(body=inner):
                yield from _walked(installed, inner, around)
            case ast.If():
                yield from _branched(installed, node, around)
            case ast.Try(body=inner, orelse=otherwise, finalbody=last):
                kept = [] if caught_by(node)[0] & _ENDS else inner
                yield from _walked(installed, [*kept, *otherwise, *last], around)
            case ast.For(target=ast.Name(id=name), iter=listed, body=inner):
                yield from _walked(installed, inner, replace(around, loop=(name, _texts(around.module, listed))))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                library = library_of(installed, around.versions, value)
                versions = {**around.versions, name: library} if library is not None else around.versions
                around = replace(around, versions=versions)
            case ast.Expr(value=ast.Call() as call):
                yield from _called(installed, call, around)
            case _:
                continue


def _branched(installed: Installed, node: ast.If, around: _Around) -> Iterator[_Demand]:
    if isinstance(node.body[-1], ast.Raise):
        yield from _compared(installed, node.test, around)
    yield from _walked(installed, node.body, replace(around, tests=(*around.tests, (node.test, True))))
    yield from _walked(installed, node.orelse, replace(around, tests=(*around.tests, (node.test, False))))


def _compared(installed: Installed, test: ast.expr, around: _Around) -> Iterator[_Demand]:
    """Find what a test that leads to ``raise`` demands: ``parse(x.__version__) < parse("1.2")``."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            for value in values:
                yield from _compared(installed, value, around)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _INSTEAD:
            sign, one, other = type(op), left, right
            if _literal(one):
                sign, one, other = _TURNED[sign], right, left
            library, literal = library_of(installed, around.versions, one), _literal(other)
            if library is not None and literal and not _literal(one):
                yield from _unmet(library, f"{_INSTEAD[sign]}{literal}", test.lineno, around)


def _called(installed: Installed, call: ast.Call, around: _Around) -> Iterator[_Demand]:
    name, word, keys = last_name(call.func), around.loop[0], around.loop[1]
    match call.args:
        case [ast.Constant(value=str(package)), ast.Constant(value=str(least)), *_] if _LITERAL.fullmatch(least):
            library = installed.find(package)
            if library is not None and _HELPER.fullmatch(name) and _is_helper(installed.python, around.module, name):
                yield from _unmet(library, f">={least}", call.lineno, around)
        case [ast.Constant(value=str(line)), *_] if name.startswith("require_version"):
            yield from _required(installed, line, call.lineno, around)
        case [ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=key)), *_] if (
            name.startswith("require_version") and key == word
        ):
            lines = _table(installed.python, around.module, table)
            for one in keys:
                yield from _required(installed, lines.get(one, ""), call.lineno, replace(around, tests=()))
        case _:
            return


def _required(installed: Installed, line: str, at: int, around: _Around) -> Iterator[_Demand]:
    try:
        wanted = Requirement(line)
    except InvalidRequirement:
        return
    library = installed.find(wanted.name)
    if library is not None:
        yield from _unmet(library, str(wanted.specifier), at, around)


def _unmet(library: Distribution, wanted: str, line: int, around: _Around) -> Iterator[_Demand]:
    try:
        specifier, own = SpecifierSet(wanted), Version(library.version)
    except (InvalidSpecifier, InvalidVersion):
        return
    # A source checkout says nothing of its version.
    if own.public != "0" and not specifier.contains(own, prereleases=True):
        place = around.module.place(line)
        yield _Demand(library=library, specifier=specifier, place=place, around=around)


def _literal(node: ast.expr) -> str:
    match node:
        case ast.Call(args=[ast.Constant(value=str(text))]) if last_name(node.func) in _PARSES:
            return text.removeprefix("v") if _LITERAL.fullmatch(text) else ""
        case _:
            return ""


def _is_helper(python: PythonFiles, near: Module, name: str) -> bool:
    """Say whether the helper of that name compares an installed version with its second argument and raises."""
    for one in python.holding(f"def {name}(".encode(), below=near.name.split(".", 1)[0]):
        module = python.parsed(one)
        for node in statements_of(module.tree) if isinstance(module, Module) else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                inside = list(ast.walk(node))
                less = any(isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Lt) for each in inside)
                return less and any(isinstance(each, ast.Raise) for each in inside)
    return False


def _texts(module: Module, node: ast.expr) -> tuple[str, ...]:
    """List the texts of a list that is written out, here or where the module binds its name."""
    if isinstance(node, ast.Name):
        bound = [
            one.value
            for one in module.tree.body
            if isinstance(one, ast.Assign) and last_name(one.targets[0]) == node.id
        ]
        return _texts(module, bound[0]) if len(bound) == 1 and not isinstance(bound[0], ast.Name) else ()
    listed = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return tuple(one.value for one in listed if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _table(python: PythonFiles, near: Module, name: str) -> Mapping[str, str]:
    """Read a table of requirements that a module imports: ``deps = {"numpy": "numpy>=1.17"}``."""
    sources = [
        import_source(one, near)
        for one in near.tree.body
        if isinstance(one, ast.ImportFrom) and any((each.asname or each.name) == name for each in one.names)
    ]
    for module in (python.parsed(one) for one in sources):
        for node in module.tree.body if isinstance(module, Module) else ():
            match node:
                case ast.Assign(targets=[ast.Name(id=own)], value=ast.Dict(keys=keys, values=values)) if own == name:
                    pairs = zip(keys, values, strict=True)
                    return {_text(key): _text(value) for key, value in pairs if key is not None}
                case _:
                    continue
    return {}


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_started(installed: Installed, around: _Around) -> bool:
    """Say whether every start gets to the line, if its tests lead there."""
    module, engine = around.module.name, installed.engine
    top = module.split(".", 1)[0]
    holder = installed.python.packages.get(top)
    if holder is engine:
        if around.function:
            return around.function in startup_of(engine.name, frozenset({top})).functions
        return engine_study(installed).reach.imported(module) is not None
    needed = holder is not None and any(one.name == holder.name for one in asked_by(engine))
    asked = module == top or re.search(
        rb"^(?:from \. import |from \.|import )[^\n]*\b" + module.rpartition(".")[2].encode(),
        installed.python.text(top),
        re.MULTILINE,
    )
    return needed and not around.function and bool(asked)


def _answer(test: ast.expr, subject: Subject) -> bool | None:  # noqa: PLR0911  (one answer a kind of test)
    """Answer a test as far as CUDA, the environment and the attention backend that is asked for tell; ``None`` otherwise."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            known = _answer(inner, subject)
            return None if known is None else not known
        case ast.BoolOp(op=op, values=values):
            known_ones = [_answer(one, subject) for one in values]
            decides = isinstance(op, ast.Or)
            if decides in known_ones:
                return decides
            return None if None in known_ones else not decides
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if "env" in last_name(test.func):
            return subject.env.get(name, "").lower() in {"1", "true"}
        case ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In()], comparators=[where]):
            return _backend(subject, word) if "attention_backend" in ast.unparse(where) else None
        case ast.Compare(left=where, ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))]):
            return _backend(subject, word) if last_name(where) == "attention_backend" else None
        case ast.Name() | ast.Call() if last_name(test) in _ON_CUDA:
            return True
        case _:
            return None


def _backend(subject: Subject, word: str) -> bool | None:
    asked = [value for flag, value in values_given(subject.flags) if flag == _BACKEND]
    return asked[-1] == word if asked else None


def _quantization(model: Mapping[str, object] | None) -> str:
    found = (model or {}).get("quantization_config")
    return str(found.get("quant_method", "")).lower() if isinstance(found, Mapping) else ""


def _short(test: ast.expr) -> str:
    return " ".join(ast.unparse(test).split())[:80]


RULE: Final = VersionChecks()
