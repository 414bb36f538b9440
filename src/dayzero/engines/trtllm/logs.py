"""How TensorRT-LLM writes its log: ``[date-time] [TRT-LLM] [RANK n] [E] message``, C++ ``[TensorRT-LLM][ERROR]``; bare tracebacks.

Source: tensorrt_llm/logger.py, cpp/tensorrt_llm/common/logger.cpp, executor/proxy.py, 0.9 to 1.0.
"""

import re

from dayzero.triage.dialect import LogDialect, Mark, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="trtllm",
    signature=re.compile(r"TRT-LLM|TensorRT-LLM|\btensorrt_llm\b"),
    record_prefixes=(
        re.compile(
            r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[(?P<source>TRT-LLM|TRT)\] (?:\[(?P<process>RANK \d+)\] )?"
            r"(?:\[(?P<level>[A-Z])\] )?"
        ),
        re.compile(r"\[(?P<source>TensorRT-LLM|TRT)\]\[(?P<level>ERROR|WARNING|INFO|DEBUG|VERBOSE)\] ?(?:\[\w+\] ?)?"),
    ),
    process_roles=(Saying(re.compile(r"RANK \d+"), Role.WORKER),),
    frame_roles=(
        Saying(re.compile(r"executor/worker\.py:|executor/base_worker\.py:|_torch/pyexecutor/"), Role.WORKER),
        Saying(re.compile(r"executor/proxy\.py:|executor/executor\.py:|llmapi/"), Role.API_SERVER),
    ),
    reports=(
        Saying(re.compile(r"Executor worker (?:returned error|died)|Executor worker process died"), Role.SERVER),
        Saying(
            re.compile(r"MPI_ABORT was invoked|MPI_Abort\(|mpirun noticed|PRTE has lost communication|prterun"),
            Role.LAUNCHER,
        ),
        Saying(re.compile(r"Primary job +terminated normally, but"), Role.LAUNCHER),
    ),
    noise=(
        re.compile(
            r"nanobind: (?:leaked|this is likely|- leaked)"
            r"|^\s*- leaked (?:type|function|instance)|leaked \d+ (?:types|functions|instances)"
        ),
    ),
    began=(re.compile(r"TensorRT-LLM version:"),),
    started=(re.compile(r"Application startup complete|Uvicorn running on http"),),
    stages=(
        Mark(re.compile(r"start MpiSession"), "workers spawned"),
        Mark(re.compile(r"Loading (?:weights|model)|Prefetching"), "loading weights"),
        Mark(re.compile(r"(?:Max KV cache|Allocated .* for max tokens in paged KV cache)"), "KV cache allocated"),
    ),
    versions=(re.compile(r"TensorRT-LLM version: (?P<version>\d+\.\d+[\w.]*)"),),
    exits=(re.compile(r"\bExit code:\s+(?P<status>-?\d+)"),),
)
