"""What a log says of memory, however it was carried and whichever version wrote it."""

# ruff: noqa: E501  (a log's lines stand as they are written)

import json
from decimal import Decimal
from pathlib import Path

import pytest

from dayzero.core.errors import InputError
from dayzero.core.parallelism import Parallelism
from dayzero.fit.memory_log import GIB, MIB, MemoryLog, Quantity
from dayzero.wiring.memory_logs import memory_log

CASES = Path(__file__).parents[3] / "shared" / "cases"
STAMP = "INFO 11-29 14:20:54"
ARGUMENTS = (
    "non-default args: {'model_tag': '/models/m', 'model': '/models/m', 'max_model_len': 40960, 'tensor_parallel_size': 2, "
    "'gpu_memory_utilization': 0.85, 'api_key': ['secret'], 'limit_mm_per_prompt': {'image': 0}}"
)
HEALTHY = [
    f"(APIServer pid=5) {STAMP} [api_server.py:1] vLLM API server version 0.26.0",
    f"(APIServer pid=5) {STAMP} [api_utils.py:273] {ARGUMENTS}",
    f"(Worker_TP0 pid=7) {STAMP} [model_runner.py:305] Model loading took 15.27 GiB and 3.946148 seconds",
    f"(Worker_TP1 pid=8) {STAMP} [model_runner.py:305] Model loading took 15.31 GiB and 3.946148 seconds",
    f"(Worker_TP0 pid=7) {STAMP} [gpu_worker.py:560] Available KV cache memory: 102.05 GiB",
    f"(Worker_TP1 pid=8) {STAMP} [gpu_worker.py:560] Available KV cache memory: 101.9 GiB",
    f"(EngineCore pid=6) {STAMP} [kv_cache_utils.py:2177] GPU KV cache size: 743,120 tokens",
    f"(EngineCore pid=6) {STAMP} [kv_cache_utils.py:2178] Maximum concurrency for 40,960 tokens per request: 18.14x",
    f"(Worker_TP0 pid=7) {STAMP} [model_runner.py:747] Graph capturing finished in 7 secs, took 1.00 GiB",
    "(APIServer pid=5) INFO:     Application startup complete.",
]


def read(folder: Path, lines: list[str]) -> MemoryLog:
    path = folder / "engine.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return memory_log(path)


def value(log: MemoryLog, quantity: Quantity, line: int | None = None) -> Decimal | None:
    found = [reading for reading in log.of(quantity) if line is None or reading.line == line]
    if not found:
        return None
    return found[0].value if quantity.counted else found[0].value / GIB


def plain(lines: list[str]) -> list[str]:
    return lines


def docker(lines: list[str]) -> list[str]:
    return [json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-29T14:20:54Z"}) for line in lines]


def journal(lines: list[str]) -> list[str]:
    return [f"Nov 29 14:20:54 node-a vllm[4711]: {line}" for line in lines]


def compose(lines: list[str]) -> list[str]:
    return [f"chat-4b  | {line}" for line in lines]


def coloured(lines: list[str]) -> list[str]:
    return [f"\x1b[0;36m{line[: line.index(')') + 1]}\x1b[0;0m{line[line.index(')') + 1 :]}" for line in lines]


@pytest.mark.parametrize("carry", [plain, docker, journal, compose, coloured])
def test_every_rank_is_read_with_its_line_whatever_carried_the_log(tmp_path, carry):
    log = read(tmp_path, carry(HEALTHY))
    assert log.engine == "vllm"
    assert log.started == 10
    assert log.shortage is None
    weights = log.largest(Quantity.WEIGHTS)
    assert weights is not None
    assert (weights.value / GIB, weights.line, weights.process) == (Decimal("15.31"), 4, "Worker_TP1")
    assert value(log, Quantity.GRAPHS, 9) == Decimal("1.00")
    cache = log.smallest(Quantity.KV_CACHE)
    assert cache is not None
    assert cache.value / GIB == Decimal("101.9")
    assert value(log, Quantity.KV_TOKENS, 7) == 743_120
    assert value(log, Quantity.CONCURRENCY, 8) == Decimal("18.14")


def test_the_log_says_what_was_asked_and_keeps_a_key_to_itself(tmp_path):
    stated = read(tmp_path, HEALTHY).stated
    assert (stated.version, stated.model) == ("0.26.0", "/models/m")
    assert stated.flags == (
        "--max-model-len=40960",
        "--gpu-memory-utilization=0.85",
        '--limit-mm-per-prompt={"image": 0}',
    )
    assert read(tmp_path, HEALTHY).parallelism == Parallelism(tp=2)


WORDINGS = [
    ("INFO 01-02 03:04:05 model_runner.py:1099] Loading model weights took 14.9888 GB", {Quantity.WEIGHTS: "14.9888"}),
    (
        (
            "INFO 01-02 03:04:05 worker.py:241] model weights take 14.99GiB; non_torch_memory takes 0.11GiB; PyTorch activation peak "
            "memory takes 1.26GiB; the rest of the memory reserved for KV Cache is 54.83GiB."
        ),
        {
            Quantity.WEIGHTS: "14.99",
            Quantity.NON_TORCH: "0.11",
            Quantity.ACTIVATIONS: "1.26",
            Quantity.KV_CACHE: "54.83",
        },
    ),
    (
        (
            "INFO 01-02 03:04:05 worker.py:241] the current vLLM instance can use total_gpu_memory (79.10GiB) x "
            "gpu_memory_utilization (0.90) = 71.19GiB"
        ),
        {Quantity.TOTAL: "79.10", Quantity.BUDGET: "71.19"},
    ),
    ("INFO 01-02 03:04:05 gpu_executor.py:76] # GPU blocks: 27456, # CPU blocks: 2048", {Quantity.KV_BLOCKS: "27456"}),
    (
        "INFO 01-02 03:04:05 [executor_base.py:112] # cuda blocks: 27456, # CPU blocks: 2048",
        {Quantity.KV_BLOCKS: "27456"},
    ),
    (
        "INFO 01-02 03:04:05 gpu_executor.py:80] Maximum concurrency for 131072 tokens per request: 3.35x",
        {Quantity.CONTEXT: "131072", Quantity.CONCURRENCY: "3.35"},
    ),
    (
        (
            "(EngineCore_DP0 pid=9) DEBUG 01-02 03:04:05 [gpu_worker.py:297] Memory profiling takes 4.10 seconds. Total non KV cache "
            "memory: 17.01GiB; torch peak memory increase: 1.31GiB; non-torch forward increase memory: 0.43GiB; weights memory: 15.27GiB."
        ),
        {Quantity.ACTIVATIONS: "1.31", Quantity.NON_TORCH: "0.43"},
    ),
    (
        (
            "(EngineCore pid=9) INFO 01-02 03:04:05 [kv_cache_utils.py:1147] GPU KV cache size: 743,120 tokens, Maximum concurrency for "
            "40,960 tokens per request: 18.14x"
        ),
        {Quantity.KV_TOKENS: "743120", Quantity.CONTEXT: "40960", Quantity.CONCURRENCY: "18.14"},
    ),
    (
        (
            "(EngineCore pid=9) INFO 01-02 03:04:05 [gpu_worker.py:1045] Free memory on device (139.29/139.8 GiB) on startup. Desired GPU "
            "memory utilization is (0.6, 83.88 GiB). Actual usage is 56.66 GiB for consumed memory (weights + non-torch), 1.68 GiB for "
            "peak activation, and 0.66 GiB for CUDAGraph memory."
        ),
        {
            Quantity.FREE: "139.29",
            Quantity.TOTAL: "139.8",
            Quantity.BUDGET: "83.88",
            Quantity.CONSUMED: "56.66",
            Quantity.ACTIVATIONS: "1.68",
            Quantity.GRAPHS: "0.66",
        },
    ),
    (
        "[2025-04-04 05:29:33 TP0] Load weight end. type=Gemma3, dtype=torch.bfloat16, avail mem=2.29 GB, mem usage=21.01 GB.",
        {Quantity.WEIGHTS: "21.01"},
    ),
    (
        "[2025-04-04 05:29:33 TP0] KV Cache is allocated. #tokens: 436661, K size: 29.15 GB, V size: 29.15 GB",
        {Quantity.KV_CACHE: "58.30"},
    ),
    (
        (
            "[2025-04-04 05:29:33 TP0] max_total_num_tokens=436661, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            "max_running_requests=2048, context_len=131072, available_gpu_mem=8.11 GB"
        ),
        {Quantity.KV_TOKENS: "436661", Quantity.CONTEXT: "131072"},
    ),
    (
        "[2025-04-04 05:29:33 TP0] Capture cuda graph end. Time elapsed: 5.82 s. mem usage=1.27 GB. avail mem=8.11 GB.",
        {Quantity.GRAPHS: "1.27"},
    ),
    (
        "[07/13/2025-09:26:15] [TRT-LLM] [I] [MemUsageChange] Allocated 12.85 GiB for max tokens in paged KV cache (83616).",
        {Quantity.KV_CACHE: "12.85", Quantity.KV_TOKENS: "83616"},
    ),
]


@pytest.mark.parametrize(("line", "expected"), WORDINGS)
def test_each_wording_is_read_in_gib_and_counts(tmp_path, line, expected):
    log = read(tmp_path, [line])
    assert {quantity: value(log, quantity) for quantity in Quantity if log.of(quantity)} == {
        quantity: Decimal(text) for quantity, text in expected.items()
    }


def test_the_buffers_of_llama_cpp_add_up_by_device_and_the_hosts_are_left_out(tmp_path):
    log = read(
        tmp_path,
        [
            "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) - 23306 MiB free",
            "load_tensors:   CPU_Mapped model buffer size =   525.00 MiB",
            "load_tensors:        CUDA0 model buffer size =  4403.50 MiB",
            "llama_context: n_ctx_per_seq = 8192",
            "llama_kv_cache_unified:      CUDA0 KV buffer size =   512.00 MiB",
            "llama_kv_cache_unified:      CUDA0 KV buffer size =   256.00 MiB",
            "llama_context:      CUDA0 compute buffer size =   560.00 MiB",
            "llama_context:  CUDA_Host compute buffer size =    24.01 MiB",
        ],
    )
    assert log.engine == "llamacpp"
    assert {
        reading.quantity: (reading.value / MIB, reading.process)
        for reading in log.readings
        if not reading.quantity.counted
    } == {
        Quantity.FREE: (23306, "CUDA0"),
        Quantity.WEIGHTS: (Decimal("4403.50"), "CUDA0"),
        Quantity.KV_CACHE: (768, "CUDA0"),
        Quantity.ACTIVATIONS: (560, "CUDA0"),
    }


def test_a_host_without_gpus_keeps_its_own_buffers(tmp_path):
    log = read(tmp_path, ["load_tensors:   CPU_Mapped model buffer size =   525.00 MiB"])
    assert [reading.value / MIB for reading in log.of(Quantity.WEIGHTS)] == [525]


def test_of_several_starts_only_the_last_counts(tmp_path):
    log = read(tmp_path, [*HEALTHY, *[line.replace("15.", "9.") for line in HEALTHY[:4]]])
    assert {reading.value / GIB for reading in log.of(Quantity.WEIGHTS)} == {Decimal("9.27"), Decimal("9.31")}
    assert log.of(Quantity.GRAPHS) == ()
    assert log.started is None


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 51.14 GiB. GPU 0 has a total capacity of 139.80 GiB of which 38.29 GiB is free.",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        "ValueError: To serve at least one request with the models's max seq len (131072), (4.54 GiB KV cache is needed, which is larger than the available KV cache memory (1.71 GiB).",
        "ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB).",
    ],
)
def test_running_out_of_memory_is_a_shortage_with_its_line(tmp_path, line):
    log = read(tmp_path, [*HEALTHY[:4], f"(EngineCore pid=6) ERROR 11-29 14:20:59 [core.py:1] {line}"])
    assert log.shortage is not None
    assert (log.shortage.line, log.shortage.text) == (5, line)
    assert log.started is None


def test_an_allocation_that_failed_while_tuning_is_none_where_the_engine_came_up(tmp_path):
    survived = f"(EngineCore pid=6) {STAMP} [autotuner.py:1] CUDA out of memory. Tried to allocate 1.00 GiB, trying a smaller one"
    assert read(tmp_path, [*HEALTHY[:4], survived, *HEALTHY[4:]]).shortage is None
    later = read(tmp_path, [*HEALTHY, survived])
    assert later.shortage is not None
    assert later.shortage.line == 11


def test_a_log_without_memory_is_refused(tmp_path):
    with pytest.raises(InputError, match="says nothing of memory"):
        read(tmp_path, ["hello", "world"])


def test_the_settings_of_an_old_namespace_and_of_sglang_are_read(tmp_path):
    old = read(
        tmp_path,
        [
            (
                "INFO 01-02 03:04:05 [api_server.py:1044] args: Namespace(subparser='serve', model_tag='meta/m', host=None, port=8000, "
                "dtype='auto', max_model_len=8192, tensor_parallel_size=4, gpu_memory_utilization=0.92, enforce_eager=False, model='meta/m')"
            ),
            "INFO 01-02 03:04:06 [gpu_model_runner.py:1347] Model loading took 3.7710 GiB and 2.1 seconds",
        ],
    )
    assert old.stated.flags == ("--max-model-len=8192", "--gpu-memory-utilization=0.92", "--no-enforce-eager")
    assert old.parallelism == Parallelism(tp=4)
    sglang = read(
        tmp_path,
        [
            (
                "[2025-04-04 05:13:11] server_args=ServerArgs(model_path='/m/g', dtype='auto', context_length=None, "
                "mem_fraction_static=0.88, tp_size=4, ep_size=4, host='0.0.0.0')"
            ),
            "[2025-04-04 05:29:33 TP3] Load weight end. type=G, avail mem=2.29 GB, mem usage=21.01 GB.",
        ],
    )
    assert sglang.stated.flags == ("--mem-fraction-static=0.88",)
    assert sglang.parallelism == Parallelism(tp=4, ep=True)


def test_the_healthy_start_on_an_h200_is_read_whole():
    path = CASES / "gpu-logs" / "01-h200-vllm-0.26.0-qwen3-8b-shape-healthy.log"
    if not path.is_file():
        pytest.skip("the shared cases are not here")
    log = memory_log(path)
    found = {quantity: value(log, quantity) for quantity in Quantity if log.of(quantity)}
    assert found == {
        Quantity.WEIGHTS: Decimal("15.27"),
        Quantity.ACTIVATIONS: Decimal("1.29"),
        Quantity.GRAPHS: Decimal("1.00"),
        Quantity.KV_CACHE: Decimal("102.05"),
        Quantity.NON_TORCH: Decimal("0.22"),
        Quantity.TOTAL: Decimal("139.8"),
        Quantity.FREE: Decimal("139.29"),
        Quantity.BUDGET: Decimal("118.83"),
        Quantity.KV_TOKENS: Decimal(743120),
        Quantity.CONCURRENCY: Decimal("18.14"),
        Quantity.CONTEXT: Decimal(40960),
    }
