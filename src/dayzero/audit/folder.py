"""A folder of recipes, each with its answer: the sum, and as JSON and SARIF whose places are the recipes' own lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dayzero.audit.document import finding_properties, rule_descriptions, sarif_log
from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.recipes.model import Launch, Release
from dayzero.audit.report import leaves_open, refutes
from dayzero.audit.rules import Rule
from dayzero.core.verdict import Place, Undecided, Verdict, conjunction, verdict_word

SCHEMA = "dayzero/audit-folder/v1"
LEFT_OPEN = "what this file leaves open"
_UNDECIDED_RULE = "recipe-undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One launch of a file, and its answer.

    Attributes:
        file: The file's path below the folder.
        launch: What it describes.
        verdict: Can it be served so?
        findings: What was found, worst first.
        not_checked: What could not be looked at.
    """

    file: str
    launch: Launch
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()

    @property
    def code(self) -> str:
        """Name what it runs, ``""`` where that is not known."""
        return str(self.launch.code) if isinstance(self.launch.code, Release) else ""

    @property
    def worst(self) -> Finding | None:
        """Give the finding to act on first: of those that matter to it."""
        shown = (one for one in self.findings if one.severity is not Severity.GUARDED and one.holds is not Applies.NO)
        return next((one for one in shown if one.severity is not Severity.OPT_IN or one.applies is Applies.YES), None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Say what leaves it open: first what the file does not say, then what was found, then what could not be looked at."""
        needed = [one for one in self.not_checked if one.needed]
        own = [one.why for one in needed if one.what == LEFT_OPEN]
        found = [one.message for one in self.findings if leaves_open(one)]
        return (*own, *found, *(f"{one.what}: {one.why}" for one in needed if one.what != LEFT_OPEN))

    def line_of(self, finding: Finding) -> int:
        """Give the line of the recipe that a finding is about: of the flag that it names, and else of the launch."""
        said = f"{finding.message} {finding.when}"
        named = (
            word.line for word in self.launch.flags if word.text.startswith("-") and word.text.split("=")[0] in said
        )
        return next(named, self.launch.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderAudit:
    """The answers to all launches of a folder.

    Attributes:
        answers: In the order of the files.
        unread: Files that describe none, and why.
        rules: The rules that were asked.
    """

    answers: tuple[Answered, ...]
    unread: tuple[tuple[str, str], ...]
    rules: tuple[Rule, ...]

    @property
    def verdict(self) -> Verdict:
        """Sum up: refuted where one is, else undecided where one is or there is none."""
        if not self.answers:
            return Undecided("no file here describes a launch")
        return conjunction((one.verdict for one in self.answers), proven="every launch is proven")

    def counts(self) -> Mapping[str, int]:
        """Count the launches by their answers."""
        words = [verdict_word(one.verdict) for one in self.answers]
        return {word: words.count(word) for word in ("refuted", "undecided", "proven")}


def document(audit: FolderAudit, folder: str) -> Mapping[str, object]:
    """Write the answers as a JSON document."""
    return {
        "schema": SCHEMA,
        "folder": folder,
        "verdict": verdict_word(audit.verdict),
        "counts": {**audit.counts(), "not_read": len(audit.unread)},
        "recipes": [_recipe(one) for one in audit.answers],
        "not_read": [{"file": file, "why": why} for file, why in audit.unread],
        "rules": [rule.id for rule in audit.rules],
    }


def _recipe(one: Answered) -> Mapping[str, object]:
    launch = one.launch
    return {
        "file": one.file,
        "line": launch.line,
        "name": launch.name,
        "engine": one.code,
        "model": launch.model,
        "system": launch.system.name if launch.system is not None else "",
        "flags": [word.text for word in launch.flags],
        "env": dict(launch.env),
        "verdict": verdict_word(one.verdict),
        "reason": one.verdict.reason,
        "findings": [
            {
                "rule": found.rule,
                "severity": found.severity.value,
                "message": found.message,
                "line": one.line_of(found),
                "engine_location": str(found.engine) if found.engine is not None else "",
                "library_location": str(found.library) if found.library is not None else "",
                "resolution": found.resolution,
                "when": found.when,
                "applies": found.holds.value,
                "refutes": refutes(found),
                "advisories": list(found.advisories),
            }
            for found in one.findings
        ],
        "not_checked": [{"what": gap.what, "why": gap.why, "needed": gap.needed} for gap in one.not_checked],
    }


def sarif(audit: FolderAudit, version: str) -> Mapping[str, object]:
    """Write the answers as a SARIF 2.1.0 log.

    A result is a finding that matters to a launch, at the recipe's own line; a launch that is undecided for want of something
    is a result of its own.
    """
    undecided = {
        "id": _UNDECIDED_RULE,
        "shortDescription": {"text": "Is everything known that the answer to this recipe needs?"},
    }
    results = [result for one in audit.answers for result in _results(one)]
    unread = [
        {"level": "note", "message": {"text": f"not read: {why}"}, "locations": [_location(file, 1)]}
        for file, why in audit.unread
    ]
    return sarif_log(version, (*rule_descriptions(audit.rules), undecided), results, unread)


def _results(one: Answered) -> Sequence[Mapping[str, object]]:
    found = [
        {
            "ruleId": finding.rule,
            "level": "error" if refutes(finding) else "warning",
            "message": {"text": _message(one, finding)},
            "locations": [_location(one.file, one.line_of(finding))],
            "properties": finding_properties(finding),
        }
        for finding in one.findings
        if finding.severity not in {Severity.GUARDED, Severity.UNVERIFIED}
        and finding.holds is not Applies.NO
        and (finding.severity is not Severity.OPT_IN or finding.applies is Applies.YES)
    ]
    if isinstance(one.verdict, Undecided):
        found.append(
            {
                "ruleId": _UNDECIDED_RULE,
                "level": "warning",
                "message": {"text": f"Undecided: {one.verdict.reason}"},
                "locations": [_location(one.file, one.launch.line)],
            }
        )
    return found


def _message(one: Answered, finding: Finding) -> str:
    places = [str(place) for place in (finding.engine, finding.library) if isinstance(place, Place)]
    shown = f"Shown by {' and '.join(places)}." if places else ""
    what = f"{one.code}: {finding.message}."
    known = f"Known as {', '.join(finding.advisories)}." if finding.advisories else ""
    return " ".join(part for part in (what, finding.resolution, shown, known) if part)


def _location(file: str, line: int) -> Mapping[str, object]:
    return {"physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": line}}}
