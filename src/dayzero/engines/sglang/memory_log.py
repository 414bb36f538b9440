"""What SGLang's log says of its memory, 0.4 to 0.5: its GB are 2**30 bytes.

Source: sglang 0.5.10, srt/model_executor/model_runner.py:1022,1075,1252,2461,2575, srt/mem_cache/memory_pool.py:313-324,696-702,
srt/managers/scheduler.py:691, srt/model_executor/model_runner_kv_cache_mixin.py:57.
"""

import re
from collections.abc import Iterator

from dayzero.engines.sglang.logs import DIALECT
from dayzero.fit.memory_log import MemoryDialect, Stated, Wording

_SIZE = r"-?\d+(?:\.\d+)?"
_MEMBER = re.compile(r"(?:^|, )(?P<name>\w+)=(?P<value>'[^']*'|\[[^\]]*\]|[^,()]+)")
_ARGUMENTS = re.compile(r"server_args=ServerArgs\((?P<list>.*)\)?")
_DEGREES = {"tp_size": "tp", "pp_size": "pp", "dp_size": "dp"}
# Of all settings, which are printed with their defaults, those that size memory.
_TOLD = {
    "context_length": "--context-length",
    "mem_fraction_static": "--mem-fraction-static",
    "quantization": "--quantization",
    "kv_cache_dtype": "--kv-cache-dtype",
    "dtype": "--dtype",
    "max_running_requests": "--max-running-requests",
    "max_total_tokens": "--max-total-tokens",
    "chunked_prefill_size": "--chunked-prefill-size",
    "cuda_graph_max_bs": "--cuda-graph-max-bs",
    "page_size": "--page-size",
    "cpu_offload_gb": "--cpu-offload-gb",
    "max_mamba_cache_size": "--max-mamba-cache-size",
    "swa_full_tokens_ratio": "--swa-full-tokens-ratio",
    "speculative_algorithm": "--speculative-algorithm",
    "enable_dp_attention": "--enable-dp-attention",
    "disable_cuda_graph": "--disable-cuda-graph",
    "disable_piecewise_cuda_graph": "--disable-piecewise-cuda-graph",
    "disable_radix_cache": "--disable-radix-cache",
}
_UNSAID = frozenset({"None", "'auto'", "0", "False"})

_POOLS = (
    rf"K size: (?P<kv_cache>{_SIZE}) GB",
    rf"V size: (?P<kv_cache>{_SIZE}) GB",
    rf"KV size: (?P<kv_cache>{_SIZE}) GB",
    rf"\bconv_state size: (?P<kv_cache>{_SIZE}) ?GB",
    rf"\bssm_state size: (?P<kv_cache>{_SIZE}) ?GB",
    rf"intermediate_ssm_state_cache size: (?P<kv_cache>{_SIZE}) ?GB",
    rf"intermediate_conv_window_cache size: (?P<kv_cache>{_SIZE}) ?GB",
    rf"Load weight end\..* mem usage=(?P<weights>{_SIZE}) GB",  # a draft model is loaded after the target
    rf"Capture .*graph end\..* mem usage=(?P<graphs>{_SIZE}) GB",
)
_FIGURES = (
    rf"Init torch distributed ends\..* mem usage=(?P<non_torch>{_SIZE}) GB",
    rf"Load weight begin\. avail mem=(?P<free>{_SIZE}) GB",
    rf"Load weight end\..* avail mem=(?P<left>{_SIZE}) GB",
    r"max_total_num_tokens=(?P<kv_tokens>\d+)",
    r"context_len=(?P<context>\d+)",
    rf"has a total capacity of (?P<total>{_SIZE}) GiB",
)


def states(text: str) -> Stated | None:
    """Read the server's arguments."""
    version = next((found["version"] for pattern in DIALECT.versions if (found := pattern.search(text))), "")
    found = _ARGUMENTS.search(text)
    if found is None:
        return Stated(version=version) if version else None
    given = {member["name"]: member["value"].strip() for member in _MEMBER.finditer(found["list"])}
    degrees = tuple((_DEGREES[name], int(given[name])) for name in _DEGREES if given.get(name, "").isdigit())
    if given.get("enable_dp_attention") == "True":
        degrees = _split(dict(degrees))
    expert = given.get("ep_size", "1")
    return Stated(
        version=version,
        model=given.get("model_path", "").strip("'"),
        flags=tuple(_words(given)),
        parallelism=(*degrees, ("ep", int(expert.isdigit() and int(expert) > 1))),
    )


def _split(degrees: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Turn tp that counts all ranks into tp beside dp, where attention is data-parallel."""
    return tuple({**degrees, "tp": max(degrees.get("tp", 1) // degrees.get("dp", 1), 1)}.items())


def _words(given: dict[str, str]) -> Iterator[str]:
    for name, flag in _TOLD.items():
        if name in given and given[name] not in _UNSAID:
            yield f"{flag}={given[name].strip(chr(39))}"


MEMORY = MemoryDialect(
    engine="sglang",
    wordings=(
        *(Wording(pattern=re.compile(pattern)) for pattern in _FIGURES),
        *(Wording(pattern=re.compile(pattern), adds=True) for pattern in _POOLS),
    ),
    began=DIALECT.began,
    started=DIALECT.started,
    shortages=(
        re.compile(r"Not enough memory\. Please try"),
        re.compile(r"OutOfMemoryError|CUDA out of memory|HIP out of memory"),
    ),
    needles=(" GB", "GiB", "server_args=", "max_total_num_tokens", "emory", "version", "fired up"),
    states=states,
)
