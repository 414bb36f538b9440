"""What vLLM decides about memory, looked up by version."""

from typing import Final

from dayzero.engines.versioned_facts import VersionedFacts

_FACTS: Final = VersionedFacts(package="dayzero.engines.vllm.memory", engine="vLLM", example="0.27.1")

fact, measured, release = _FACTS.fact, _FACTS.measured, _FACTS.release
