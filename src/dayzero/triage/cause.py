"""Read one line alone: does it name a cause, as far as its dialect can tell?"""

import re

from dayzero.triage.dialect import LogDialect
from dayzero.triage.records import entries, prefixes_of
from dayzero.triage.speech import Speech
from dayzero.triage.transport import carried, whole_lines

_DETAIL = re.compile(r"\s+(?:Value error|Assertion failed|Input should be)\b|Value error, ")
_ERROR = re.compile(
    r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|NotFound|Interrupt|Exit)(?:: .+|\s*$)|[\w ]+: error: |error: \S"
)
_NATIVE = re.compile(
    r"ptxas fatal|Failed: (?:Cuda|NCCL) error|NCCL WARN "
    r"|terminate called after throwing|\S+: error while loading shared libraries: "
    r"|\S+:\d+: (?:GGML_ASSERT\(|.* failed)|Error parsing config for "
)
_OF_TRACEBACK = re.compile(r"Traceback \(|The above exception|During handling of|Process \S+:$")
_VALIDATION = re.compile(r"validation errors? for ")


def names_cause(line: str, dialect: LogDialect) -> bool:
    """Say whether a line names a cause rather than the fall that follows one.

    One line cannot show what explains what: :func:`dayzero.triage.diagnose.diagnose` reads the whole log.
    """
    speech = Speech(dialects=(dialect,))
    for entry in entries(carried(whole_lines(((1, line.rstrip("\n")),)), frozenset()), prefixes_of((dialect,))):
        text = entry.text
        if (
            speech.report(text) is not None
            or speech.is_noise(text)
            or speech.is_fallout(text)
            or _VALIDATION.search(text)
        ):
            return False
        if _DETAIL.match(text) or _NATIVE.search(text):
            return True
        if text[:1].isspace() or _OF_TRACEBACK.match(text) or entry.level in ("I", "W", "D"):
            return False
        return (entry.level == "E" and bool(text)) or bool(_ERROR.match(text))
    return False
