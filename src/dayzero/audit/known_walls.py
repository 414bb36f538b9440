"""Is what an audit found a known wall? Name its advisory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dayzero.advisories.model import Advisory
from dayzero.advisories.parse import shown_by
from dayzero.audit.finding import Finding
from dayzero.audit.installed import Installed
from dayzero.audit.report import Audited


def with_advisories(audit: Audited, installed: Installed, advisories: Sequence[Advisory]) -> Audited:
    """Name on each finding the advisories that are about it.

    Args:
        audit: What was found.
        installed: In which builds: an advisory is about a finding that points at a file of its distribution.
        advisories: All known walls.
    """
    findings = (replace(one, advisories=tuple(_about(one, installed, advisories))) for one in audit.findings)
    return replace(audit, findings=tuple(findings))


def _about(finding: Finding, installed: Installed, advisories: Sequence[Advisory]) -> Iterator[str]:
    artifacts = {place.artifact for place in (finding.engine, finding.library) if place is not None}
    at = {one.name: one.version for one in installed.distributions if one.files.artifact in artifacts}
    for one in advisories:
        version = at.get(one.distribution, "")
        if version and shown_by(
            one, distribution=one.distribution, version=version, rule=finding.rule, message=finding.message
        ):
            yield one.id
