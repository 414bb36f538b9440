"""ggml: the kernel library of llama.cpp, built into the engine's own extension."""

from dayzero.kernels.ggml.library import GgmlLibrary

LIBRARY = GgmlLibrary()

__all__ = ["LIBRARY", "GgmlLibrary"]
