"""Does a module define a name, and does a class have an attribute?"""

import ast
import builtins
import enum
from collections.abc import Iterator, Sequence

from dayzero.audit.agreement import Says, Witness, agreement
from dayzero.audit.model import Check
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python.bindings import bindings, deleted
from dayzero.audit.python.classes import EMPTY_BASES, doubt, members
from dayzero.audit.python_source import Definition, Module, class_named, last_name, module_name, sources, statements_of
from dayzero.core.verdict import Place, Refuted

_MOST_BASES = 16


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
    gone = deleted(module.tree.body)
    for one in bindings(module.tree.body):
        if one.name == name and one.always and not one.declares and name not in gone:
            return Witness(Says.FAILS, f"{module.name} defines {name}", module.place(one.statement.lineno))
        if one.name in {name, "*", "__getattr__"}:
            conditional = conditional or one.statement.lineno
    handing = (one for one in statements_of(module.tree) if isinstance(one, ast.Global) and name in one.names)
    conditional = conditional or next((one.lineno for one in handing), 0)
    if conditional:
        words = f"{module.name} may define {name}: a condition, a star import, del, global or __getattr__ decides"
        return Witness(Says.OPEN, words, module.place(conditional))
    filling = list(filter(None, map(module.text.place_of, (b"sys.modules[", b"globals()"))))
    if filling:
        return Witness(Says.OPEN, f"{module.name} fills itself while it is imported", module.place(min(filling)))
    return Witness(Says.HOLDS, f"{module.name} defines no {name}", module.whole())


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
    names = list(members(node))
    for line, name in names:
        if name == attribute:
            return one.module.place(line)
    unsure = doubt(node, {name for _, name in names})
    for base in node.bases:
        answer = _in_base(builds, last_name(base), one.module, attribute, depth)
        if isinstance(answer, Place):
            return answer
        unsure = unsure or answer
    return unsure


def _in_base(builds: Sequence[BuildFiles], base: str, near: Module, attribute: str, depth: int) -> Place | str:
    if base in EMPTY_BASES:
        return ""
    own = getattr(builtins, base, None) or getattr(enum, base, None)
    if isinstance(own, type):
        return Place(artifact="Python", file=base) if any(attribute in vars(one) for one in own.__mro__) else ""
    found = class_named(builds, base, near) if base and depth else None
    if found is None:
        return f"inherits from {base or 'an expression'}, which was not found once in these files"
    return _look(builds, found, attribute, depth - 1)
