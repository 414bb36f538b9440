"""List the tensors of a GGUF file with what each stores."""

from math import prod
from pathlib import Path

from dayzero.core.errors import InputError
from dayzero.core.quantities import Bytes
from dayzero.engines.llamacpp.gguf_header import read_gguf_header
from dayzero.fit.checkpoint import Tensor


def read_gguf_tensors(path: Path) -> tuple[Tensor, ...]:
    """List the tensors under their GGUF names, the outermost dimension first, with ggml's names for their types.

    Raises:
        InputError: The file cannot be read, or a tensor has a type that the ``gguf`` package does not know.
    """
    import gguf  # noqa: PLC0415  (it brings numpy, which who only asks for a configuration must not wait for)

    kinds = {kind.value: kind for kind in gguf.GGMLQuantizationType}
    tensors = []
    for tensor in read_gguf_header(path).tensors:
        if tensor.type_number not in kinds:
            raise InputError(
                f"{path.name}: {tensor.name} has ggml's type {tensor.type_number}, which is not known",
                hint="Use a newer gguf package.",
            )
        kind = kinds[tensor.type_number]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        stored = Bytes(prod(tensor.dimensions) // block * size)
        tensors.append(Tensor(name=tensor.name, shape=tensor.dimensions[::-1], dtype=kind.name, stored=stored))
    return tuple(tensors)
