"""Does a callable take a keyword?"""

import ast
from collections.abc import Sequence

from dayzero.audit.agreement import Says, Witness, agreement
from dayzero.audit.model import Check
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python.classes import constructor_fields
from dayzero.audit.python_source import Definition, Module, Sources, class_named, last_name, sources

_MOST_BASES = 16
_DATACLASSES = {"dataclass"}
_MOST_PARAMETERS = 24


def lacks_keyword(builds: Sequence[BuildFiles], callee: str, keyword: str) -> Check:
    """Look whether the callable lacks the keyword, as a log claims that says ``unexpected keyword argument``.

    A definition's own signature decides, whatever decorates it: it is what Python's message speaks of. One that takes
    ``**kwargs`` may pass it on and is undecided; a class without ``__init__`` takes what its dataclass fields or its bases
    take. Definitions of one name are all asked, and decide only where they agree.

    Args:
        builds: Files of the builds that are installed together.
        callee: Qualified name (``f``, ``C.__init__``), or a dotted path that ends in one (``package.module.f``).
        keyword: Name of the argument.
    """
    *owners, word = callee.split(".")
    if word.startswith("__"):
        word = owners[-1] if owners else ""
    found = sources(builds, word) if word else Sources(modules=(), unread=())
    witnesses = [_witness(builds, one, keyword) for one in _asked(found, callee)]
    nowhere = (
        f"none of the builds given defines {callee} in Python" if word else f"the log does not say whose {callee} it is"
    )
    return Check(
        id=f"keyword:{callee}:{keyword}",
        question=f"Does {callee} lack the keyword {keyword}?",
        verdict=agreement(witnesses, found.unread, nowhere=nowhere),
    )


def _asked(found: Sources, callee: str) -> tuple[Definition, ...]:
    """Find what a name may mean: in the module that it names, where one is there; else everywhere."""
    parts = callee.split(".")
    for at in range(len(parts)):
        module, qualname = ".".join(parts[:at]), ".".join(parts[at:])
        everywhere = _callables(found, qualname)
        here = tuple(one for one in everywhere if not module or one.module.name == module)
        if here or (everywhere and at == len(parts) - 1):
            return here or everywhere
    return ()


def _callables(found: Sources, qualname: str) -> tuple[Definition, ...]:
    direct = found.definitions(qualname)
    owner, _, method = qualname.rpartition(".")
    return direct or (found.definitions(owner) if method in {"__init__", "__new__"} else ())


def _witness(builds: Sequence[BuildFiles], one: Definition, keyword: str) -> Witness:
    taken, closed = _parameters(builds, one, _MOST_BASES)
    place = one.place()
    if keyword in taken:
        return Witness(Says.FAILS, f"{one.qualname} takes {keyword}", place)
    if closed:
        return Witness(Says.OPEN, f"{one.qualname} {closed}", place)
    shown = ", ".join(taken[:_MOST_PARAMETERS]) + (", ..." if len(taken) > _MOST_PARAMETERS else "")
    return Witness(Says.HOLDS, f"{one.qualname} takes no {keyword}, only ({shown})", place)


def _parameters(builds: Sequence[BuildFiles], one: Definition, depth: int) -> tuple[list[str], str]:
    """List the keywords that a definition takes, and why there may be more (``""`` where there are none)."""
    match one.node:
        case ast.ClassDef() as node:
            return _constructor(builds, one, node, depth)
        case node:
            arguments = node.args
            names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
            return names, f"takes **{arguments.kwarg.arg}" if arguments.kwarg else ""


def _constructor(
    builds: Sequence[BuildFiles], one: Definition, node: ast.ClassDef, depth: int
) -> tuple[list[str], str]:
    for method in ("__init__", "__new__"):
        own = [child for child in node.body if isinstance(child, ast.FunctionDef) and child.name == method]
        if own:
            definition = Definition(module=one.module, qualname=f"{one.qualname}.{method}", node=own[-1])
            return _parameters(builds, definition, depth)
    names: list[str] = []
    closed = ""
    for base in (base for base in node.bases if last_name(base) not in {"object", "ABC", "Generic", "Protocol"}):
        inherited, open_ = _of_base(builds, last_name(base), one.module, depth)
        names, closed = names + inherited, closed or open_
    decorators = {last_name(decorator) for decorator in node.decorator_list}
    if decorators - _DATACLASSES or node.keywords:
        closed = closed or "is made by something that its text does not show"
    return names + ([name for name, _ in constructor_fields(node)] if decorators & _DATACLASSES else []), closed


def _of_base(builds: Sequence[BuildFiles], base: str, near: Module, depth: int) -> tuple[list[str], str]:
    found = class_named(builds, base, near) if base and depth else None
    if found is None:
        return [], f"inherits from {base or 'an expression'}, which was not found once in these files"
    return _parameters(builds, found, depth - 1)
