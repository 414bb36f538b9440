"""Quantise to MXFP4 as GGUF stores it (OCP Microscaling Formats 1.0; ggml, src/ggml-common.h, block_mxfp4)."""

import numpy as np
from numpy.typing import NDArray

BLOCK = 32

_BLOCK_BYTES = 17
_EXPONENT_BIAS = 127
_LARGEST_EXPONENT = 2  # of an E2M1 number: 6 = 1.5 * 2**2
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def quantise(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Give the bytes of each row: a power-of-two scale and 32 four-bit numbers, 17 bytes a block.

    The low half of a byte holds a number of the block's first half. The last axis must be a multiple of 32.
    """
    blocks = values.reshape(-1, BLOCK)
    largest = np.abs(blocks).max(axis=1)
    _, exponent = np.frexp(largest)  # largest = m * 2**exponent with 0.5 <= m < 1
    scale = np.where(largest > 0, np.maximum(exponent - 1 - _LARGEST_EXPONENT + _EXPONENT_BIAS, 0), 0)
    scaled = np.ldexp(blocks, (_EXPONENT_BIAS - scale)[:, None])
    table = np.array([*_E2M1, *(-number for number in _E2M1)], np.float32)
    nearest = np.abs(scaled[:, :, None] - table).argmin(axis=2).astype(np.uint8)
    packed = np.empty((len(blocks), _BLOCK_BYTES), np.uint8)
    packed[:, 0] = scale
    packed[:, 1:] = nearest[:, : BLOCK // 2] | (nearest[:, BLOCK // 2 :] << 4)
    return packed.reshape(*values.shape[:-1], values.shape[-1] // BLOCK * _BLOCK_BYTES)
