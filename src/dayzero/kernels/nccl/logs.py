"""How NCCL writes: ``[time] host:pid:tid [dev] file.cc:129 NCCL WARN message``, with or without time, device and file.

Source: nccl src/debug.cc, 2.18 to 2.28.
"""

import re

from dayzero.triage.dialect import LogDialect

DIALECT = LogDialect(
    name="nccl",
    record_prefixes=(
        re.compile(
            r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?[\w.-]+:(?P<pid>\d+):\d+ \[-?\w+\] "
            r"(?:(?P<source>[\w/.-]+:\d+) )?(?=NCCL (?:WARN|ERROR|INFO|TRACE))"
        ),
    ),
    fallout=(
        re.compile(
            r"remote process exited or there was a network error"
            r"|ncclRemoteError|Connection closed by (?:remote )?peer|socketProgress"
        ),
        re.compile(
            r"Call to (?:recv|bind|connect)\S* (?:from|to) .* failed : (?:Connection reset|Broken pipe|Connection refused)"
        ),
    ),
    noise=(re.compile(r"^NCCL (?:INFO|TRACE)\b|^NCCL version "),),
)
