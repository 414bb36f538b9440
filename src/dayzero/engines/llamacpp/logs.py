"""How llama.cpp and what embeds it (ollama, LM Studio) write their log: ``function: text``, with or without time and level.

An error is reported again by every caller on the way out; only the first report says why. Source: common/log.cpp, src/llama.cpp,
ollama llama/runner, b3000 to b11549.
"""

import re

from dayzero.triage.cause import names_cause
from dayzero.triage.dialect import LogDialect, Mark, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="llamacpp",
    signature=re.compile(
        r"\b(?:llama_\w+|llm_load_\w+|ggml_\w+|print_info|common_init\w*|llama_server)\b|\bollama\b|xllamacpp"
    ),
    record_prefixes=(
        re.compile(r"\d+\.\d\d\.\d{3}\.\d{3} (?P<level>[DIWE]) "),
        re.compile(r"time=\S+ level=(?P<level>\w+) source=(?P<source>\S+) (?:msg=)?"),
    ),
    reports=(
        Saying(
            re.compile(r"exiting due to model loading error|Failed to init server, please check the input params"),
            Role.SERVER,
        ),
        Saying(re.compile(r"panic: unable to (?:load model|create llama context)"), Role.SERVER),
        Saying(
            re.compile(r'error loading llama server|llama runner process has terminated: (?P<quoted>[^"\\]+)'),
            Role.SERVER,
        ),
        Saying(
            re.compile(
                r"failed to load model\b|failed to create[ _]context|error loading model: unable to allocate \w+ buffer"
            ),
            Role.SERVER,
        ),
        Saying(
            re.compile(
                r"failed to initialize the context: failed to allocate|encountered an error while trying to fit params"
            ),
            Role.SERVER,
        ),
        Saying(re.compile(r"exiting due to (?:HTTP server error|\w+ error)"), Role.SERVER),
    ),
    noise=(re.compile(r"^goroutine \d+ \[|^\s+\S+\.go:\d+|^created by "),),
    began=(re.compile(r"llama_model_loader: loaded meta data|^build: \d+ \("),),
    started=(
        re.compile(
            r"server is listening on|^listening on http|HTTP server listening|llama runner started in|Listening on .*\(version"
        ),
    ),
    stages=(
        Mark(re.compile(r"llama_model_loader: loaded meta data"), "header read"),
        Mark(re.compile(r"load_tensors: |llm_load_tensors: "), "loading tensors"),
        Mark(re.compile(r"llama_(?:new_context_with_model|context|kv_cache)\w*: "), "context"),
    ),
    cascades=True,
    versions=(re.compile(r"\bbuild(?:_info)?: b?(?P<version>\d+)\b"),),
)


def looks_like_cause(line: str) -> bool:
    """Say whether a line names a cause rather than a caller's report of it."""
    return names_cause(line, DIALECT)
