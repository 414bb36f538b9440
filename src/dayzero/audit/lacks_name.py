"""Does a module define a name, and does a class have an attribute?"""

import ast
import builtins
import enum
from collections.abc import Iterator, Sequence

from dayzero.audit.agreement import Says, Witness, agreement
from dayzero.audit.model import Check
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python_source import Definition, Module, class_named, last_name, module_name, sources
from dayzero.core.verdict import Place, Refuted

_MOST_BASES = 16
_EMPTY_BASES = {"ABC", "Protocol", "Generic"}
_SIMPLE_METACLASSES = {"ABCMeta", "EnumMeta", "EnumType"}
_SIMPLE_DECORATORS = {"dataclass", "final", "unique", "runtime_checkable", "total_ordering"}


def lacks_name(builds: Sequence[BuildFiles], module: str, name: str) -> Check:
    """Look whether the module lacks the name, as a log claims that says ``cannot import name``.

    A submodule of that name counts. A name that is bound under a condition, a star import, a module ``__getattr__`` and a
    module that replaces or fills itself leave it undecided.

    Args:
        builds: Files of the builds that are installed together.
        module: As it is imported.
        name: The name asked of it.
    """
    question = f"Does the module {module} lack the name {name}?"
    check_id = f"name:{module}:{name}"
    submodule = _file_of(builds, f"{module}.{name}")
    if submodule:
        return Check(id=check_id, question=question, verdict=Refuted(f"{submodule} is that module", (submodule,)))
    found = sources(builds, "", module=module)
    witnesses = [_module_says(one, name) for one in found.modules]
    nowhere = f"none of the builds given holds the module {module} as a Python file"
    return Check(id=check_id, question=question, verdict=agreement(witnesses, found.unread, nowhere=nowhere))


def lacks_attribute(builds: Sequence[BuildFiles], owner: str, attribute: str) -> Check:
    """Look whether the class lacks the attribute (a method, a field, an enum's member), itself and in its bases.

    What a method assigns to ``self`` counts. ``__getattr__``, ``setattr``, an unusual decorator or metaclass, and a base
    that is not in these files leave it undecided.

    Args:
        builds: Files of the builds that are installed together.
        owner: Name of the class, or a dotted path that ends in it.
        attribute: Its name.
    """
    module, _, name = owner.rpartition(".")
    found = sources(builds, name)
    classes = [one for one in found.definitions(name) if isinstance(one.node, ast.ClassDef)]
    named = [one for one in classes if one.module.name == module]
    witnesses = [_class_says(builds, one, attribute) for one in named or classes]
    witnesses += [witness for one in found.modules for witness in _given_later(one, name, attribute)]
    nowhere = f"none of the builds given defines the class {name} in Python"
    return Check(
        id=f"attribute:{owner}:{attribute}",
        question=f"Does the class {owner} lack the attribute {attribute}?",
        verdict=agreement(witnesses, found.unread, nowhere=nowhere),
    )


def _file_of(builds: Sequence[BuildFiles], module: str) -> Place | None:
    for files in builds:
        for name in files.names():
            native = name.endswith(".so") and module_name(name.split(".", 1)[0] + ".py") == module
            if native or (name.endswith(".py") and module_name(name) == module):
                return Place(artifact=files.artifact, file=name)
    return None


def _module_says(module: Module, name: str) -> Witness:
    conditional = 0
    for line, bound, always in _bindings(module.tree.body, always=True):
        if bound == name and always:
            return Witness(Says.FAILS, f"{module.name} defines {name}", module.place(line))
        if bound in {name, "*", "__getattr__"}:
            conditional = conditional or line
    if conditional:
        words = f"{module.name} may define {name}: a condition, a star import or __getattr__ decides"
        return Witness(Says.OPEN, words, module.place(conditional))
    for number, text in enumerate(module.lines, 1):
        if "sys.modules[" in text or "globals()" in text:
            return Witness(Says.OPEN, f"{module.name} fills itself while it is imported", module.place(number))
    return Witness(Says.HOLDS, f"{module.name} defines no {name}", module.whole())


def _bindings(body: Sequence[ast.stmt], *, always: bool) -> Iterator[tuple[int, str, bool]]:
    """Give (line, name, whether it is always bound) of what the statements of a module or class bind."""
    for statement in body:
        for name in _bound(statement):
            yield statement.lineno, name, always
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                certain = always and (field == "finalbody" or isinstance(statement, ast.With))
                yield from _bindings(getattr(statement, field, ()), always=certain)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _bindings(part.body, always=False)


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from ((alias.asname or alias.name.split(".")[0]) for alias in names)
        case ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name) for alias in names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With() | ast.Expr():
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            yield from (node.id for node in stored if isinstance(node.ctx, ast.Store))
        case _:
            return


def _class_says(builds: Sequence[BuildFiles], one: Definition, attribute: str) -> Witness:
    answer = _look(builds, one, attribute, _MOST_BASES)
    if isinstance(answer, Place):
        return Witness(Says.FAILS, f"{one.qualname} has {attribute}", answer)
    if answer:
        return Witness(Says.OPEN, f"{one.qualname} {answer}", one.place())
    return Witness(Says.HOLDS, f"{one.qualname} has no {attribute}", one.place())


def _given_later(module: Module, name: str, attribute: str) -> Iterator[Witness]:
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=attr, ctx=ast.Store()) if (owner, attr) == (
                name,
                attribute,
            ):
                yield Witness(Says.FAILS, f"{name} is given {attribute}", module.place(node.lineno))
            case _:
                continue


def _look(builds: Sequence[BuildFiles], one: Definition, attribute: str, depth: int) -> Place | str:
    """Give where the attribute is, or why it may be there all the same; ``""`` where it is not."""
    node = one.node
    if not isinstance(node, ast.ClassDef):
        return "is no class"
    names = list(_members(node))
    for line, name in names:
        if name == attribute:
            return one.module.place(line)
    doubt = _doubt(node, {name for _, name in names})
    for base in node.bases:
        answer = _in_base(builds, last_name(base), one.module, attribute, depth)
        if isinstance(answer, Place):
            return answer
        doubt = doubt or answer
    return doubt


def _members(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    for line, name, _ in _bindings(node.body, always=True):
        yield line, name
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield inner.lineno, name
            case _:
                continue


def _doubt(node: ast.ClassDef, names: set[str]) -> str:
    if names & {"__getattr__", "__getattribute__", "__dict__"}:
        return "answers for attributes by itself (__getattr__)"
    if any(isinstance(one, ast.Call) and last_name(one) in {"setattr", "__setattr__"} for one in ast.walk(node)):
        return "sets attributes whose names are computed"
    if strange := {last_name(one) for one in node.decorator_list} - _SIMPLE_DECORATORS:
        return f"is decorated with {', '.join(sorted(strange))}, which may add attributes"
    if any(one.arg != "metaclass" or last_name(one.value) not in _SIMPLE_METACLASSES for one in node.keywords):
        return "is made by a metaclass that may add attributes"
    return ""


def _in_base(builds: Sequence[BuildFiles], base: str, near: Module, attribute: str, depth: int) -> Place | str:
    if base in _EMPTY_BASES:
        return ""
    own = getattr(builtins, base, None) or getattr(enum, base, None)
    if isinstance(own, type):
        return Place(artifact="Python", file=base) if any(attribute in vars(one) for one in own.__mro__) else ""
    found = class_named(builds, base, near) if base and depth else None
    if found is None:
        return f"inherits from {base or 'an expression'}, which was not found once in these files"
    return _look(builds, found, attribute, depth - 1)
