"""Which quantization method a build takes for a checkpoint: by its own registry, and by its own methods' claims."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.audit.python.bound import bound_by
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.expressions import shown
from dayzero.engines.vllm.capabilities.machine import Machine
from dayzero.engines.vllm.capabilities.program import Constant
from dayzero.engines.vllm.capabilities.situation import Situation
from dayzero.engines.vllm.capabilities.values import Bound, Function, Instance, Klass, RaisedError
from dayzero.engines.vllm.source import text_of

_PACKAGE = "vllm.model_executor.layers.quantization"
_TABLE, _TYPE, _DEPRECATED = "QUANTIZATION_METHODS", "QuantizationMethods", "DEPRECATED_QUANTIZATION_METHODS"
_REGISTERS = "register_quantization_config"
# Since 0.13.0, config/model.py:931; before, the empty name is one that is not registered.
_NAMELESS = b'quant_method != ""'
_KEYS = ("quantization_config", "compression_config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """What a build makes of a checkpoint's quantization.

    Attributes:
        name: The method that it takes: what one of its methods claims, else what the checkpoint says; ``""`` for none.
        claimed: Whether one of its methods claims the checkpoint, whatever the command line asks for.
        known: All methods that it registers.
        deprecated: Those that it refuses unless it is told otherwise.
        place: Where they are registered.
        klass: The method's class; ``None`` where the method is not registered or its class is not in the files.
        nameless: Whether settings without a method's name count as none.
        settings: The checkpoint's settings; ``None`` where it is not quantized.
        doubt: Why it is not certain that none of its methods claims the checkpoint; ``""`` where it is.
    """

    name: str
    claimed: bool
    known: tuple[str, ...]
    deprecated: tuple[str, ...]
    place: Place
    klass: Klass | None
    nameless: bool
    settings: Mapping[str, object] | None
    doubt: str


def settings_of(model: Mapping[str, object]) -> Mapping[str, object] | None:
    """Give a checkpoint's quantization settings, of the whole model or of its language model; ``None`` for none."""
    inner = model.get("text_config")
    for config in (model, inner if isinstance(inner, Mapping) else {}):
        found = next((one for key in _KEYS if isinstance(one := config.get(key), Mapping)), None)
        if found is not None:
            return found
    return None


def method(made: Situation, settings: Mapping[str, object] | None, asked: str) -> Method | str:
    """Follow the build's own resolution (0.27.0, config/model.py, _verify_quantization), or say why that cannot be done.

    Args:
        made: The subject.
        settings: The checkpoint's settings, ``None`` where it is not quantized.
        asked: What the command line asks for, ``""`` for nothing.
    """
    module = made.machine.program.module(_PACKAGE)
    if module is None:
        return f"the build has no {_PACKAGE}"
    table = next((node for node in module.tree.body if _bound(node) & {_TABLE, _TYPE}), None)
    try:
        known = _registered(made, table)
        deprecated = made.machine.from_module(_PACKAGE, _DEPRECATED)
    except RaisedError as error:
        if _DEPRECATED not in str(error):
            return str(error)
        deprecated = []
    if table is None or not known:
        return f"{module.file} keeps its methods in another way"
    stored = _normalised(settings) if settings is not None else {}
    claimed, doubt = _claimed(made, stored, asked, known) if settings is not None else ("", "")
    name = claimed or (asked if settings is None else str(stored["quant_method"]))
    return Method(
        name=name,
        claimed=bool(claimed),
        known=known,
        deprecated=tuple(map(str, deprecated)) if isinstance(deprecated, list) else (),
        place=module.place(table.lineno),
        klass=_class(made, name) if name in known else None,
        nameless=any(True for _ in made.subject.installed.python.holding(_NAMELESS, below="vllm.config")),
        settings=settings,
        doubt=doubt,
    )


def answer(machine: Machine, klass: Klass, name: str) -> object:
    """Ask a method's class what it says of itself; ``None`` where it does not say."""
    try:
        function = machine.attribute(klass, name)
        return machine.call(function, (), {}) if isinstance(function, Bound | Function) else None
    except RaisedError:
        return None


def _registered(made: Situation, table: ast.stmt | None) -> tuple[str, ...]:
    """Name the methods, those included that any module registers; the engine's own table is told them."""
    match table:
        case ast.Assign(value=ast.Subscript(slice=ast.Tuple(elts=listed))):
            own = [text for one in listed if (text := text_of(one)) is not None]
            own = own if len(own) == len(listed) else []
        case _:
            kept = made.machine.from_module(_PACKAGE, _TABLE)
            own = [str(one) for one in kept] if isinstance(kept, dict | list) else []
    names = (*own, *_added(made)) if own else ()
    if isinstance(table, ast.Assign) and _TYPE in _bound(table):
        made.machine.program.facts[f"{_PACKAGE}:{_TABLE}"] = Constant(list(names))
    return names


def _added(made: Situation) -> tuple[str, ...]:
    """Name what modules register besides; nothing is known of one that is not written out, so it stands for any."""
    python = made.subject.installed.python
    found = []
    for name in python.holding(_REGISTERS.encode() + b"("):
        module = made.machine.program.module(name)
        for node in ast.walk(module.tree) if module is not None else ():
            match node:
                case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[first, *_]) if (
                    called == _REGISTERS
                ):
                    found.append(text_of(first) or "")
    return tuple(found)


def _bound(node: ast.stmt) -> set[str]:
    return {name for name, _ in bound_by(node)}


def _normalised(settings: Mapping[str, object]) -> dict[str, object]:
    """Name the method as vLLM does (0.27.0, transformers_utils/model_arch_config_convertor.py:239)."""
    name = str(settings.get("quant_method") or "").lower().replace("compressed_tensors", "compressed-tensors")
    return {**settings, "quant_method": name}


def _claimed(made: Situation, settings: dict[str, object], asked: str, known: tuple[str, ...]) -> tuple[str, str]:
    """Ask each registered method whether it claims the checkpoint: under which name, and what is in doubt."""
    doubt = ""
    for one in known:
        klass = _class(made, one)
        model = made.subject.model or {}
        said = (
            claim(made.machine, klass, settings, asked, model)
            if klass is not None
            else f"the class of {one} is not found"
        )
        if isinstance(said, Claim):
            if said.name:
                return said.name, ""
        else:
            doubt = doubt or said
    return "", doubt


@dataclass(frozen=True, slots=True)
class Claim:
    """What a method says of a checkpoint: the name under which it takes it, ``""`` where it does not."""

    name: str


def claim(
    machine: Machine, klass: Klass, settings: Mapping[str, object], asked: str, model: Mapping[str, object]
) -> Claim | str:
    """Ask a method's class whether it claims a checkpoint, or say why it cannot be asked.

    Args:
        machine: Runs the engine's code.
        klass: The class.
        settings: The checkpoint's settings.
        asked: What the command line asks for, ``""`` for nothing.
        model: The model's ``config.json``.
    """
    try:
        check = machine.attribute(klass, "override_quantization_method")
        if not isinstance(check, Bound | Function):
            return Claim("")
        node = (check.function if isinstance(check, Bound) else check).node
        named = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        whole = Instance(None, dict(model))
        more = {"hf_config": whole} if "hf_config" in named else {}
        said = machine.call(check, (dict(settings), asked or None), more)
    except RaisedError as error:
        return f"{klass.node.name} raises {type(error.error).__name__}: {error}"
    if said is None or isinstance(said, str):
        return Claim(said or "")
    return f"{klass.node.name} says {shown(said)}"


def _class(made: Situation, name: str) -> Klass | None:
    """Find the class of a method by the build's own function."""
    try:
        getter = made.machine.from_module(_PACKAGE, "get_quantization_config")
        found = made.machine.call(getter, (name,), {}) if isinstance(getter, Function) else None
    except RaisedError:
        return None
    return found if isinstance(found, Klass) else None
