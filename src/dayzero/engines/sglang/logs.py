"""How SGLang writes its log: ``[time DP0 TP3 EP1] message``; tracebacks stand bare below the record that announces them.

Source: sglang/srt/utils/common.py (configure_logger), managers/scheduler.py (run_scheduler_process), 0.4 to 0.5.
"""

import re

from dayzero.triage.dialect import LogDialect, Mark, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="sglang",
    signature=re.compile(r"\bsglang\b|SGLang|server_args=ServerArgs"),
    record_prefixes=(
        re.compile(
            r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
            r"(?P<process>(?: (?:ATTN_)?(?:DP|PP|TP|EP|CP|DCP|MOE_\w+)\d+)*(?: \w+_worker)?)\] "
            r"(?:(?P<level>ERROR|WARNING|INFO|DEBUG)[ :]+)?"
        ),
    ),
    process_roles=(Saying(re.compile(r"(?:(?:ATTN_)?(?:DP|PP|TP|EP|CP)\d+ ?)+$"), Role.SCHEDULER),),
    frame_roles=(
        Saying(re.compile(r"managers/(?:scheduler|tp_worker)\.py:|data_parallel_controller\.py:run"), Role.SCHEDULER),
        Saying(re.compile(r"sglang/srt/entrypoints/|sglang/launch_server\.py:"), Role.API_SERVER),
    ),
    reports=(
        Saying(
            re.compile(r"(?:Scheduler|DataParallelController|DetokenizerManager|TokenizerManager) hit an exception"),
            Role.SCHEDULER,
        ),
        Saying(re.compile(r"Received sigquit from a child process|SIGQUIT received|Received SIGQUIT"), Role.SERVER),
        Saying(
            re.compile(r"Rank \d+ scheduler is dead|Scheduler process .*(?:died|is dead)|Rank \S+ scheduler died"),
            Role.SERVER,
        ),
        Saying(
            re.compile(r"Initialization failed\. (?:Please see the error messages above|warmup error)"), Role.SERVER
        ),
        Saying(re.compile(r"Child process unexpectedly failed with (?:an )?exit ?code"), Role.SERVER),
    ),
    fallout=(re.compile(r"^EOFError\b"),),
    noise=(re.compile(r"server_args=ServerArgs"),),
    began=(re.compile(r"server_args=ServerArgs"),),
    started=(re.compile(r"The server is fired up and ready to roll"),),
    stages=(
        Mark(re.compile(r"Init torch distributed begin"), "distributed init"),
        Mark(re.compile(r"Load weight begin"), "loading weights"),
        Mark(re.compile(r"Load weight end"), "weights loaded"),
        Mark(re.compile(r"KV Cache is allocated|Memory pool end"), "KV cache allocated"),
        Mark(re.compile(r"Capture cuda graph begin"), "graph capture"),
    ),
    versions=(re.compile(r"[Ss][Gg][Ll]ang(?:==| version:? )v?(?P<version>\d+\.\d+[\w.]*)"),),
    exits=(re.compile(r"unexpectedly failed with (?:an )?exit ?code(?:=|: ?| )(?P<status>-?\d+)"),),
    misleading_advice=(
        (
            re.compile(r"increase --mem-fraction-static"),
            (
                "Raising --mem-fraction-static helps only while activations still fit beside the pool; "
                "where weights leave too little, it turns into CUDA out of memory."
            ),
        ),
    ),
)
