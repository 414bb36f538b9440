"""How vLLM writes its log, from 0.5 to 0.32.

Process prefixes changed name several times: ``VllmWorkerProcess pid=`` (0.5-0.7), ``VllmWorker rank=0 pid=`` (0.8-0.10.0),
``VllmWorker PP0_TP0``, ``EngineCore_0`` (0.10), ``EngineCore_DP0``, ``Worker_TP0_EP0`` (0.10.2-0.17), ``EngineCore``,
``Worker_DP0_TP1`` (since). Source: vllm/logging_utils/formatter.py, vllm/utils/system_utils.py (decorate_logs) and
v1/executor/multiproc_executor.py.
"""

import re

from dayzero.triage.cause import names_cause
from dayzero.triage.dialect import LogDialect, Mark, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="vllm",
    signature=re.compile(r"\bvllm\b|vLLM"),
    process_prefixes=(
        re.compile(
            r"\((?P<name>(?:EngineCore|APIServer|ApiServer|Api_Server|Worker|VllmWorker|VllmWorkerProcess|DPCoordinator|Frontend)\w*"
            r"(?:-\d+)?(?: (?:rank=\d+|[A-Z]+\d+(?:_[A-Z]+\d+)*))?) pid=(?P<pid>\d+)\) ?"
        ),
    ),
    record_prefixes=(
        re.compile(
            r"(?:\S{1,80} )?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? "
            r"\[?(?P<source>[\w./<>-]+:\d+)\] ?"
        ),
    ),
    process_roles=(
        Saying(re.compile(r"EngineCore|SpawnProcess|engine_core"), Role.ENGINE_CORE),
        Saying(re.compile(r"(?:Vllm)?Worker|VllmWorkerProcess"), Role.WORKER),
        Saying(re.compile(r"A[Pp][Ii]_?Server"), Role.API_SERVER),
    ),
    frame_roles=(
        Saying(
            re.compile(r"multiproc_executor\.py:(?:worker_main|worker_busy_loop)|multiproc_worker_utils\.py:"),
            Role.WORKER,
        ),
        Saying(
            re.compile(
                r"v1/engine/core\.py:run_engine_core|multiprocessing/engine\.py:run_(?:mp|rpc)_|rpc/server\.py:run_rpc_server"
            ),
            Role.ENGINE_CORE,
        ),
        Saying(re.compile(r"vllm/entrypoints/llm\.py:"), Role.CLIENT),
        Saying(
            re.compile(r"vllm/entrypoints/|vllm/(?:scripts|v1/engine/(?:async_llm|core_client|utils))\.py:"),
            Role.API_SERVER,
        ),
    ),
    reports=(
        Saying(re.compile(r"Engine core initialization failed\b"), Role.API_SERVER),
        Saying(re.compile(r"[Ff]rontend process(?:es)? failed during engine core initialization"), Role.API_SERVER),
        Saying(
            re.compile(r"RuntimeError: Engine process failed to start|Engine process \([^)]*\) died"), Role.API_SERVER
        ),
        Saying(
            re.compile(r"Engine loop (?:is not running|has died)|AsyncEngineDeadError|MQEngineDeadError"),
            Role.API_SERVER,
        ),
        Saying(re.compile(r"EngineDeadError|EngineCore encountered (?:an issue|a fatal error)"), Role.API_SERVER),
        Saying(re.compile(r"EngineCore (?:failed to start|hit an exception|died)"), Role.ENGINE_CORE),
        Saying(re.compile(r"^Process EngineCore\w*:"), Role.ENGINE_CORE),
        Saying(re.compile(r"^Process (?:SpawnProcess|ForkProcess)-\d+:"), Role.ENGINE_CORE),
        Saying(re.compile(r"WorkerProc (?:failed to start|hit an exception)"), Role.WORKER),
        Saying(re.compile(r"^Process (?:Vllm)?Worker[\w-]*:"), Role.WORKER),
        Saying(
            re.compile(
                r"Exception in worker \S+ while processing method|Error executing method \S+\. This might cause"
            ),
            Role.WORKER,
        ),
        Saying(
            re.compile(r"WorkerProc initialization failed due to an exception in a background process"), Role.EXECUTOR
        ),
        Saying(
            re.compile(r"Worker failed with error '(?P<quoted>.*?)', please check the stack trace", re.DOTALL),
            Role.EXECUTOR,
        ),
        Saying(re.compile(r"Worker proc \S+ died unexpectedly|Worker \S+ pid \d+ died, exit code"), Role.EXECUTOR),
        Saying(re.compile(r"(?:RuntimeError|Exception): cancelled\s*$"), Role.ENGINE_CORE),
        Saying(re.compile(r"operation failed due to a previous error during capture"), Role.CONSEQUENCE),
        Saying(
            re.compile(r"Error in inspecting model architecture|RuntimeError: Error raised in subprocess:"),
            Role.INSPECT,
        ),
    ),
    fallout=(
        re.compile(
            r"^(?:\w+\.)*(?:CancelledError|SystemExit|KeyboardInterrupt|BrokenPipeError|EOFError|ConnectionResetError|GeneratorExit)\b"
        ),
        re.compile(
            r"^zmq\.error\.(?!ZMQError: (?:Address already|Cannot assign|Permission|No such))|^ConnectionRefusedError"
            r"|shutdown_event|TimeoutError: RPC call to \S+ timed out"
        ),
    ),
    noise=(
        re.compile(r"resource_tracker: There appear to be|leaked (?:shared_memory|semaphore) objects|warnings\.warn\("),
        re.compile(r"Found ulimit of \d+ and failed to automatically increase"),
        re.compile(
            r"^\s*(?:vllm_config|non-default args|args: Namespace)\b|Dumping input data|Dumping scheduler output"
        ),
        re.compile(r"Initializing a V\d LLM engine"),
    ),
    masks=(
        (
            re.compile(r"Error in inspecting model architecture"),
            re.compile(r"are not supported for now|failed to be inspected|has no vLLM implementation"),
        ),
    ),
    began=(re.compile(r"vLLM (?:API )?server version|^non-default args: |^args: Namespace\("),),
    started=(re.compile(r"Application startup complete|Uvicorn running on http"),),
    stages=(
        Mark(re.compile(r"Initializing a V\d LLM engine|Initializing an LLM engine"), "engine configured"),
        Mark(re.compile(r"Starting to load model"), "loading weights"),
        Mark(re.compile(r"Model loading took|Loading weights took"), "weights loaded"),
        Mark(re.compile(r"Available KV cache memory|# GPU blocks|GPU KV cache size"), "KV cache sized"),
        Mark(
            re.compile(r"Capturing (?:CUDA|cudagraph|the model)|Graph capturing finished|Warming up model"),
            "warming up",
        ),
    ),
    versions=(
        re.compile(r"(?:vLLM (?:API )?server version|LLM engine \(v) ?(?P<version>\d+\.\d+[\w.+-]*)"),
        re.compile(r"\bversion (?P<version>\d+\.\d+\.\d+[\w.+-]*)\s*$"),
    ),
    exits=(
        re.compile(r"'(?P<process>(?:EngineCore|ApiServer|DPCoordinator|Worker)\w*)': (?P<status>-?\d+)"),
        re.compile(r"Worker proc (?P<process>\S+) died unexpectedly \(exit code: (?P<status>-?\d+)\)"),
        re.compile(r"Worker (?P<process>\S+) pid \d+ died, exit code: (?P<status>-?\d+)"),
    ),
    misleading_advice=(
        (
            re.compile(r"VLLM_LOGGING_LEVEL=DEBUG"),
            "VLLM_LOGGING_LEVEL=DEBUG prints nothing more about why no device was found: look at what torch sees instead.",
        ),
    ),
)


def looks_like_cause(line: str) -> bool:
    """Say whether a line names a cause rather than the fall that follows one."""
    return names_cause(line, DIALECT)
