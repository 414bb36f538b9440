"""Which scheme of compressed-tensors a build takes for a checkpoint's linear layers: by its own choice among them."""

import ast
from collections.abc import Iterator, Mapping

from dayzero.audit.folded import Text
from dayzero.audit.python_source import Module
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.machine import Machine
from dayzero.engines.vllm.capabilities.program import Constant
from dayzero.engines.vllm.capabilities.quantization import answer
from dayzero.engines.vllm.capabilities.values import Bound, Instance, Klass, RaisedError, Unknown

_HOME = "vllm.model_executor.layers.quantization.compressed_tensors.compressed_tensors"
_CONFIG, _CHOOSES = "CompressedTensorsConfig", "_get_scheme_from_parts"
_LIBRARY = "compressed_tensors"
_SOURCES = (_LIBRARY, f"{_LIBRARY}.config", f"{_LIBRARY}.config.base", f"{_LIBRARY}.quantization")
# The words of the file format; the library's enumerations spell them so (compressed-tensors 0.17.0, quantization/quant_args.py,
# config/base.py). They stand in for its files where those are not given.
_FORMAT = b"""
from enum import Enum
class CompressionFormat(Enum):
    dense = "dense"
    sparse_bitmask = "sparse-bitmask"
    sparse_24_bitmask = "sparse-24-bitmask"
    int_quantized = "int-quantized"
    float_quantized = "float-quantized"
    naive_quantized = "naive-quantized"
    pack_quantized = "pack-quantized"
    marlin_24 = "marlin-24"
    mixed_precision = "mixed-precision"
    nvfp4_pack_quantized = "nvfp4-pack-quantized"
    mxfp4_pack_quantized = "mxfp4-pack-quantized"
class QuantizationStrategy(str, Enum):
    TENSOR = "tensor"
    CHANNEL = "channel"
    GROUP = "group"
    BLOCK = "block"
    TOKEN = "token"
    TENSOR_GROUP = "tensor_group"
    ATTN_HEAD = "attn_head"
class QuantizationType(str, Enum):
    INT = "int"
    FLOAT = "float"
"""
_DEFAULTS: Mapping[str, object] = {
    "num_bits": 8,
    "type": "int",
    "symmetric": True,
    "group_size": None,
    "block_structure": None,
    "dynamic": False,
    "actorder": None,
}


def refused_schemes(
    machine: Machine, settings: Mapping[str, object], capability: tuple[int, int]
) -> Iterator[tuple[str, Place]]:
    """Say why the build takes no scheme for a group of layers on a GPU: what it says, and where.

    Args:
        machine: Runs the build's code.
        settings: The checkpoint's settings.
        capability: Compute capability of the GPU.
    """
    config = machine.program.top_class(f"{_HOME}.{_CONFIG}")
    groups = settings.get("config_groups")
    if not isinstance(config, Klass) or not isinstance(groups, Mapping):
        return
    _stand_in(machine)
    for name, group in groups.items():
        if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping):
            own = Instance(config, {"quant_format": settings.get("format"), "config": dict(settings)}, whole=False)
            said = _said(machine, own, group, capability)
            if said is not None:
                yield f"{said[0]} (group {name})", said[1]


def _said(
    machine: Machine, own: Instance, group: Mapping[str, object], capability: tuple[int, int]
) -> tuple[str, Place] | None:
    given: dict[str, object] = {
        "weight_quant": _arguments(group.get("weights")),
        "input_quant": _arguments(group.get("input_activations")),
        "output_quant": _arguments(group.get("output_activations")),
        "format": group.get("format"),
        "layer_name": "layer",
    }
    try:
        chooses = machine.attribute(own, _CHOOSES)
        if not isinstance(chooses, Bound):
            return None
        node = chooses.function.node
        named = {one.arg for one in node.args.args}
        chosen = machine.call(chooses, (), {name: value for name, value in given.items() if name in named})
    except RaisedError as error:
        klass = own.klass
        place = klass.module.place(klass.node.lineno) if klass is not None and error.is_stated else None
        return (str(error), place) if place is not None else None
    return _too_new(machine, chosen, capability)


def _too_new(machine: Machine, chosen: object, capability: tuple[int, int]) -> tuple[str, Place] | None:
    """Say that every scheme that may be chosen wants a newer GPU."""
    among = chosen.among if isinstance(chosen, Unknown) else (chosen,)
    classes = [one.klass for one in among if isinstance(one, Instance) and one.klass is not None]
    least = [answer(machine, one, "get_min_capability") for one in classes]
    own = capability[0] * 10 + capability[1]
    if len(classes) != len(among) or not classes or not all(isinstance(one, int) and own < one for one in least):
        return None
    wanted = min(one for one in least if isinstance(one, int))
    klass = classes[0]
    said = f"its scheme {klass.node.name} wants compute capability {wanted // 10}.{wanted % 10}"
    return said, klass.module.place(klass.node.lineno)


def _arguments(given: object) -> Instance | None:
    """Make what the library makes of a group's arguments; a strategy that is not given follows from the group's size."""
    if not isinstance(given, Mapping):
        return None
    values = {**_DEFAULTS, **{str(key): value for key, value in given.items()}}
    if values.get("strategy") is None:
        size = values["group_size"]
        values["strategy"] = "tensor" if not isinstance(size, int) else "group" if size > 0 else "channel"
    return Instance(None, values)


def _stand_in(machine: Machine) -> None:
    if machine.program.module(_LIBRARY) is not None:
        return
    module = Module(artifact="", file="", name=_LIBRARY, tree=ast.parse(_FORMAT), text=Text(_FORMAT))
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            for source in _SOURCES:
                machine.program.facts.setdefault(f"{source}:{node.name}", Constant(Klass(module, node)))
