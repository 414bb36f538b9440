"""Copies of a GGUF file in which one thing is other than it was: the arms of a gate whose difference is known."""

import shutil
from pathlib import Path

import gguf
import numpy as np

_Q4_1_BLOCK, _SCALES = 20, 2  # bytes of a block of 32 weights; its two float16 scales come first


def with_a_louder_layer(source: Path, target: Path, *, tensor: str, factor: float) -> None:
    """Copy a file, and multiply one of its Q4_1 tensors by a factor, through the scales of its blocks."""
    shutil.copyfile(source, target)
    found = next(one for one in gguf.GGUFReader(source).tensors if one.name == tensor)
    assert found.tensor_type == gguf.GGMLQuantizationType.Q4_1
    shape = (int(found.n_bytes) // _Q4_1_BLOCK, _Q4_1_BLOCK // 2)
    blocks = np.memmap(target, np.float16, "r+", int(found.data_offset), shape)
    blocks[:, :_SCALES] *= np.float16(factor)
    blocks.flush()


def with_mxfp4_as_f16(source: Path, target: Path) -> None:
    """Copy a file, its MXFP4 tensors as float16 of exactly the same values: another kernel multiplies them."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if not field.name.startswith(("GGUF.", "general.architecture")):
            sub = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub)
    for tensor in reader.tensors:
        if tensor.tensor_type == gguf.GGMLQuantizationType.MXFP4:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(tensor.name, values.astype(np.float16))
        else:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
