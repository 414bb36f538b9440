"""Which quantization methods SGLang registers, and which of them it takes for a checkpoint: by its own table and claims."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.python_source import Module
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.expressions import Frame
from dayzero.engines.vllm.capabilities.machine import Machine
from dayzero.engines.vllm.capabilities.program import Constant, Fact, Program
from dayzero.engines.vllm.capabilities.quantization import Claim, claim
from dayzero.engines.vllm.capabilities.values import Klass, RaisedError, Unknown, truth

_PACKAGE, _TABLE = "sglang.srt.layers.quantization", "QUANTIZATION_METHODS"
_CONFIG, _CHECK = "sglang.srt.configs.model_config", "_verify_quantization"
_COMPATIBLE, _AGAIN = "compatible_quantization_methods", "REQUANTIZATION_METHODS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """What a release makes of quantization.

    Attributes:
        classes: Each method that it registers on CUDA, with its class; ``None`` where that is not in the files.
        place: Where they are registered.
        compatible: By the method that is asked for: those of checkpoints that it takes.
        again: Methods that quantize anew whatever the checkpoint's is.
    """

    classes: Mapping[str, Klass | None]
    place: Place
    compatible: Mapping[str, tuple[str, ...]]
    again: tuple[str, ...]


def machine_for(subject: Subject) -> Machine:
    """Make what runs the release's own code on the subject's GPU, as far as torch tells of it."""
    capability = subject.capability if subject.capability is not None else Unknown("the GPU")
    facts: dict[str, Fact | Constant] = {
        "torch.cuda.is_available": lambda _args, _kwargs: True,
        "torch.cuda.get_device_capability": lambda _args, _kwargs: capability,
        "torch.version.cuda": Constant("any"),
        "torch.version.hip": Constant(None),
    }
    facts |= {f"sglang.srt.utils{home}:is_cuda": lambda _args, _kwargs: True for home in ("", ".common")}
    others = ("hip", "npu", "xpu", "hpu", "musa", "mps", "cpu", "gfx95_supported")
    facts |= {
        f"sglang.srt.utils{home}:is_{name}": lambda _args, _kwargs: False for name in others for home in ("", ".common")
    }
    return Machine(Program(subject.installed.python, facts))


def methods(machine: Machine) -> Methods | str:
    """Read the release's table, or say why it cannot be read."""
    module, config = machine.program.module(_PACKAGE), machine.program.module(_CONFIG)
    check = _function(config, _CHECK) if config is not None else None
    if module is None or config is None or check is None:
        return f"the release has no {_PACKAGE}, or does not hold a checkpoint to it"
    entries = _entries(machine, module, _TABLE)
    if not entries or "" in entries:
        return f"{module.file} keeps its methods in another way"
    first = min(node.lineno for node in entries.values())
    compatible = _literal(check.body, _COMPATIBLE)
    again = _literal(config.tree.body, _AGAIN)
    return Methods(
        classes={name: _class(machine, module, node) for name, node in entries.items()},
        place=module.place(first),
        compatible={str(key): tuple(map(str, value)) for key, value in compatible.items()}
        if isinstance(compatible, dict)
        else {},
        again=tuple(map(str, again)) if isinstance(again, list) else (),
    )


def claimed(
    machine: Machine, known: Methods, settings: Mapping[str, object], asked: str, model: Mapping[str, object]
) -> Claim | str:
    """Ask each method in order whether it claims a checkpoint, or say what is in doubt (0.5.18, model_config.py:1535)."""
    doubt = ""
    for name, klass in known.classes.items():
        said = (
            claim(machine, klass, settings, asked, model) if klass is not None else f"the class of {name} is not found"
        )
        if isinstance(said, Claim) and said.name:
            return said
        doubt = doubt or (said if isinstance(said, str) else "")
    return doubt or Claim("")


def _entries(machine: Machine, module: Module, name: str, depth: int = 4) -> dict[str, ast.expr]:
    """Follow what the module puts into a table on CUDA; what is not written out stands under no name."""
    found: dict[str, ast.expr] = {}
    for node in _taken(machine, module, module.tree.body) if depth else ():
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=own)], value=value)
                | ast.AnnAssign(target=ast.Name(id=own), value=ast.expr() as value)
            ) if own == name:
                found = _listed(machine, module, value, depth)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="update"), args=[value])) if (
                own == name
            ):
                found |= _listed(machine, module, value, depth)
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=own), slice=ast.Constant(value=str(key)))], value=value
            ) if own == name:
                found[key] = value
            case _:
                continue
    return found


def _listed(machine: Machine, module: Module, value: ast.expr, depth: int) -> dict[str, ast.expr]:
    match value:
        case ast.Dict(keys=keys, values=values):
            found: dict[str, ast.expr] = {}
            for key, one in zip(keys, values, strict=True):
                found |= _listed(machine, module, one, depth) if key is None else {_text(key): one}
            return found
        case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy")):
            return _entries(machine, module, name, depth - 1)
        case _:
            return {"": value}


def _taken(machine: Machine, module: Module, body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements that a start on CUDA gets to; of a condition that is not known both ways."""
    for node in body:
        match node:
            case ast.If(test=test, body=then, orelse=otherwise):
                answer = _truth(machine, module, test)
                yield from _taken(machine, module, then) if answer is not False else ()
                yield from _taken(machine, module, otherwise) if answer is not True else ()
            case ast.Try(body=inner):
                yield from _taken(machine, module, inner)
            case _:
                yield node


def _truth(machine: Machine, module: Module, test: ast.expr) -> bool | None:
    try:
        return truth(machine.evaluate(test, Frame(module)))
    except RaisedError:
        return None


def _class(machine: Machine, module: Module, node: ast.expr) -> Klass | None:
    found = machine.program.base(module, node)
    return found if isinstance(found, Klass) else None


def _function(module: Module, name: str) -> ast.FunctionDef | None:
    return next((one for one in ast.walk(module.tree) if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _literal(body: list[ast.stmt], name: str) -> object:
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=value) if own == name:
                try:
                    return ast.literal_eval(value)
                except ValueError:
                    return None
            case _:
                continue
    return None


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
