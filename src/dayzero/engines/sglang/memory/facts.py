"""What SGLang decides about memory, looked up by version."""

from typing import Final

from dayzero.engines.versioned_facts import VersionedFacts

_FACTS: Final = VersionedFacts(package="dayzero.engines.sglang.memory", engine="SGLang", example="0.5.18")

fact, measured, release = _FACTS.fact, _FACTS.measured, _FACTS.release
