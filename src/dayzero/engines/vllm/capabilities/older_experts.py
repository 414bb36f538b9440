"""What serves a model's experts in a release that has no selection of kernels for them, as those before 0.14.0 had none."""

import ast

from dayzero.audit.python_source import Module, class_at_top, nodes_of
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.moe import oracle_of, quantisation
from dayzero.engines.vllm.capabilities.situation import Situation

# By how the experts are stored: the class that runs them with Triton where nothing else does.
_RUN_BY = {"": "UnquantizedFusedMoEMethod", "fp8": "Fp8MoEMethod"}
_INSTEAD = "marlin"
# Triton has its type fp8e4nv from here on (0.33.0, v1/attention/backends/triton_attn.py:522).
TRITON_FP8 = (8, 9)


def has_selection(made: Situation) -> bool:
    """Say whether the release has a selection of kernels for experts that are stored so."""
    oracle = oracle_of(quantisation(made))
    return not oracle or oracle in made.machine.program.modules


def refused(made: Situation) -> tuple[str, Place] | str:
    """Say why Triton cannot run the experts, and where; ``""`` where it can, and why it is not known otherwise."""
    method = quantisation(made)
    name = _RUN_BY.get(method.split(" ", maxsplit=1)[0])
    capability = made.subject.capability
    found = _class(made, name) if name is not None else None
    if found is None or name is None or capability is None:
        return f"which kernels serve experts stored as {method or 'they are'} is not followed"
    module, node = found
    if not method or capability >= TRITON_FP8 or _speaks_of(node, _INSTEAD):
        return ""
    said = f"{name} has no other kernels than Triton's, which have no fp8e4nv on a GPU as old as this"
    return said, module.place(node.lineno)


def _class(made: Situation, name: str) -> tuple[Module, ast.ClassDef] | None:
    for one in made.subject.installed.python.holding(f"class {name}(".encode(), below="vllm.model_executor.layers"):
        module = made.machine.program.module(one)
        node = class_at_top(module, name) if module is not None else None
        if module is not None and node is not None:
            return module, node
    return None


def _speaks_of(node: ast.ClassDef, word: str) -> bool:
    return any(
        word in (one.id if isinstance(one, ast.Name) else one.attr).lower()
        for one in nodes_of(node)
        if isinstance(one, ast.Name | ast.Attribute)
    )
