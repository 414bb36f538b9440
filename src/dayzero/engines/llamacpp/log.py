"""Tell causes from their aftermath in llama.cpp's log.

A record reads ``0.00.005.758 E llama_model_load: error loading model: ...``: time, level, function, message. An error is
reported again by every caller on the way out; only the first report says why.
"""

import re

_RECORD = re.compile(r"(?P<time>\d+\.\d\d\.\d{3}\.\d{3}) (?P<level>[A-Z]) (?P<message>.*)")
_LAUNCHER = re.compile(r"error: \S.*")
_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?")
_LOADER = re.compile(r"\S+: error while loading shared libraries: .*")
_ASSERTION = re.compile(r"\S+:\d+: (?:GGML_ASSERT\(.*|.* failed)|terminate called after throwing .*")

_AFTERMATH = re.compile(
    r"failed to load model"
    r"|failed to create[ _]context"
    r"|failed to initialize the context: failed to allocate"
    r"|exiting due to"
    r"|Failed to init server, please check the input params"
)


def looks_like_cause(line: str) -> bool:
    """Say whether a line names a cause: an error record, an exception's last line, or the launcher's own ``error:``."""
    text = line.strip()
    if _AFTERMATH.search(text):
        return False
    record = _RECORD.fullmatch(text)
    if record:
        return record["level"] == "E"
    return any(pattern.fullmatch(text) for pattern in (_LAUNCHER, _EXCEPTION, _LOADER, _ASSERTION))
