"""What does a callable take, and does a call fit?"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dayzero.audit.python.bindings import FUNCTIONS
from dayzero.audit.python.classes import EMPTY_BASES, constructor_fields
from dayzero.audit.python.evaluate import value_of
from dayzero.audit.python.values import Choice, ClassValue, FunctionValue, Partial, Value
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Definition, last_name, nodes_of, statements_of

_MOST_BASES = 16
# Decorators of Python, PyTorch and typing that leave the parameters as they are.
_TRANSPARENT = frozenset({
    "staticmethod", "classmethod", "abstractmethod", "override", "final", "wraps", "cache", "lru_cache", "deprecated",
    "contextmanager", "asynccontextmanager", "no_grad", "inference_mode", "register_fake", "disable", "torch_compile",
    "compile", "total_ordering", "runtime_checkable",
})  # fmt: skip
_DATACLASSES = {"dataclass"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a callable takes.

    Attributes:
        of: Whose it is.
        positional: Parameters that may be given by position, in order.
        by_position_only: How many of them may not be given by name.
        keywords: Parameters that may be given by name only.
        required: Parameters that must be given.
        more_positional: Whether it takes ``*args``.
        more_keywords: Whether it takes ``**kwargs``.
    """

    of: Definition
    positional: tuple[str, ...] = ()
    by_position_only: int = 0
    keywords: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    more_positional: bool = False
    more_keywords: bool = False

    def accepts(self, keyword: str) -> bool:
        """Say whether it takes a keyword."""
        return self.more_keywords or keyword in self.keywords or keyword in self.positional[self.by_position_only :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a call gives.

    Attributes:
        positional: How many by position.
        keywords: Which by name.
        open: Whether ``*`` or ``**`` of something unknown may give more.
    """

    positional: int
    keywords: tuple[str, ...]
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Why a call does not fit.

    Attributes:
        callee: Whose signature it is.
        unexpected: Keywords that it does not take.
        missing: Parameters that it needs and does not get.
        surplus: How many arguments by position are too many.
    """

    callee: Definition
    unexpected: tuple[str, ...]
    missing: tuple[str, ...]
    surplus: int


def misfit(world: World, callee: Value, given: Arguments) -> Misfit | None:
    """Hold a call against its callee; ``None`` where it fits or where the text does not show the signature."""
    match callee:
        case Partial(of=of, positional=positional, keywords=keywords):
            more = replace(given, positional=given.positional + positional, keywords=(*keywords, *given.keywords))
            return misfit(world, of, more)
        case Choice(among=among):
            answers = [misfit(world, one, given) for one in among]
            return answers[0] if all(answers) else None
        case FunctionValue(definition=definition, bound=bound):
            signature = _of_function(world, definition, bound=bound)
        case ClassValue(definition=definition):
            signature = _of_class(world, definition, _MOST_BASES)
        case _:
            return None
    return _held(signature, given) if signature else None


def _held(signature: Signature, given: Arguments) -> Misfit | None:
    unexpected = tuple(one for one in dict.fromkeys(given.keywords) if not signature.accepts(one))
    taken = {*signature.positional[: given.positional], *given.keywords}
    missing = () if given.open else tuple(sorted(signature.required - taken))
    surplus = 0 if signature.more_positional else max(0, given.positional - len(signature.positional))
    if not (unexpected or missing or surplus):
        return None
    return Misfit(callee=signature.of, unexpected=unexpected, missing=missing, surplus=surplus)


def _of_function(world: World, definition: Definition, *, bound: bool) -> Signature | None:
    node = definition.node
    if not isinstance(node, FUNCTIONS):
        return None
    added: set[str] = set()
    for decorator in node.decorator_list:
        more = _added_by(world, definition, decorator)
        if more is None:
            return None
        added |= more
    arguments = node.args
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    defaults = len(arguments.defaults)
    required = positional[: len(positional) - defaults] if defaults else list(positional)
    required += [
        one.arg for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is None
    ]
    skip = 1 if bound else 0
    return Signature(
        of=definition,
        positional=tuple(positional[skip:]),
        by_position_only=max(0, len(arguments.posonlyargs) - skip),
        keywords=frozenset({one.arg for one in arguments.kwonlyargs} | added),
        required=frozenset(set(required) - set(positional[:skip])),
        more_positional=arguments.vararg is not None,
        more_keywords=arguments.kwarg is not None,
    )


def _added_by(world: World, definition: Definition, decorator: ast.expr) -> frozenset[str] | None:
    """Name the keywords that a decorator adds; ``None`` where it may change the parameters in ways not shown."""
    if last_name(decorator) in _TRANSPARENT:
        return frozenset()
    scope = world.scope(definition.module.name)
    inner = decorator.func if isinstance(decorator, ast.Call) else decorator
    value = value_of(world, scope, inner) if scope else None
    if isinstance(value, Choice):
        value = next((one for one in value.among if isinstance(one, FunctionValue)), None)
    if not isinstance(value, FunctionValue):
        return None
    wrappers = [one for one in statements_of(value.definition.node) if isinstance(one, FUNCTIONS)][1:]
    if wrappers and not any(one.args.kwarg for one in wrappers) and any(map(_calls_through, wrappers)):
        return None
    return frozenset(word for wrapper in wrappers for word in _taken_out(wrapper))


def _calls_through(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(last_name(one) == "wraps" for one in node.decorator_list)


def _taken_out(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Name what a wrapper takes out of its ``**kwargs`` before it calls on, and its own parameters."""
    if node.args.kwarg is None:
        return
    yield from (one.arg for one in (*node.args.args, *node.args.kwonlyargs))
    for one in nodes_of(node):
        match one:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="pop"), args=[ast.Constant(value=str() as word), *_]
            ):
                if owner == node.args.kwarg.arg:
                    yield word
            case _:
                continue


def _of_class(world: World, definition: Definition, depth: int) -> Signature | None:
    node = definition.node
    if not isinstance(node, ast.ClassDef) or not depth:
        return None
    decorators = {last_name(one) for one in node.decorator_list}
    if decorators - _DATACLASSES - {"final", "runtime_checkable"} or node.keywords:
        return None
    for method in ("__init__", "__new__"):
        own = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == method]
        if own:
            inner = Definition(module=definition.module, qualname=f"{definition.qualname}.{method}", node=own[-1])
            return _of_function(world, inner, bound=True)
    inherited = _inherited(world, definition, depth)
    if inherited is None or not decorators & _DATACLASSES:
        return replace(inherited, of=definition) if inherited else None
    fields = dict(constructor_fields(node))
    return replace(
        inherited,
        of=definition,
        positional=tuple(dict.fromkeys((*inherited.positional, *fields))),
        required=inherited.required | {name for name, needed in fields.items() if needed},
    )


def _inherited(world: World, definition: Definition, depth: int) -> Signature | None:
    found = Signature(of=definition)
    for expression, base in world.bases(definition):
        if last_name(expression) in EMPTY_BASES:
            continue
        signature = _of_class(world, base.definition, depth - 1) if isinstance(base, ClassValue) else None
        if signature is None:
            return None
        found = signature
        break
    return found
