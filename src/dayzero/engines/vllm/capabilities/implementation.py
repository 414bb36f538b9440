"""What an attention backend's own implementation says of a layer when it is made: what no check before has asked."""

import ast

from dayzero.audit.python_source import last_name
from dayzero.engines.vllm.capabilities.attention import Layer, cache_type, kv_heads
from dayzero.engines.vllm.capabilities.older_experts import TRITON_FP8
from dayzero.engines.vllm.capabilities.situation import Situation
from dayzero.engines.vllm.capabilities.values import Bound, Function, Instance, Klass, RaisedError

_CACHE, _SINKS = "kv_cache_dtype", "sinks"
_FP8, _READ_SO = "fp8", frozenset({"fp8", "fp8_e4m3"})
_TRITON_TYPE = b"fp8e4nv"
_STATIC = {"staticmethod", "classmethod"}


def refusal(made: Situation, layer: Layer, backend: Klass) -> str:
    """Say why a backend fails on a layer although it was chosen; ``""`` where nothing speaks against it for certain.

    Its implementation is made as the layer makes it (0.27.0, model_executor/layers/attention/attention.py), and what it looks
    the type of an fp8 KV cache up in is asked. Only what the code says itself (``raise``, ``assert``) counts. Of MLA, whose
    layer may change the type, nothing is said.
    """
    if layer.mla:
        return ""
    return _of_cache(made, backend) or _of_layer(made, layer, backend) or _of_triton(made, backend)


def _of_cache(made: Situation, backend: Klass) -> str:
    kind = cache_type(made)
    for node in backend.node.body if kind.startswith(_FP8) else ():
        if isinstance(node, ast.FunctionDef) and _FP8 in node.name and _takes_cache_alone(node):
            function = made.machine.attribute(backend, node.name)
            said = _said(made, function, {_CACHE: kind})
            if said:
                return said
    return ""


def _of_triton(made: Situation, backend: Klass) -> str:
    """Say that Triton's kernels read the KV cache as a type that Triton does not have on this GPU (0.16.0, triton_attn.py:469).

    Releases that speak of that type in the file have an answer of their own.
    """
    text = made.subject.installed.python.text(backend.module.name)
    capability = made.subject.capability
    if cache_type(made) not in _READ_SO or capability is None or capability >= TRITON_FP8:
        return ""
    reads = b"triton" in text and b".view(self.fp8_dtype)" in text and _TRITON_TYPE not in text
    return (
        "its Triton kernels read the KV cache as fp8e4nv, which Triton has not on a GPU as old as this" if reads else ""
    )


def _takes_cache_alone(node: ast.FunctionDef) -> bool:
    own = [one.arg for one in node.args.args if one.arg != "cls"]
    return own == [_CACHE] and not node.args.kwonlyargs and bool(_STATIC & set(map(last_name, node.decorator_list)))


def _of_layer(made: Situation, layer: Layer, backend: Klass) -> str:
    machine = made.machine
    try:
        getter = machine.attribute(backend, "get_impl_cls")
        made_of = machine.call(getter, (), {}) if isinstance(getter, Bound | Function) else None
        start = machine.attribute(made_of, "__init__") if isinstance(made_of, Klass) else None
    except RaisedError:
        return ""
    function = start.function if isinstance(start, Bound) else start
    if not isinstance(function, Function) or not isinstance(made_of, Klass):
        return ""
    spec = function.node.args
    named = {one.arg for one in (*spec.args, *spec.kwonlyargs)}
    if layer.sink and _SINKS not in named and spec.kwarg is None:
        return f"{made_of.node.name}.__init__() takes no {_SINKS}, which this model gives"
    given: dict[str, object] = {
        "num_heads": layer.heads,
        "head_size": layer.head_size,
        "scale": 1.0,
        "num_kv_heads": kv_heads(made),
        "alibi_slopes": None,
        "sliding_window": made.text.get("sliding_window") if layer.sliding else None,
        _CACHE: cache_type(made),
        "blocksparse_params": None,
        "logits_soft_cap": None,
        "attn_type": layer.kind,
        "kv_sharing_target_layer_name": None,
        "use_irope": False,
        _SINKS: Instance(None, {}) if layer.sink else None,
    }
    own = Instance(made_of, {})
    return _said(made, function, {"self": own} | {name: value for name, value in given.items() if name in named})


def _said(made: Situation, function: object, given: dict[str, object]) -> str:
    """Give what a call raises for certain and by its own words; ``""`` for nothing."""
    try:
        if isinstance(function, Bound | Function):
            made.machine.call(function, (), given)
    except RaisedError as error:
        return str(error) or type(error.error).__name__ if error.is_stated else ""
    return ""
