"""The embedded engine: llama.cpp's own server, out of the xllamacpp wheel."""

from dayzero.engines.llamacpp.engine import LlamaCppEngine

ENGINE = LlamaCppEngine()

__all__ = ["ENGINE", "LlamaCppEngine"]
