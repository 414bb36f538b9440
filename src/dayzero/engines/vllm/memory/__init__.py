"""What vLLM allocates: on each GPU (``budget``), and in the memory of a host without GPUs (``memory_terms``)."""

from dayzero.engines.vllm.memory.budget import budget
from dayzero.engines.vllm.memory.host import memory_terms

__all__ = ["budget", "memory_terms"]
