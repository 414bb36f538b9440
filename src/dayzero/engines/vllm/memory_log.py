"""What vLLM's log says of its memory, from 0.6 to 0.33.

Wordings: 0.6.6 worker/worker.py:225-243, worker/model_runner.py:1099, executor/gpu_executor.py:76-81;
0.8.5 v1/worker/gpu_model_runner.py:1347, v1/core/kv_cache_utils.py:634-637; 0.11.0 v1/worker/gpu_worker.py:186-391;
0.26.0 and 0.27.1 in real logs; 0.33.0 v1/worker/gpu_worker.py:1046-1063, v1/core/kv_cache_utils.py:1148,
v1/worker/gpu_model_runner.py:6410, utils/mem_utils.py:217-225. The GB of 0.6 are 2**30 bytes too.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dayzero.engines.vllm.logs import DIALECT
from dayzero.fit.memory_log import MIB, MemoryDialect, Stated, Wording

_SIZE = r"-?[\d,]*\d(?:\.\d+)?"
_OUT_OF_MEMORY = (
    rf"has a total capacit?y of (?P<total>{_SIZE}) GiB of which (?:(?P<free>{_SIZE}) GiB|{_SIZE} MiB|0 bytes) is free"
)

_WORDINGS = tuple(
    Wording(pattern=re.compile(pattern))
    for pattern in (
        rf"Model loading took (?P<weights>{_SIZE}) GiB",
        rf"Loading model weights took (?P<weights>{_SIZE}) GB",
        (
            rf"model weights take (?P<weights>{_SIZE}) ?GiB; non_torch_memory takes (?P<non_torch>{_SIZE}) ?GiB; "
            rf"PyTorch activation peak memory takes (?P<activations>{_SIZE}) ?GiB; "
            rf"the rest of the memory reserved for KV Cache is (?P<kv_cache>{_SIZE}) ?GiB"
        ),
        rf"can use total_gpu_memory \((?P<total>{_SIZE}) ?GiB\) x gpu_memory_utilization \(\S+\) = (?P<budget>{_SIZE}) ?GiB",
        (
            rf"Memory profiling results: total_gpu_memory=(?P<total>{_SIZE}) ?GiB .*"
            rf"non_torch_memory=(?P<non_torch>{_SIZE}) ?GiB kv_cache_size=(?P<kv_cache>{_SIZE}) ?GiB"
        ),
        rf"^total_gpu_memory +(?P<total>{_SIZE}) ?GiB",
        rf"^the current vLLM instance can use +(?P<budget>{_SIZE}) ?GiB",
        rf"^model weights take +(?P<weights>{_SIZE}) ?GiB$",
        rf"^non_torch_memory +(?P<non_torch>{_SIZE}) ?GiB",
        rf"^PyTorch activation peak memory +(?P<activations>{_SIZE}) ?GiB",
        rf"^available_kv_cache_memory +(?P<kv_cache>{_SIZE}) ?GiB",
        rf"Current kv cache memory in use is (?P<kv_cache>{_SIZE}) GiB",
        (
            rf"Actual usage: (?P<weights>{_SIZE}) GiB for weights, (?P<activations>{_SIZE}) GiB for peak activation, "
            rf"(?P<non_torch>{_SIZE}) GiB for non-torch memory, (?P<graphs>{_SIZE}) GiB for \w+ graph"
        ),
        rf"Memory profiling takes .*torch peak memory increase: (?P<activations>{_SIZE}) ?GiB",
        rf"Memory profiling takes .*non-torch forward increase memory: (?P<non_torch>{_SIZE}) ?GiB",
        rf"Memory profiling takes .*total consumed \(from mem_get_info\): (?P<consumed>{_SIZE}) ?GiB",
        rf"Initial free memory: (?P<free>{_SIZE}) GiB; Requested memory: \S+ \(util\), (?P<budget>{_SIZE}) GiB",
        rf"Initial free memory (?P<free>{_SIZE}) GiB, reserved (?P<kv_cache>{_SIZE}) ?GiB memory for KV Cache",
        rf"Available KV cache memory: (?P<kv_cache>{_SIZE}) GiB",
        rf"Explicitly set \((?P<kv_cache>{_SIZE})/{_SIZE}\) GiB for KV cache",
        rf"Estimated CUDA graph memory: (?P<graphs>{_SIZE}) GiB",
        rf"Graph capturing finished in \S+ secs, took (?P<graphs>{_SIZE}) GiB",
        rf"CUDA graph pool memory: (?P<graphs>{_SIZE}) GiB \(actual\)",
        rf"Free memory on device(?: cuda:\d+)? \((?P<free>{_SIZE})/(?P<total>{_SIZE}) GiB\) on startup",
        rf"esired GPU memory utilization (?:is )?\(\S+, (?P<budget>{_SIZE}) GiB\)",
        (
            rf"Actual usage is (?P<weights>{_SIZE}) GiB for weight, (?P<activations>{_SIZE}) GiB for peak activation, "
            rf"(?P<non_torch>{_SIZE}) GiB for non-torch memory, and (?P<graphs>{_SIZE}) GiB for CUDAGraph"
        ),
        (
            rf"Actual usage is (?P<consumed>{_SIZE}) GiB for consumed memory \(weights \+ non-torch\), "
            rf"(?P<activations>{_SIZE}) GiB for peak activation, and (?P<graphs>{_SIZE}) GiB for CUDAGraph"
        ),
        rf"KV cache size: (?P<kv_tokens>{_SIZE}) tokens",
        rf"# (?:GPU|cuda|CUDA|rocm|xpu|hpu) blocks: (?P<kv_blocks>{_SIZE})",
        rf"Maximum concurrency for (?P<context>{_SIZE}) tokens per request: (?P<concurrency>{_SIZE})x",
        (
            rf"max seq len \((?P<context>{_SIZE})\), \((?P<request>{_SIZE}) ?GiB KV cache is needed, which is larger than "
            rf"the available KV cache memory \((?P<kv_cache>{_SIZE}) ?GiB\)"
        ),
        _OUT_OF_MEMORY.replace("(?P<free>", "(?:"),
    )
)

_SHORTAGES = (
    re.compile(r"OutOfMemoryError|CUDA out of memory|HIP out of memory"),
    re.compile(r"No available memory for the cache blocks"),
    re.compile(r"KV cache is needed, which is larger than the available KV"),
    re.compile(r"is larger than the maximum number of tokens that can be stored in KV cache"),
    re.compile(r"on startup is less than desired GPU memory utilization"),
)

# Said elsewhere, or about the endpoint; a key is nobody's business.
_LEFT_OUT = re.compile(
    r"model|model_tag|tensor_parallel_size|pipeline_parallel_size|data_parallel_size|enable_expert_parallel"
    r"|host|port|uds|api_key|served_model_name|ssl_\w+|subparser|dispatch_function|config"
)
# Of a namespace that lists every setting, only these are worth saying again.
_TOLD = re.compile(
    r"max_model_len|gpu_memory_utilization|max_num_seqs|max_num_batched_tokens|kv_cache_dtype|quantization|dtype|block_size"
    r"|enforce_eager|cpu_offload_gb|num_gpu_blocks_override|max_seq_len_to_capture|load_format"
)
_EVERY = re.compile(r"\w+")
_CONFIGURED = re.compile(r"dtype|max_seq_len|quantization|kv_cache_dtype|enforce_eager|load_format")
_DEGREES = {
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "enable_expert_parallel": "ep",
}
_ALONE = (("tensor_parallel_size", 1), ("pipeline_parallel_size", 1), ("data_parallel_size", 1))  # what is not named
_RENAMED = {"max_seq_len": "max_model_len"}

_ARGUMENTS = re.compile(r"non-default args: (?P<map>\{.*\})")
_NAMESPACE = re.compile(r"\bargs: Namespace\((?P<list>.*)\)")
_CONFIG = re.compile(r"Initializing an? (?:V\d )?LLM engine (?:\(v(?P<version>[^)]+)\) )?with config: (?P<list>.*)")
_FIRST_ENGINE = re.compile(r"Initializing a V0 LLM engine")
_PAIR = re.compile(r"'(\w+)': ('[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^{}]*\}|<[^>]*>|[^,{}]+)")
_MEMBER = re.compile(
    r"(?:^|[ ,(])(?P<name>\w+)=(?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^{}]*\}|[^,]*?)(?=, \w+=|, ?$|$|,\w+ ?=)"
)
_CACHE = re.compile(r"'?block_size'?[=:] ?(\d+)")


def states(text: str) -> Stated | None:
    """Read what was asked for from a line that lists it."""
    version = next((found["version"] for pattern in DIALECT.versions if (found := pattern.search(text))), "")
    if (found := _CONFIG.search(text)) is not None:
        stated = _stated(_members(found["list"]), version=found["version"] or version, told=_CONFIGURED)
        return replace(stated, env=(("VLLM_USE_V1", "0"),)) if _FIRST_ENGINE.search(text) else stated
    if (found := _ARGUMENTS.search(text)) is not None:
        return _stated((*_ALONE, *_mapping(found["map"])), version=version)
    if (found := _NAMESPACE.search(text)) is not None:
        return _stated(_members(found["list"]), version=version, told=_TOLD)
    return Stated(version=version) if version else None


MEMORY = MemoryDialect(
    engine="vllm",
    wordings=(
        *_WORDINGS,
        Wording(pattern=re.compile(rf"Loading model weights took (?P<weights>{_SIZE}) MB"), unit=MIB),
    ),
    began=DIALECT.began,
    started=DIALECT.started,
    shortages=_SHORTAGES,
    states=states,
    needles=(
        "GiB",
        " GB",
        "GB)",
        "KV cache size",
        "weights took",
        "model weights take",
        "blocks: ",
        "per request",
        "emory",
        "args: ",
        "with config: ",
        "version ",
        "startup complete",
        "Uvicorn running",
    ),
)


def _stated(settings: Iterable[tuple[str, object]], *, version: str, told: re.Pattern[str] = _EVERY) -> Stated:
    given = dict(settings)
    degrees = tuple(
        (_DEGREES[name], int(value))
        for name, value in given.items()
        if name in _DEGREES and isinstance(value, int) and (value is True or value > 0)
    )
    flags = [
        word
        for name, value in given.items()
        if told.fullmatch(name) and not _LEFT_OUT.fullmatch(name)
        for word in _words(_RENAMED.get(name, name), value)
    ]
    block = given.get("block_size")
    return Stated(
        version=version,
        model=str(given.get("model") or given.get("model_tag") or ""),
        flags=tuple(flags),
        parallelism=degrees,
        block_size=block if isinstance(block, int) else 0,
    )


def _words(name: str, value: object) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    match value:
        case None | "None" | "auto":
            return
        case True:
            yield flag
        case False:
            yield f"--no-{name.replace('_', '-')}"
        case dict():
            yield f"{flag}={json.dumps(value)}"
        case list() | tuple():
            yield flag
            yield from map(str, value)
        case _:
            yield f"{flag}={str(value).removeprefix('torch.')}"


def _mapping(text: str) -> Iterator[tuple[str, object]]:
    """Read a printed dictionary; where it holds what no literal is, its plain pairs."""
    try:
        read = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        yield from ((name, _literal(value)) for name, value in _PAIR.findall(text))
        return
    yield from ((str(name), value) for name, value in read.items())


def _members(text: str) -> Iterator[tuple[str, object]]:
    for found in _MEMBER.finditer(text):
        yield found["name"], _literal(found["value"])


def _literal(text: str) -> object:
    try:
        value: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip()
    return value
