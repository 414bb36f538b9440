"""Copies of a GGUF file in which one thing is other than it was: the arms of a gate whose difference is known."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import gguf
import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float32]
_Written: TypeAlias = tuple[npt.NDArray[np.generic], gguf.GGMLQuantizationType | None]

_BF16 = gguf.GGMLQuantizationType.BF16
_LEFT = (
    "GGUF.",
    "general.architecture",
    "general.file_type",
)  # the writer says the first two, the last is not true of a copy


def as_bf16(source: Path, target: Path) -> None:
    """Copy a file, its matrices as bfloat16: the values that vLLM loads from the folder of the same weights."""
    _copy(source, target, lambda tensor: _written_bf16(_values(tensor)))


def as_bf16_with_a_louder_layer(source: Path, target: Path, *, tensor: str, factor: float) -> None:
    """Copy a file as :func:`as_bf16` does, one of its matrices multiplied by a factor."""
    _copy(source, target, lambda one: _written_bf16(_values(one) * np.float32(factor if one.name == tensor else 1)))


def with_mxfp4_as_f16(source: Path, target: Path) -> None:
    """Copy a file, its MXFP4 tensors as float16 of exactly the same values: another kernel multiplies them."""
    _copy(source, target, _mxfp4_as_f16)


def _mxfp4_as_f16(tensor: gguf.ReaderTensor) -> _Written:
    if tensor.tensor_type == gguf.GGMLQuantizationType.MXFP4:
        return _values(tensor).astype(np.float16), None
    return tensor.data, tensor.tensor_type


def _written_bf16(values: Values) -> _Written:
    return (values, None) if values.ndim == 1 else (gguf.quants.quantize(values, _BF16), _BF16)


def _values(tensor: gguf.ReaderTensor) -> Values:
    found: Values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    return found


def _copy(source: Path, target: Path, written: Callable[[gguf.ReaderTensor], _Written]) -> None:
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if not field.name.startswith(_LEFT):
            sub = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub)
    for tensor in reader.tensors:
        content, kind = written(tensor)
        writer.add_tensor(tensor.name, content, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
