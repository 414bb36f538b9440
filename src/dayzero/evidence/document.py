"""The JSON documents of ``dayzero evidence``, schema ``dayzero/evidence/v1``."""

from collections.abc import Sequence

from dayzero.core.verdict import Place, Proven, Refuted
from dayzero.evidence.explain import Backed, Explanation
from dayzero.evidence.ledger import ClaimState, Retracted, Standing, Superseded, Withdrawn
from dayzero.evidence.model import Claim, Retraction
from dayzero.evidence.report import Report
from dayzero.evidence.wire import to_wire

SCHEMA = "dayzero/evidence/v1"


def check_document(report: Report) -> dict[str, object]:
    """Write a check's report."""
    verdict = report.verdict
    answer = "proven" if isinstance(verdict, Proven) else "refuted" if isinstance(verdict, Refuted) else "undecided"
    return {
        "schema": SCHEMA,
        "kind": "check",
        "verdict": answer,
        "reason": verdict.reason,
        "checked": {
            "raw_files": report.raw_files,
            "claims": report.claims,
            "standing": report.standing,
            "pages": report.pages,
            "citations": report.citations,
            "quotes": report.quotes,
        },
        "findings": [
            {
                "kind": finding.kind.value,
                "reason": finding.reason,
                "places": [_place(place) for place in finding.places],
            }
            for finding in report.findings
        ],
    }


def claim_document(explanation: Explanation) -> dict[str, object]:
    """Write what stands under a claim."""
    backing = explanation.backing
    return {
        "schema": SCHEMA,
        "kind": "claim",
        "state": state_word(explanation.last),
        "claim": _claim(explanation.last.claim),
        "backed": isinstance(backing, Backed),
        "place": _place(backing.place) if isinstance(backing, Backed) else None,
        "raw": to_wire(backing.raw_file)[1] if isinstance(backing, Backed) else None,
        "unbacked": "" if isinstance(backing, Backed) else backing.reason,
        "history": [_state(state) for state in explanation.history],
    }


def retraction_document(
    retraction: Retraction, cited: Sequence[Place], moved_aside: Sequence[str]
) -> dict[str, object]:
    """Write what a retraction did, and which pages have to change."""
    return {
        "schema": SCHEMA,
        "kind": "retraction",
        "retraction": to_wire(retraction)[1],
        "cited_at": [_place(place) for place in cited],
        "moved_aside": list(moved_aside),
    }


def state_word(state: ClaimState) -> str:
    """Say a state in one word."""
    match state:
        case Standing():
            return "standing"
        case Superseded():
            return "superseded"
        case Withdrawn():
            return "withdrawn"
        case Retracted():
            return "retracted"


def _claim(claim: Claim) -> dict[str, object]:
    return {**to_wire(claim)[1], "text": claim.text}


def _state(state: ClaimState) -> dict[str, object]:
    told: dict[str, object] = {"state": state_word(state), "line": state.line, "text": state.claim.text}
    match state:
        case Superseded(by_line=by_line):
            told["by_line"] = by_line
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            told |= {"by_line": state.retraction_line, "reason": retraction.reason, "at": retraction.at}
        case Standing():
            pass
    return told


def _place(place: Place) -> dict[str, object]:
    return {"artifact": place.artifact, "file": place.file, "position": place.position, "quote": place.quote}
