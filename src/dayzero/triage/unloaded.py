"""Read a warning that something could not be loaded, and tell which later exception asks for it."""

import re
from functools import cache

from dayzero.triage.traceback import Raised, Relation

_VERBS = r"(?:import(?:ing)?|load(?:ing)?|find|initiali[sz]e|enable)"
_TRIED = re.compile(
    rf"(?:[Ff]ailed to|[Cc]ould not|[Cc]ouldn't|[Cc]annot|[Cc]an't|[Uu]nable to|[Ee]rror) {_VERBS} (?P<what>[^\n:;,(]{{1,120}})"
    r"|(?P<before>[\w.`'\"-]+(?: [\w.-]+){0,4}) (?:import failed|failed to (?:import|load)|could not be (?:imported|loaded|found)"
    r"|cannot be (?:imported|loaded)|(?:is )?(?:not available|unavailable|disabled))",
)
_ASKED = re.compile(
    r"\brequire|\bneed|not (?:available|installed|found|supported|defined|loaded|callable|enabled)|unavailable|must be installed"
    r"|\bmissing\b|is None|[Pp]lease install|has no attribute|'NoneType'|[Cc]annot use|could not be (?:imported|loaded)|without"
)
_REASON = re.compile(
    r"(?P<type>\b\w{1,60}(?:Error|Exception))\b[:(]? ?[\"']?|(?:(?:[Ee]rror|[Rr]eason|due to|because(?: of)?):?|:) ?"
)
_NAME = re.compile(r"[A-Za-z][\w-]{2,60}")
_COMMON = re.compile(
    r"(?:from|the|modules?|kernels?|library|libraries|packages?|extensions?|backends?|errors?|failed|import|load|custom|class|model|file"
    r"|function|python|torch|vllm|sglang|native|attention|engine|plugins?|features?|shared|object|support|default|with|this|that)$"
)
_SHORTEST = 4


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


@cache
def features(text: str) -> frozenset[str]:
    """Name what a warning says could not be loaded, in plain letters; empty where it says no such thing."""
    found = _TRIED.search(text)
    if found is None:
        return frozenset()
    subject = found["what"] or found["before"] or ""
    subject = re.split(r" (?:with|due|because|as|since|for|so)\b", subject, maxsplit=1)[0]
    names = (_plain(name) for name in _NAME.findall(subject) if not _COMMON.match(name.lower()))
    return frozenset(name for name in names if len(name) >= _SHORTEST)


def asks_for(names: frozenset[str], exception: str) -> bool:
    """Say whether an exception wants one of the things that could not be loaded."""
    return bool(names and _ASKED.search(exception)) and any(name in _plain(exception) for name in names)


def reason(number: int, text: str) -> Raised | None:
    """Give the reason in such a warning as the exception that it was."""
    found = _TRIED.search(text)
    cut = _REASON.search(text, found.end()) if found else None
    if cut is None:
        return None
    name = cut["type"] or "ImportError"
    said = f"{name}: {text[cut.end() :]}"
    return Raised(type=name, lines=((number, said),), frames=(), relation=Relation.FIRST)
