"""From the parameters of a model to the tensors that a checkpoint stores."""

from collections.abc import Iterable, Iterator
from math import prod

from dayzero.core.quantities import Bytes
from dayzero.fit.architectures.forms import GptOssBlocks, Stored
from dayzero.fit.architectures.quantisation import Quantisation
from dayzero.fit.architectures.weights import Role, Weight
from dayzero.fit.checkpoint import Tensor
from dayzero_verify.safetensors import DTYPE_BITS


def stored_tensors(weights: Iterable[Weight], quantisation: Quantisation, dtype: str) -> Iterator[Tensor]:
    """List what is stored, each weight in its own form.

    Args:
        weights: The model's parameters.
        quantisation: What is done to them.
        dtype: The model's storage type.
    """
    for weight in weights:
        if weight.role is Role.STACK:
            yield from _stack(weight, quantisation, dtype)
            continue
        module = weight.name.removesuffix(".weight")
        form = quantisation.form_of(weight, module)
        if form is None:
            yield _tensor(weight.name, weight.shape, weight.dtype or dtype, weight.count)
        else:
            outputs, inputs = weight.shape
            yield from _formed(module, form.stored(outputs, inputs, dtype), weight.count)


def _stack(weight: Weight, quantisation: Quantisation, dtype: str) -> Iterator[Tensor]:
    """Store stacked experts: as they are, as gpt-oss does, or each expert and projection on its own."""
    module, (count, first, second) = weight.name.removesuffix(".weight"), weight.shape
    outputs, inputs = (second, first) if weight.outputs_last else (first, second)
    stem = f"{module.rpartition('.')[0]}.*."
    form = quantisation.form_of(weight, f"{stem}{weight.parts[0]}")
    if form is None:
        yield _tensor(weight.name, weight.shape, weight.dtype or dtype, 1)
    elif isinstance(form, GptOssBlocks):
        for suffix, shape, kind in form.stored(outputs, inputs, dtype):
            yield _tensor(module + suffix, (count, *shape), kind, 1)
    else:
        yield from _experts(stem, weight.parts, form.stored(outputs // len(weight.parts), inputs, dtype), count)


def _experts(stem: str, parts: tuple[str, ...], stored: tuple[Stored, ...], count: int) -> Iterator[Tensor]:
    for part in parts:
        yield from _formed(stem + part, stored, count)


def _formed(module: str, stored: tuple[Stored, ...], count: int) -> Iterator[Tensor]:
    for name, shape, kind in stored:
        yield _tensor(f"{module}.{name}", shape, kind, count)


def _tensor(name: str, shape: tuple[int, ...], dtype: str, count: int) -> Tensor:
    return Tensor(
        name=name, shape=shape, dtype=dtype, stored=Bytes(prod(shape) * DTYPE_BITS[dtype] // 8 * count), count=count
    )
