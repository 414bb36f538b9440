"""What TensorRT-LLM's log says of its memory, 0.12 to 1.0: sizes in GiB, of components by the free memory before and after.

Source: tensorrt_llm/_torch/pyexecutor/py_executor_creator.py (component table), _torch/pyexecutor/_util.py (KvCacheCreator),
cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp (MemUsageChange).
"""

import re

from dayzero.engines.trtllm.logs import DIALECT
from dayzero.fit.memory_log import MIB, MemoryDialect, Quantity, Stated, Wording

_SIZE = r"\d+(?:\.\d+)?"
_BETWEEN = rf"(?P<before>{_SIZE}) / (?P<after>{_SIZE})"


def states(text: str) -> Stated | None:
    """Read the version."""
    version = next((found["version"] for pattern in DIALECT.versions if (found := pattern.search(text))), "")
    return Stated(version=version) if version else None


MEMORY = MemoryDialect(
    engine="trtllm",
    wordings=(
        Wording(pattern=re.compile(rf"^Model: {_BETWEEN}"), drop=Quantity.WEIGHTS),
        Wording(pattern=re.compile(rf"Rank \d+ uses (?P<weights>{_SIZE}) GB for model weights")),
        Wording(
            pattern=re.compile(
                rf"(?:after loading|used for) model weights \(inside torch\)[^:]*: (?P<weights>{_SIZE}) GiB"
            )
        ),
        Wording(
            pattern=re.compile(
                rf"dynamically allocated during inference \(inside torch\)[^:]*: (?P<activations>{_SIZE}) GiB"
            )
        ),
        Wording(pattern=re.compile(rf"^Additional executor resources[^:]*: {_BETWEEN}"), drop=Quantity.ACTIVATIONS),
        Wording(pattern=re.compile(rf"^Total GPU memory \(GiB\): (?P<total>{_SIZE})")),
        Wording(pattern=re.compile(rf"(?:Loaded engine size|Engine size): (?P<weights>{_SIZE}) MiB"), unit=MIB),
        Wording(
            pattern=re.compile(
                rf"Allocated (?P<kv_cache>{_SIZE}) GiB for max tokens in (?:paged )?KV cache \((?P<kv_tokens>\d+)\)"
            )
        ),
        Wording(
            pattern=re.compile(
                rf"available KV cache memory when calculating max tokens: (?P<kv_cache>{_SIZE}) GiB"
                rf"(?:.*device total memory (?P<total>{_SIZE}) GiB)?"
            )
        ),
        Wording(pattern=re.compile(rf"has a total capacity of (?P<total>{_SIZE}) GiB")),
    ),
    began=DIALECT.began,
    started=DIALECT.started,
    shortages=(
        re.compile(r"insufficient GPU memory|OutOfMemoryError|CUDA out of memory"),
        re.compile(r"(?:Impossible to fit|too small to fit|No enough) .*KV cache", re.IGNORECASE),
    ),
    needles=(
        "GiB",
        "MiB",
        "Model: ",
        "model weights",
        "resources",
        "emory",
        "version",
        "startup complete",
        "Uvicorn running",
    ),
    states=states,
)
