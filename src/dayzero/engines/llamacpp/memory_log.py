"""What llama.cpp's log says of its memory, one line a buffer and device, b3000 to b11549.

Source: src/llama-model.cpp (load_tensors), src/llama-kv-cache.cpp, src/llama-memory-recurrent.cpp, src/llama-context.cpp,
src/llama.cpp (using device), tools/server (memory breakdown). Compute buffers are what other engines call activations.
"""

import re

from dayzero.engines.llamacpp.logs import DIALECT
from dayzero.fit.memory_log import MIB, MemoryDialect, Stated, Wording

_SIZE = r"\d+(?:\.\d+)?"
_DEVICE = r"(?P<device>[A-Za-z]\w*)"

_BREAKDOWN = (
    rf"\| +- {_DEVICE} \([^|]*\) *\| *(?P<total>\d+) = *(?P<free>\d+) \+ *\( *\d+ = *(?P<weights>\d+) \+ *(?P<kv_cache>\d+) "
    r"\+ *(?P<activations>\d+)\)"
)


def states(text: str) -> Stated | None:
    """Read the build, and the model's file."""
    version = next((found["version"] for pattern in DIALECT.versions if (found := pattern.search(text))), "")
    found = re.search(r"loaded meta data with \d+ key-value pairs and \d+ tensors from (?P<model>\S+)", text)
    return Stated(version=version, model=found["model"] if found else "") if version or found else None


MEMORY = MemoryDialect(
    engine="llamacpp",
    wordings=(
        Wording(
            pattern=re.compile(rf"load_tensors: +{_DEVICE} (?:model )?buffer size += +(?P<weights>{_SIZE}) MiB"),
            unit=MIB,
            adds=True,
        ),
        Wording(
            pattern=re.compile(rf"\b{_DEVICE} (?:KV|RS) buffer size += +(?P<kv_cache>{_SIZE}) MiB"), unit=MIB, adds=True
        ),
        Wording(
            pattern=re.compile(rf"\b{_DEVICE} +compute buffer size(?: of)? +=? *(?P<activations>{_SIZE}) MiB"), unit=MIB
        ),
        Wording(pattern=re.compile(rf"using device {_DEVICE} \(.*\) - (?P<free>{_SIZE}) MiB free"), unit=MIB),
        Wording(pattern=re.compile(r"\bn_ctx(?:_seq|_per_seq)? += +(?P<context>\d+)")),
        Wording(pattern=re.compile(_BREAKDOWN), unit=MIB),
        Wording(pattern=re.compile(rf"KV self size += +(?P<kv_cache>{_SIZE}) MiB"), unit=MIB),
        Wording(pattern=re.compile(r"\bsize += +[\d.]+ MiB \( *(?P<kv_tokens>\d+) cells")),
    ),
    began=DIALECT.began,
    started=DIALECT.started,
    shortages=(
        re.compile(r"out of memory|failed to allocate \S+ buffer|unable to allocate \w+ (?:buffer|memory)"),
        re.compile(r"failed to allocate buffer|not enough (?:VRAM|memory)"),
    ),
    needles=(
        "MiB",
        "n_ctx",
        "memory",
        "allocate",
        "listening",
        "loaded meta data",
        "build",
        "runner started",
        "Listening",
        " VRAM",
    ),
    states=states,
    host=re.compile(r"CPU|\w*_?Host$"),
)
