"""An audit as a JSON document, and as SARIF for a code-scanning page."""

import re
from collections.abc import Mapping, Sequence

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.report import Audited, refutes
from dayzero.audit.rules import Rule, Subject
from dayzero.core.verdict import Place, verdict_word

SCHEMA = "dayzero/audit/v2"
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_QUIET = {Severity.GUARDED, Severity.UNVERIFIED}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def document(audit: Audited, subject: Subject, model: str) -> Mapping[str, object]:
    """Write an audit as a JSON document."""
    installed = subject.installed
    return {
        "schema": SCHEMA,
        "engine": str(installed.engine),
        "installed": [str(one) for one in installed.others],
        "model": model,
        "system": subject.system.name if subject.system else "",
        "compute_capability": ".".join(map(str, subject.capability)) if subject.capability else "",
        "flags": list(subject.flags),
        "verdict": verdict_word(audit.verdict),
        "reason": audit.verdict.reason,
        "findings": [_finding(one) for one in audit.findings],
        "not_checked": [_not_checked(one) for one in audit.not_checked],
        "rules": list(audit.rules),
    }


def sarif(audit: Audited, rules: Sequence[Rule], version: str) -> Mapping[str, object]:
    """Write an audit as a SARIF 2.1.0 log; a place inside a wheel becomes ``DISTRIBUTION/FILE``."""
    notifications = [
        {"level": "warning" if one.needed else "note", "message": {"text": f"{one.what}: {one.why}"}}
        for one in audit.not_checked
    ]
    return sarif_log(version, rule_descriptions(rules), [_result(one) for one in audit.findings], notifications)


def rule_descriptions(rules: Sequence[Rule]) -> tuple[Mapping[str, object], ...]:
    """Describe rules as SARIF does."""
    return tuple({"id": rule.id, "shortDescription": {"text": rule.question}} for rule in rules)


def sarif_log(
    version: str,
    described: Sequence[Mapping[str, object]],
    results: Sequence[Mapping[str, object]],
    notifications: Sequence[Mapping[str, object]],
) -> Mapping[str, object]:
    """Frame results as a SARIF 2.1.0 log of one run.

    Args:
        version: Version of this program.
        described: The rules.
        results: What was found.
        notifications: What was not looked at.
    """
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "dayzero audit",
                        "version": version,
                        "rules": list(described),
                    }
                },
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": list(notifications)}],
                "results": list(results),
            }
        ],
    }


def _finding(one: Finding) -> Mapping[str, object]:
    return {
        "rule": one.rule,
        "severity": one.severity.value,
        "message": one.message,
        "engine_location": _location(one.engine),
        "library_location": _location(one.library),
        "resolution": one.resolution,
        "when": one.when,
        "applies": one.holds.value,
        "refutes": refutes(one),
        "advisories": list(one.advisories),
    }


def _location(place: Place | None) -> Mapping[str, object] | None:
    if place is None:
        return None
    return {
        "artifact": place.artifact,
        "file": place.file,
        "line": _line(place),
        "position": place.position,
        "quote": place.quote,
    }


def _not_checked(one: NotChecked) -> Mapping[str, object]:
    return {"what": one.what, "why": one.why, "needed": one.needed}


def _result(one: Finding) -> Mapping[str, object]:
    level = "error" if refutes(one) else "note" if one.severity in _QUIET else "warning"
    known = f"Known as {', '.join(one.advisories)}." if one.advisories else ""
    text = " ".join(
        part for part in (one.message, f"When: {one.when}." if one.when else "", one.resolution, known) if part
    )
    places = [place for place in (one.engine, one.library) if place is not None]
    result: dict[str, object] = {
        "ruleId": one.rule,
        "level": level,
        "message": {"text": text},
        "locations": [_physical(place) for place in places[:1]],
        "properties": finding_properties(one),
    }
    if places[1:]:
        result["relatedLocations"] = [_physical(place) for place in places[1:]]
    return result


def finding_properties(one: Finding) -> Mapping[str, object]:
    """Give what SARIF has no key for."""
    known = {"advisories": list(one.advisories)} if one.advisories else {}
    return {"severity": one.severity.value, "applies": one.holds.value, **known}


def _physical(place: Place) -> Mapping[str, object]:
    folder = _UNSAFE.sub("-", place.artifact)
    physical: dict[str, object] = {"artifactLocation": {"uri": f"{folder}/{place.file}".lstrip("/")}}
    line = _line(place)
    if line:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _line(place: Place) -> int | None:
    words = place.position.split()
    return int(words[1]) if len(words) == len(("line", "N")) and words[0] == "line" and words[1].isdigit() else None
