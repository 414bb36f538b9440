"""What vLLM's log says it resolved, and how long the phases of its start took.

The wordings are those of the logs of real starts of 0.26.0, 0.27.1 and 0.32.0, and of the messages in 0.32.0's sources. A wording
that another version changes is not found: the value is then missing, never wrong.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from dayzero.core.launch import LaunchSpec
from dayzero.serve.model import Asked, Resolved, StartPhase

_CONFIG = re.compile(r"Initializing a V\d LLM engine \(v(?P<version>[^)]+)\) with config: (?P<config>.*)")

# Members of the configuration that the engine writes as one line: name, pattern.
_MEMBERS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("dtype", r"[ ,(]dtype=(?:torch\.)?(\w+)"),
        ("max_model_len", r"\bmax_seq_len=(\d+)"),
        ("quantization", r"[ ,(]quantization=([\w-]+)"),
        ("kv_cache_dtype", r"\bkv_cache_dtype=(\w+)"),
        ("load_format", r"\bload_format=(\w+)"),
        ("tensor_parallel_size", r"\btensor_parallel_size=(\d+)"),
        ("pipeline_parallel_size", r"\bpipeline_parallel_size=(\d+)"),
        ("data_parallel_size", r"\bdata_parallel_size=(\d+)"),
        ("disable_custom_all_reduce", r"\bdisable_custom_all_reduce=(\w+)"),
        ("enforce_eager", r"\benforce_eager=(\w+)"),
        ("enable_prefix_caching", r"\benable_prefix_caching=(\w+)"),
        ("enable_chunked_prefill", r"\benable_chunked_prefill=(\w+)"),
        ("compilation_mode", r"'mode': <CompilationMode\.(\w+)"),
        ("cudagraph_mode", r"'cudagraph_mode': <CUDAGraphMode\.(\w+)"),
    )
)

# Messages of their own.
_MESSAGES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("attention_backend", r"Using (\w+) attention backend out of"),
        ("attention_backend", r"Using AttentionBackendEnum\.(\w+) backend\."),
        ("attention_backend", r"Using (Flash Attention|FlashInfer|Triton) backend on V1 engine"),
        ("mla_prefill_backend", r"Using (\w+) MLA prefill backend"),
        ("moe_backend", r"Using '?(\w+)'? (?:\w+ )?M[oO]E backend"),
        ("moe_experts", r"\] Using (\w+Experts)$"),
        ("communicator", r"distributed_init_method=\S+ backend=(\w+)"),
        ("custom_all_reduce", r"Custom allreduce is (disabled\b.*)"),
        ("flash_attention", r"Using FlashAttention version (\d+)"),
        ("model_runner", r"[Uu]sing (?:the )?(V\d) [Mm]odel [Rr]unner"),
        ("block_size", r"Setting attention block size to (\d+) tokens"),
        ("max_num_batched_tokens", r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)"),
        ("max_model_len", r"Using max model len (\d+)"),
        ("cudagraph_mode", r"(?:; setting cudagraph_mode=|Overriding cudagraph_mode (?:from \S+ )?to )(\w+)"),
        ("kv_cache_memory", r"Available KV cache memory: ([\d.]+ GiB)"),
        ("kv_cache_tokens", r"[GC]PU KV cache size: ([\d,]+) tokens"),
    )
)

_PHASES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("weights", r"Model loading took [\d.]+ GiB (?:memory )?and ([\d.]+) seconds"),
        ("weights_read", r"Loading weights took ([\d.]+) seconds"),
        ("compile", r"torch\.compile took ([\d.]+) s in total"),
        ("profile", r"Initial profiling/warmup run took ([\d.]+) s"),
        ("capture", r"Graph capturing finished in ([\d.]+) secs"),
        ("init_engine", r"init engine \(.*?\) took ([\d.]+) s"),
    )
)
_AUTOTUNE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*Autotuning process (starts|ends)")
_STAMP = re.compile(r"\b(?:INFO|WARNING) (\d\d-\d\d \d\d:\d\d:\d\d) \[")
_LISTENING = re.compile(r"Starting vLLM (?:API )?server")
_YEAR = "2000-"  # the log states none; a leap year, so that 29 February parses


def resolved(log: bytes) -> tuple[Resolved, ...]:
    """Read what the log states, each different value of a name once, with the first line that states it."""
    found: dict[tuple[str, str], Resolved] = {}
    for number, line in _lines(log):
        for name, value in _stated(line):
            plain = value.strip().replace(",", "") if name == "kv_cache_tokens" else value.strip()
            found.setdefault((name, plain), Resolved(name=name, value=plain, line=number))
    return tuple(found.values())


def start_phases(log: bytes) -> tuple[StartPhase, ...]:
    """Read how long each phase took.

    ``weights`` holds ``weights_read``; ``init_engine`` holds ``compile``, ``profile``, ``autotune`` and ``capture``; ``listening``
    runs from the log's first stamp to the HTTP server's start, in whole seconds.
    """
    slowest: dict[str, StartPhase] = {}
    for phase in _phases(log):
        known = slowest.get(phase.name)
        if known is None or phase.seconds > known.seconds:
            slowest[phase.name] = phase
    return tuple(slowest.values())


def asked(launch: LaunchSpec) -> tuple[Asked, ...]:
    """Name what the flags and the environment ask for, as far as the log would tell."""
    return (*_from_flags(launch.argv), *_from_environment(launch.env))


_VALUES = {
    "--attention-backend": "attention_backend",
    "--block-size": "block_size",
    "--data-parallel-size": "data_parallel_size",
    "-dp": "data_parallel_size",
    "--dtype": "dtype",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--load-format": "load_format",
    "--max-model-len": "max_model_len",
    "--max-num-batched-tokens": "max_num_batched_tokens",
    "--moe-backend": "moe_backend",
    "--pipeline-parallel-size": "pipeline_parallel_size",
    "-pp": "pipeline_parallel_size",
    "--quantization": "quantization",
    "-q": "quantization",
    "--tensor-parallel-size": "tensor_parallel_size",
    "-tp": "tensor_parallel_size",
}
_SWITCHES = {
    "--disable-custom-all-reduce": "disable_custom_all_reduce",
    "--enable-chunked-prefill": "enable_chunked_prefill",
    "--enable-prefix-caching": "enable_prefix_caching",
    "--enforce-eager": "enforce_eager",
}
_VARIABLES = {"VLLM_ATTENTION_BACKEND": "attention_backend"}
_SUFFIX = {"k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2, "g": 1000**3, "G": 1024**3}  # vllm 0.32.0, arg_utils.py


def _from_flags(argv: tuple[str, ...]) -> Iterator[Asked]:
    for position, word in enumerate(argv):
        flag, sign, value = word.partition("=")
        flag = flag.replace("_", "-")
        if flag in _VALUES:
            given = value if sign else next(iter(argv[position + 1 :]), "")
            yield Asked(name=_VALUES[flag], value=_number(given), by=flag)
        elif flag in _SWITCHES:
            yield Asked(name=_SWITCHES[flag], value="True", by=flag)
        elif (on := flag.replace("--no-", "--", 1)) in _SWITCHES and on != flag:
            yield Asked(name=_SWITCHES[on], value="False", by=flag)


def _from_environment(env: Iterable[tuple[str, str]]) -> Iterator[Asked]:
    for variable, value in env:
        if variable in _VARIABLES:
            yield Asked(name=_VARIABLES[variable], value=value, by=variable)


def _number(text: str) -> str:
    """Write ``40k`` and ``1.5K`` as the numbers that vLLM takes them for; anything else as it stands."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG])", text)
    return str(int(float(match[1]) * _SUFFIX[match[2]])) if match else text


def _lines(log: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(log.split(b"\n"), start=1):
        yield number, line.decode("utf-8", "replace").rstrip()


def _stated(line: str) -> Iterator[tuple[str, str]]:
    config = _CONFIG.search(line)
    if config:
        yield "version", config["version"]
        for name, pattern in _MEMBERS:
            yield from ((name, value) for value in pattern.findall(f" {config['config']}"))
        return
    for name, pattern in _MESSAGES:
        match = pattern.search(line)
        if match:
            yield name, match[1]


def _phases(log: bytes) -> Iterator[StartPhase]:
    first: datetime | None = None
    tuning: datetime | None = None
    for number, line in _lines(log):
        for name, pattern in _PHASES:
            match = pattern.search(line)
            if match:
                yield StartPhase(name=name, seconds=float(match[1]), line=number)
        tuned = _AUTOTUNE.search(line)
        if tuned:
            at = datetime.strptime(tuned[1], "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007  (only differences are taken)
            if tuned[2] == "ends" and tuning is not None:
                yield StartPhase(name="autotune", seconds=(at - tuning).total_seconds(), line=number)
            tuning = at if tuned[2] == "starts" else None
        stamp = _STAMP.search(line)
        if stamp:
            at = datetime.strptime(_YEAR + stamp[1], "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007
            first = first or at
            if _LISTENING.search(line):
                yield StartPhase(name="listening", seconds=(at - first).total_seconds(), line=number)
