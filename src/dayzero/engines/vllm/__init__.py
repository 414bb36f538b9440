"""vLLM: what its wheel says about itself, how it is started, what memory its CPU build takes, and how its endpoint speaks."""

from dayzero.engines.vllm.engine import Vllm

__all__ = ["ENGINE"]

ENGINE = Vllm()
