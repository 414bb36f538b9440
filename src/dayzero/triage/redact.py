"""Take secrets out of a line before it leaves."""

import re

_SECRETS = (
    (
        re.compile(r"\b(hf_|sk-|nvapi-|ghp_|gho_|github_pat_|glpat-|xox[abp]-|AKIA|AIza)[A-Za-z0-9_-]{8,}"),
        r"\1[redacted]",
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), r"\1 [redacted]"),
    (re.compile(r"(://[^/\s:@'\"]*:)[^@/\s'\"]+@"), r"\1[redacted]@"),
    (
        re.compile(
            r"(?i)((?<![\w-])(?:--)?[\w-]{0,40}(?:api[_-]?keys?|secret(?:[_-]?(?:access[_-]?)?key)?|passw(?:or)?d|passwd|auth[_-]?token"
            r"|access[_-]?token|hf[_-]?token|hub[_-]?token)[\"']?\s*[=: ]\s*)(\[[^\]]*\]|\"[^\"]*\"|'[^']*'|[^\s,;)}\]]+)"
        ),
        r"\1[redacted]",
    ),
    (re.compile(r"\b(ms-)[0-9a-f]{8}-[0-9a-f-]{20,}"), r"\1[redacted]"),
    # A name with a colon tells a secret from a tensor's name by its letters and digits without dots.
    (
        re.compile(
            r"(?i)((?<![a-z])(?:[\w-]{0,40}[_-])?(?:token|key|secret)[\"']?:\s*[\"']?)"
            r"(?=[a-z+/=_-]*\d)(?=[\d+/=_-]*[a-z])[\w+/=-]{16,}(?![.\w])"
        ),
        r"\1[redacted]",
    ),
    (re.compile(r"(?i)(https?://(?:hooks?\.[^\s/'\"]+|[^\s'\"?]{1,200}/(?:web)?hooks?)/)[^\s'\"]+"), r"\1[redacted]"),
    (re.compile(r"(?i)(\b(?:set-)?cookie[\"']?\s*:\s*)[^\n'\"]+"), r"\1[redacted]"),
    (re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?=-----END|\Z)"), r"\1[redacted]"),
    (re.compile(r"(?m)^\s*(?![0-9a-f]+\s*$)[A-Za-z0-9+/]{60,}={0,2}\s*$"), "[redacted]"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), "[redacted]"),
    (
        re.compile(
            r"(?i)([?&](?:token|access_token|key|sig|signature|credential|googleaccessid|x-(?:amz|goog)-[\w-]+)=)[^&\s'\"]+"
        ),
        r"\1[redacted]",
    ),
)
_MAX = 2000


def redacted(text: str) -> str:
    """Give the line with its secrets replaced and at most 2000 characters."""
    text = text if len(text) <= _MAX else f"{text[:_MAX]} [...]"
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text
