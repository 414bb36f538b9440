"""FlashInfer: which kernels a build of it can launch, from its enumerations, the artifacts it pins, and its sources."""

from dayzero.kernels.flashinfer.library import FlashInferLibrary

LIBRARY = FlashInferLibrary()

__all__ = ["LIBRARY", "FlashInferLibrary"]
