"""The static capability tables of a build: of each class, what it says about itself, and which class of its bases says so.

A capability is one of three: a value, an expression that needs arguments (still one line), or code. Code is carried as it is:
this table decides nothing about it.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.python.bound import bound_by
from dayzero.audit.python_source import last_name
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.program import Program
from dayzero.engines.vllm.capabilities.values import Klass

# Where it stands from vllm 0.14.0 on, and before.
_ATTENTION_REGISTRIES = ("vllm.v1.attention.backends.registry", "vllm.attention.backends.registry")
ATTENTION_ENUM = "AttentionBackendEnum"
EXPERTS_PACKAGE = "vllm.model_executor.layers.fused_moe"
_EXPERTS = f"{EXPERTS_PACKAGE}.experts"
_ROOTS = ("FusedMoEExperts", "FusedMoEExpertsModular", "FusedMoEExpertsMonolithic")
ATTENTION_CAPABILITIES = (
    "supported_dtypes",
    "supported_kv_cache_dtypes",
    "accept_output_buffer",
    "get_supported_kernel_block_sizes",
    "get_preferred_block_size",
    "get_supported_head_sizes",
    "supports_head_size",
    "supports_dtype",
    "supports_kv_cache_dtype",
    "supports_block_size",
    "supports_sink",
    "supports_mm_prefix",
    "supports_sliding_window",
    "supports_non_causal",
    "supports_attn_type",
    "supports_compute_capability",
    "supports_combination",
    "supports_kv_connector",
    "supports_pcp",
    "is_mla",
    "is_sparse",
    "get_kv_cache_shape",
    "get_required_kv_cache_layout",
)
EXPERTS_CAPABILITIES = (
    "activation_format",
    "_supports_current_device",
    "_supports_no_act_and_mul",
    "_supports_quant_scheme",
    "_supports_activation",
    "_supports_parallel_config",
    "_supports_routing_method",
    "_supports_router_logits_dtype",
    "_supports_shape",
    "_supports_batch_invariance",
)


def attention_registry(program: Program) -> str:
    """Name the module that registers attention backends."""
    held = (name for name in _ATTENTION_REGISTRIES if program.module(name) is not None)
    return next(held, _ATTENTION_REGISTRIES[0])


@dataclass(frozen=True, slots=True)
class Capability:
    """What a class says about one thing.

    Attributes:
        name: Attribute or method.
        value: What it is or gives: a literal, or the text of an expression; meaningless where it is code.
        is_code: Whether more than one ``return`` stands there: then nothing is told.
        body: The statements of the method that gives it; ``""`` for an attribute.
        place: Where that stands.
    """

    name: str
    value: object
    is_code: bool
    body: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One class of a table.

    Attributes:
        name: Its key: the backend's name, or the class's own.
        path: Dotted path of the class that the table gives; ``""`` or ``None`` where it names none.
        registered: Where the table does.
        klass: The class; ``None`` where ``missing`` says what is not in the files (``module`` or ``class``).
        missing: See ``klass``.
        order: Names of the classes in which a capability is looked up.
        capabilities: By name.
    """

    name: str
    path: str | None
    registered: Place
    klass: Klass | None
    missing: str
    order: tuple[str, ...]
    capabilities: Mapping[str, Capability]


def attention_backends(program: Program) -> tuple[Entry, ...]:
    """Read the attention backends that a build registers, in the order of its enumeration."""
    found = program.top_class(f"{attention_registry(program)}.{ATTENTION_ENUM}")
    if isinstance(found, str):
        return ()
    entries = []
    for node in found.node.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() | None as path)):
                entries.append(_entry(program, name, path, found.module.place(node.lineno), ATTENTION_CAPABILITIES))
            case _:
                continue
    return tuple(entries)


def experts(program: Program, modules: tuple[str, ...]) -> tuple[Entry, ...]:
    """Read the expert classes of a build: all below ``FusedMoEExperts`` in the modules of ``fused_moe/experts``.

    Args:
        program: The build.
        modules: Names of all its modules.
    """
    entries = []
    for name in sorted(one for one in modules if one.startswith(f"{_EXPERTS}.")):
        module = program.module(name)
        for node in module.tree.body if module else ():
            if isinstance(node, ast.ClassDef) and module and _is_expert(program, Klass(module, node)):
                path = f"{name}.{node.name}"
                entries.append(_entry(program, node.name, path, module.place(node.lineno), EXPERTS_CAPABILITIES))
    return tuple(entries)


def describe(program: Program, klass: Klass, wanted: tuple[str, ...]) -> Mapping[str, Capability]:
    """Read what a class says about each thing, the first class in its order that says it."""
    found: dict[str, Capability] = {}
    for one in program.order(klass):
        if isinstance(one, Klass):
            for capability in _own(one, wanted):
                found.setdefault(capability.name, capability)
    return found


def _entry(program: Program, name: str, path: str | None, registered: Place, wanted: tuple[str, ...]) -> Entry:
    found = program.top_class(path) if path else ""
    klass = found if isinstance(found, Klass) else None
    order = program.order(klass) if klass else ()
    return Entry(
        name=name,
        path=path,
        registered=registered,
        klass=klass,
        missing=found if isinstance(found, str) else "",
        order=tuple(one.node.name for one in order if isinstance(one, Klass)),
        capabilities=describe(program, klass, wanted) if klass else {},
    )


def _is_expert(program: Program, klass: Klass) -> bool:
    names = {one.node.name if isinstance(one, Klass) else one.name for one in program.order(klass)[1:]}
    return any(name.rpartition(".")[2] in _ROOTS for name in names)


def _own(klass: Klass, wanted: tuple[str, ...]) -> Iterator[Capability]:
    for node in klass.node.body:
        place = klass.module.place(node.lineno)
        match node:
            case ast.FunctionDef(name=name) if name in wanted and not _is_abstract(node):
                yield _method(node, place)
            case _:
                for name, value in bound_by(node):
                    if name in wanted and value is not None:
                        yield Capability(name, _value(value), is_code=False, body="", place=place)


def _is_abstract(node: ast.FunctionDef) -> bool:
    """Say whether a method says nothing: it is declared abstract, or only raises ``NotImplementedError`` without a word."""
    match node.body[-1:]:
        case [ast.Raise(exc=ast.Name(id="NotImplementedError"))]:
            return len(node.body) == 1 or (len(node.body) == 2 and ast.get_docstring(node) is not None)  # noqa: PLR2004
        case _:
            return any(last_name(one) == "abstractmethod" for one in node.decorator_list)


def _method(node: ast.FunctionDef, place: Place) -> Capability:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    text = "\n".join(map(ast.unparse, body))
    match [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom)]:
        case [ast.Return(value=None)]:
            return Capability(node.name, None, is_code=False, body=text, place=place)
        case [ast.Return(value=ast.expr() as value)]:
            return Capability(node.name, _value(value), is_code=False, body=text, place=place)
        case _:
            return Capability(node.name, None, is_code=True, body=text, place=place)


def _value(node: ast.expr) -> object:
    """Give a literal as its value, a display of elements with each that is no literal as text, and anything else as text."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(one) for one in elements]
        case _:
            return ast.unparse(node)
