"""What a quantised projection is stored as: the tensors that stand in for its weight, with their scales."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

Stored: TypeAlias = tuple[str, tuple[int, ...], str]
"""Last part of a name, shape and dtype."""

_WORD_BITS = 32


class Form(Protocol):
    """One way to store a projection."""

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List what is stored for a weight of ``outputs`` by ``inputs``; ``dtype`` is the model's own."""
        ...


def _parts(length: int, size: int) -> int:
    """Count the groups of a length; a size of 0 is one group for all of it."""
    return -(-length // size) if size else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedIntegers:
    """compressed-tensors ``pack-quantized``: whole numbers packed into words along the inputs.

    Source: compressed-tensors 0.17.0, compressors/pack_quantized/base.py.
    """

    bits: int
    group: int
    symmetric: bool
    ordered: bool

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List packed weight, scales, the true shape, and zero points and order where there are any."""
        packed, groups = _WORD_BITS // self.bits, _parts(inputs, self.group)
        yielded: tuple[Stored, ...] = (
            ("weight_packed", (outputs, _parts(inputs, packed)), "I32"),
            ("weight_scale", (outputs, groups), dtype),
            ("weight_shape", (2,), "I64"),
        )
        if not self.symmetric:
            yielded += (("weight_zero_point", (_parts(outputs, packed), groups), "I32"),)
        return (*yielded, ("weight_g_idx", (inputs,), "I32")) if self.ordered else yielded


@dataclass(frozen=True, slots=True, kw_only=True)
class OneByte:
    """One byte a weight, with scales of a tensor, a row, or a block.

    Attributes:
        code: ``F8_E4M3`` or ``I8``.
        block: Outputs and inputs that share a scale; 0 is all of them.
        scale, scale_dtype: Name of the scales and their type; an empty type is the model's.
        scalar: Whether a single scale has no dimensions.
        symmetric: Whether there are no zero points.
        input_scale: Whether the scale of the activations is stored too.
    """

    code: str
    block: tuple[int, int]
    scale: str = "weight_scale"
    scale_dtype: str = ""
    scalar: bool = False
    symmetric: bool = True
    input_scale: bool = False

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List weight and scales."""
        rows, columns = self.block
        one: tuple[int, ...] = () if self.scalar else (1,)
        shape = (_parts(outputs, rows), _parts(inputs, columns)) if rows or columns else one
        kind = self.scale_dtype or dtype
        yielded: tuple[Stored, ...] = (("weight", (outputs, inputs), self.code), (self.scale, shape, kind))
        if not self.symmetric:
            yielded += (("weight_zero_point", shape, self.code),)
        return (*yielded, ("input_scale", one, kind)) if self.input_scale else yielded


@dataclass(frozen=True, slots=True, kw_only=True)
class FourBitFloats:
    """Two four-bit floats a byte, with one scale a group of inputs (MXFP4: 32, NVFP4: 16).

    Attributes:
        group: Inputs that share a scale.
        packed, code: Name of the packed weight and its type.
        scale, scale_dtype: Name of the scales and their type.
        scalars: Names of further scales, each one number.
        scalar_shape: Shape of those.
    """

    group: int
    packed: str = "weight_packed"
    code: str = "U8"
    scale: str = "weight_scale"
    scale_dtype: str = "U8"
    scalars: tuple[str, ...] = ()
    scalar_shape: tuple[int, ...] = (1,)

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List packed weight and scales."""
        del dtype
        return (
            (self.packed, (outputs, _parts(inputs, 2)), self.code),
            (self.scale, (outputs, _parts(inputs, self.group)), self.scale_dtype),
            *((name, self.scalar_shape, "F32") for name in self.scalars),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroscaledBytes:
    """compressed-tensors ``mxfp8-quantized``: one byte a weight, one a group of 32 inputs."""

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List weight and scales."""
        del dtype
        return (("weight", (outputs, inputs), "F8_E4M3"), ("weight_scale", (outputs, _parts(inputs, 32)), "U8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gptq:
    """GPTQ: words packed along the inputs. Source: vllm 0.32.0, model_executor/layers/quantization/gptq.py."""

    bits: int
    group: int

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List packed weight, packed zero points, scales and the order of the inputs."""
        del dtype
        groups = _parts(inputs, self.group)
        return (
            ("qweight", (_parts(inputs * self.bits, _WORD_BITS), outputs), "I32"),
            ("qzeros", (groups, _parts(outputs * self.bits, _WORD_BITS)), "I32"),
            ("scales", (groups, outputs), "F16"),
            ("g_idx", (inputs,), "I32"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Awq:
    """AWQ: words packed along the outputs. Source: vllm 0.32.0, model_executor/layers/quantization/awq.py."""

    bits: int
    group: int

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List packed weight, packed zero points and scales."""
        del dtype
        groups, packed = _parts(inputs, self.group), _parts(outputs * self.bits, _WORD_BITS)
        return (
            ("qweight", (inputs, packed), "I32"),
            ("qzeros", (groups, packed), "I32"),
            ("scales", (groups, outputs), "F16"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GptOssBlocks:
    """MXFP4 as gpt-oss stores its stacked experts: blocks of 16 bytes for 32 inputs, and a scale each."""

    def stored(self, outputs: int, inputs: int, dtype: str) -> tuple[Stored, ...]:
        """List the blocks and scales of one expert; the name keeps that of the stack."""
        del dtype
        blocks = _parts(inputs, 32)
        return (("_blocks", (outputs, blocks, 16), "U8"), ("_scales", (outputs, blocks), "U8"))
