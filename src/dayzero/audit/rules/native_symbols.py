"""Do the native extensions of the engine and its libraries find every symbol of the torch that is installed beside them?

An extension that was built against another torch asks the loader for names that this one does not export; the import of it
fails, and with it whatever runs on it.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dayzero.audit.dynamic_symbols import DynamicSymbols, read_symbols
from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, PythonFiles
from dayzero.audit.python_source import Module, last_name
from dayzero.audit.rules import Subject
from dayzero.audit.undefined_symbol import file_name
from dayzero.core.errors import DayzeroError
from dayzero.core.verdict import Place

_LIBRARY = re.compile(r"\.so(?:\.[\d.]+)?$")
_TORCH = re.compile(r"lib(?:torch|c10)\w*\.so")
# Names of torch's own namespaces, and of its C interface: nothing else on a system defines them.
_OWN = re.compile(r"_Z(?:T[IVSv])?N?K?(?:[0-9]*)?(?:3c10|2at|5torch)|aoti_torch_|torch_(?:call|get|set|list|library)_")
_GUARDS = {"ImportError", "ModuleNotFoundError", "Exception", "OSError", ""}


@dataclass(frozen=True, slots=True)
class _Import:
    place: Place
    is_guarded: bool


class NativeSymbols:
    """Implements ``audit.rules.Rule``."""

    id: str = "native-symbols"
    question: str = "Does the installed torch export every symbol that the native extensions ask it for?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Compare what each extension leaves undefined with what torch's libraries export."""
        installed = subject.installed
        torch = installed.find("torch")
        if torch is None:
            return
        exported: set[str] = set()
        unread = list(_exports(torch, exported))
        if unread or not exported:
            why = unread[0].quote if unread else f"{torch} holds no library"
            yield NotChecked(self.question, why, needed=False)
            return
        for distribution in installed.distributions:
            if distribution is not torch:
                yield from self._extensions(installed.python, distribution, torch, exported)

    def _extensions(
        self, python: PythonFiles, distribution: Distribution, torch: Distribution, exported: set[str]
    ) -> Iterator[Finding | NotChecked]:
        for path in sorted(distribution.files.names()):
            if not _LIBRARY.search(path):
                continue
            place = Place(artifact=distribution.files.artifact, file=path)
            try:
                symbols = read_symbols(distribution.files.read(path))
            except DayzeroError as error:
                yield NotChecked(f"{self.question} ({path})", error.message, needed=False)
                continue
            missing = _missing(symbols, exported)
            if missing:
                yield self._finding(python, place, missing, torch)

    def _finding(self, python: PythonFiles, place: Place, missing: tuple[str, ...], torch: Distribution) -> Finding:
        stem = file_name(place.file).split(".", maxsplit=1)[0]
        folder = place.file.rpartition("/")[0].replace("/", ".")
        imports = tuple(_imports(python, stem, f"{folder}.{stem}" if folder else stem))
        guarded = bool(imports) and all(one.is_guarded for one in imports)
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        message = f"{place.file} cannot be loaded: {torch} does not export {missing[0]}{more}"
        asked = next((one.place for one in imports if not one.is_guarded), imports[0].place if imports else place)
        advice = "Install the torch that the engine pins, or a build of the extension for this torch."
        severity = Severity.GUARDED if guarded else Severity.PATH
        when = f"what runs on {stem}"
        return Finding(self.id, severity, message, asked, place, advice, when, Applies.UNKNOWN)


def _exports(torch: Distribution, exported: set[str]) -> Iterator[Place]:
    """Add what torch's libraries export, and give those that cannot be read."""
    for path in torch.files.names():
        if _TORCH.match(file_name(path)):
            try:
                exported |= read_symbols(torch.files.read(path)).exported
            except DayzeroError as error:
                yield Place(artifact=torch.files.artifact, file=path, quote=f"{path}: {error.message}")


def _missing(symbols: DynamicSymbols, exported: set[str]) -> tuple[str, ...]:
    if not any(_TORCH.match(one) for one in symbols.needed):
        return ()
    return tuple(sorted(one for one in symbols.undefined - exported if _OWN.match(one)))


def _imports(python: PythonFiles, stem: str, full: str) -> Iterator[_Import]:
    for name in python.holding(stem.encode()):
        module = python.parsed(name)
        if isinstance(module, Module):
            yield from _in_block(module, full, module.tree.body, is_guarded=False)


def _in_block(module: Module, full: str, body: list[ast.stmt], *, is_guarded: bool) -> Iterator[_Import]:
    for node in body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                source = _source(module, node)
                if full == source or any(full == f"{source}.{one.name}".strip(".") for one in names):
                    yield _Import(module.place(node.lineno), is_guarded)
            case ast.Try(body=tried, handlers=handlers):
                caught = is_guarded or any(_catches(one) for one in handlers)
                yield from _in_block(module, full, tried, is_guarded=caught)
                for handler in handlers:
                    yield from _in_block(module, full, handler.body, is_guarded=is_guarded)
            case ast.With(items=items, body=inner):
                held = is_guarded or any(last_name(one.context_expr) == "suppress" for one in items)
                yield from _in_block(module, full, inner, is_guarded=held)
            case ast.If(body=then, orelse=otherwise):
                yield from _in_block(module, full, [*then, *otherwise], is_guarded=is_guarded)
            case ast.FunctionDef(body=inner) | ast.ClassDef(body=inner) | ast.AsyncFunctionDef(body=inner):
                yield from _in_block(module, full, inner, is_guarded=is_guarded)
            case _:
                continue


def _source(module: Module, node: ast.Import | ast.ImportFrom) -> str:
    """Give the module that a ``from`` import names; ``""`` for a plain one."""
    if isinstance(node, ast.Import):
        return ""
    parts = module.name.split(".")
    kept = parts if module.file.endswith("/__init__.py") else parts[:-1]
    package = kept[: len(kept) - node.level + 1] if node.level else []
    return ".".join([*package, *([node.module] if node.module else [])])


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any((last_name(one) if one is not None else "") in _GUARDS for one in kinds)


RULE: Final = NativeSymbols()
