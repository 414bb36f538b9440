"""How Triton Inference Server writes its log: glog records, tables, Python stubs whose tracebacks are escaped into one line.

Source: triton-inference-server/core (model_lifecycle.cc), python_backend (pb_stub.cc), 23.x to 25.x.
"""

import re

from dayzero.triage.dialect import LogDialect, Mark, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="triton",
    signature=re.compile(r"TRITONBACKEND|tritonserver|pb_stub\.cc|model_lifecycle\.cc|python_be\.cc|backend_model\.cc"),
    record_prefixes=(
        re.compile(
            r"(?P<level>[EWIF])\d{4} \d\d:\d\d:\d\d\.\d+ +(?P<pid>\d+) (?P<source>[\w./-]+\.(?:cc|h|cpp|cu):\d+)\] ?"
        ),
    ),
    process_roles=(),
    reports=(
        Saying(
            re.compile(r"error: creating server: Internal - failed to load all models|failed to load all models"),
            Role.SERVER,
        ),
        Saying(
            re.compile(r"Timeout \d+: Found \d+ live models|Waiting for in-flight requests to complete"), Role.SERVER
        ),
    ),
    noise=(re.compile(r"^\s*[+][-=+]"),),
    began=(re.compile(r"Triton Inference Server|Triton server started|triton server started"),),
    started=(re.compile(r"Started GRPCInferenceService at|Started HTTPService at"),),
    stages=(Mark(re.compile(r'"?loading: \S+'), "loading models"),),
    versions=(re.compile(r"server_version +\| (?P<version>\d[\w.]*)"),),
)
