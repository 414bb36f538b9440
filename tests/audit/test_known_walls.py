"""A finding that is a known wall names its advisory, in every form of the report; one that only looks like it does not."""

import pytest
from tests.simulators.distributions import distribution

from dayzero.advisories.model import Advisory
from dayzero.audit.document import document, sarif
from dayzero.audit.finding import Applies, Finding, Severity
from dayzero.audit.installed import Installed
from dayzero.audit.known_walls import with_advisories
from dayzero.audit.report import Audited
from dayzero.audit.rules import Subject
from dayzero.cli.audit_text import audit_lines
from dayzero.core.verdict import Place, Refuted

WALL = Advisory(
    id="DZA-2026-900",
    title="a wall",
    distribution="eng",
    rule="r",
    also=("other",),
    says="Situ",
    affected="<2.0",
    first_build="2.0",
    resolution="Re-pin.",
    reproduce="dayzero audit c.json --engine eng==1.0",
    evidence=(),
)


def installed(version: str = "1.0") -> Installed:
    return Installed(engine=distribution("eng", version), others=(distribution("lib", "1.0"),))


def found(rule: str = "r", message: str = "no situ here", artifact: str = "eng 1.0") -> Audited:
    place = Place(artifact=artifact, file="a.py", position="line 3", quote="x")
    one = Finding(rule, Severity.PATH, message, None, place, "Do it.", "", Applies.YES)
    return Audited(findings=(one,), not_checked=(), rules=("r",), verdict=Refuted("m", (place,)))


@pytest.mark.parametrize(
    ("audit", "beside", "wall", "named"),
    [
        (found(), installed(), WALL, True),
        (found("other"), installed(), WALL, True),
        (found("third"), installed(), WALL, False),
        (found(message="no such name"), installed(), WALL, False),
        (found(artifact="lib 1.0"), installed(), WALL, False),
        (found(artifact="eng 2.0"), installed("2.0"), WALL, False),
        (found(artifact="eng 1.9.post1"), installed("1.9.post1"), WALL, True),
    ],
)
def test_a_finding_is_named_by_its_rule_its_words_and_the_build_whose_file_it_shows(audit, beside, wall, named):
    (one,) = with_advisories(audit, beside, [wall]).findings
    assert one.advisories == (("DZA-2026-900",) if named else ())


def test_the_advisory_stands_in_text_json_and_sarif():
    subject = Subject(installed=installed(), engine="eng")
    audit = with_advisories(found(), subject.installed, [WALL])
    lines = list(audit_lines(audit, subject, "", everything=False, width=100))
    assert "    known as DZA-2026-900" in lines
    (written,) = document(audit, subject, "")["findings"]
    assert written["advisories"] == ["DZA-2026-900"]
    (result,) = sarif(audit, (), "1")["runs"][0]["results"]
    assert result["properties"]["advisories"] == ["DZA-2026-900"]
    assert result["message"]["text"].endswith("Known as DZA-2026-900.")
    (bare,) = sarif(found(), (), "1")["runs"][0]["results"]
    assert "advisories" not in bare["properties"]
