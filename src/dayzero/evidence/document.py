"""The JSON documents of ``dayzero evidence``, schema ``dayzero/evidence/v1``."""

from dayzero.core.verdict import Place, Proven, Refuted
from dayzero.evidence.explain import Argued, Backed, Backing, Computed, Dossier, Unbacked
from dayzero.evidence.model import Statement, Uncitable
from dayzero.evidence.report import Report
from dayzero.evidence.state import (
    ClaimState,
    Corrected,
    Flag,
    Missing,
    Retracted,
    Standing,
    State,
    Superseded,
    Unsupported,
    Withdrawn,
    Withheld,
)
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
            "explanations": report.explanations,
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


def claim_document(dossier: Dossier) -> dict[str, object]:
    """Write what stands under a slug: a claim, a derived one, an explanation, or a value that is withheld."""
    last, backing = dossier.last, dossier.backing
    return {
        "schema": SCHEMA,
        "kind": "claim",
        "state": state_word(last),
        "flags": [_flag(flag) for flag in last.flags] if isinstance(last, Standing) else [],
        "type": to_wire(_record(last))[0],
        "claim": _claim(last),
        "backed": not isinstance(backing, Unbacked),
        **_backing(backing),
        "history": [_state(state) for state in dossier.history],
    }


def state_word(state: ClaimState | State) -> str:  # noqa: PLR0911  (one word a state)
    """Say a state in one word."""
    match state:
        case Standing():
            return "standing"
        case Superseded():
            return "superseded"
        case Corrected():
            return "corrected"
        case Withdrawn():
            return "withdrawn"
        case Retracted():
            return "retracted"
        case Unsupported():
            return "unsupported"
        case Withheld():
            return "withheld"
        case Missing():
            return "missing"


def _record(state: ClaimState) -> Statement | Uncitable:
    return state.uncitable if isinstance(state, Withheld) else state.claim


def _claim(state: ClaimState) -> dict[str, object]:
    record = _record(state)
    return {**to_wire(record)[1], "text": _text(record)}


def _text(record: Statement | Uncitable) -> str:
    """Give what a page may print; of a value that is withheld, nothing."""
    return "" if isinstance(record, Uncitable) else record.text


def _backing(backing: Backing) -> dict[str, object]:
    told: dict[str, object] = {"place": None, "raw": None, "formula": "", "rests_on": [], "trials": [], "unbacked": ""}
    match backing:
        case Backed(raw_file=raw_file, place=place):
            told |= {"place": _place(place), "raw": to_wire(raw_file)[1]}
        case Computed(formula=formula, inputs=under):
            told |= {"formula": formula, "rests_on": [_under(slug, state) for slug, state in under]}
        case Argued(facts=under, trials=trials):
            told |= {
                "rests_on": [_under(slug, state) for slug, state in under],
                "trials": [
                    {"name": trial.name, "outcome": trial.outcome, "place": _place(place)} for trial, place in trials
                ],
            }
        case Unbacked(reason=reason):
            told["unbacked"] = reason
    return told


def _under(slug: str, state: State) -> dict[str, object]:
    text = state.claim.text if isinstance(state, Standing) else ""
    return {"slug": slug, "state": state_word(state), "text": text}


def _flag(flag: Flag) -> dict[str, object]:
    return {
        "flag": flag.word,
        "slug": flag.event.slug,
        "reason": flag.event.reason,
        "at": flag.event.at,
        "line": flag.line,
    }


def _state(state: ClaimState) -> dict[str, object]:
    told: dict[str, object] = {"state": state_word(state), "line": state.line, "text": _text(_record(state))}
    match state:
        case Superseded(by_line=by_line):
            told["by_line"] = by_line
        case Corrected(by_line=by_line, correction=correction):
            told |= {"by_line": by_line, "reason": correction.reason, "at": correction.at}
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            told |= {"by_line": state.retraction_line, "reason": retraction.reason, "at": retraction.at}
        case Unsupported(missing=missing):
            told["missing"] = list(missing)
        case Withheld(uncitable=uncitable):
            told["reason"] = uncitable.why
        case Standing(flags=flags):
            told["flags"] = [_flag(flag) for flag in flags]
    return told


def _place(place: Place) -> dict[str, object]:
    return {"artifact": place.artifact, "file": place.file, "position": place.position, "quote": place.quote}
