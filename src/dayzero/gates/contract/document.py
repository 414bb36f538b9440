"""The report as JSON, schema ``dayzero/gate-contract/v1``, and as lines of text."""

from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.gates.contract.model import Found, Kept, Report, outcome_word

SCHEMA: Final = "dayzero/gate-contract/v1"

_WORDS: Final = ("holds", "broken", "not offered", "undecided")


def document(report: Report, *, url: str, engine: str, exchanges: Mapping[str, object]) -> dict[str, object]:
    """Write the report.

    Args:
        report: What was found.
        url: The endpoint.
        engine: The engine that answered, ``""`` where none was recognised.
        exchanges: File and digest of the requests and answers.
    """
    return {
        "schema": SCHEMA,
        "url": url,
        "model": report.model,
        "engine": engine,
        "route": report.route,
        "verdict": report.verdict.value,
        "counts": {word: report.count(word) for word in _WORDS},
        "checks": [_check(found) for found in report.found],
        "known_but_not_broken": list(report.unknown),
        "exchanges": dict(exchanges),
    }


def _check(found: Found) -> dict[str, object]:
    return {
        "check": found.check,
        "promise": found.promise,
        "outcome": outcome_word(found.outcome),
        "known": found.known,
        "reason": found.outcome.reason,
        "exchanges": list(found.exchanges),
    }


def lines(report: Report) -> Iterator[str]:
    """Write the table, and what it comes to."""
    name = max(len(found.check) for found in report.found)
    word = max(map(len, _WORDS))
    for found in report.found:
        known = " (known)" if found.known else ""
        yield f"{found.check:<{name}}  {outcome_word(found.outcome):<{word}}  {found.outcome.reason}{known}"
    yield ""
    yield f"{_sentence(report)}: " + ", ".join(f"{report.count(said)} {said}" for said in _WORDS)
    for check in report.unknown:
        yield f"note: {check} was said to be broken, and is not"


def _sentence(report: Report) -> str:
    match report.verdict:
        case Kept.KEPT:
            known = sum(found.known for found in report.found)
            return f"kept, but for {known} known" if known else "kept"
        case Kept.BROKEN:
            return "broken"
        case Kept.UNDECIDED:
            return "undecided"
