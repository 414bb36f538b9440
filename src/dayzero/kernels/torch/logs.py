"""How PyTorch's C++ side and its process groups write: ``[rank0]:[W320 08:11:09.1 ProcessGroupNCCL.cpp:1538] message``.

Source: c10/util/Logging.cpp, torch/distributed/elastic/multiprocessing/errors, 2.1 to 2.13.
"""

import re

from dayzero.triage.dialect import LogDialect, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="torch",
    record_prefixes=(
        re.compile(
            r"(?:\[(?P<process>rank\d+)\]:)?\[?(?P<level>[EWIF])\d{3,4} \d\d:\d\d:\d\d\.\d+"
            r"(?: +(?P<pid>\d+))? (?P<source>[\w/.-]+:\d+)\] ?"
        ),
        re.compile(r"\[(?P<process>rank\d+)\]: ?"),
    ),
    process_roles=(Saying(re.compile(r"rank\d+$"), Role.WORKER),),
    reports=(
        Saying(
            re.compile(r"ChildFailedError|torch\.distributed\.elastic\.multiprocessing\.api.*failed \(exitcode"),
            Role.LAUNCHER,
        ),
        Saying(
            re.compile(r"operation failed due to a previous error during capture|cudaErrorStreamCaptureInvalidated"),
            Role.CONSEQUENCE,
        ),
        Saying(re.compile(r"ProcessRaisedException|ProcessExitedException"), Role.LAUNCHER),
    ),
    fallout=(
        re.compile(
            r"Connection (?:closed by|reset by) peer|recvValueWithTimeout failed|failed to recv, got 0 bytes|recvBytes failed"
        ),
        re.compile(
            r"The client socket has (?:timed out|failed)|Broken pipe|DistNetworkError(?!: The server socket)"
            r"|process group has been destroyed"
        ),
    ),
    noise=(
        re.compile(r"destroy_process_group\(\) was not called|resource_tracker:|TCPStore\.cpp.*(?:INFO|sendBytes)"),
        re.compile(r"The hostname of the client socket cannot be retrieved|NUMA binding: Using"),
        re.compile(
            r"CUDA kernel errors might be asynchronously"
            r"|For debugging consider passing CUDA_LAUNCH_BLOCKING|Compile with `TORCH_USE_CUDA_DSA`"
        ),
    ),
    exits=(re.compile(r"failed \(exitcode: (?P<status>-?\d+)\)"),),
    misleading_advice=(
        (
            re.compile(r"PYTORCH_(?:CUDA_)?ALLOC_CONF=expandable_segments:True"),
            (
                "torch's hint expandable_segments:True helps against fragmentation only, and memory of that kind "
                "cannot be shared over CUDA IPC: with tensor parallelism it breaks custom all-reduce."
            ),
        ),
    ),
)
