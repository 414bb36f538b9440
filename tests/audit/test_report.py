"""What findings add up to."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulators.distributions import distribution

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Installed
from dayzero.audit.report import audited, judged
from dayzero.audit.rules import Subject
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.verdict import Place, verdict_word


def finding(severity, applies=Applies.UNKNOWN, when="SM120"):
    return Finding("r", severity, f"{severity.value} {applies.value}", None, None, "Do it.", when, applies)


VERDICTS = [
    (Severity.START, Applies.NO, "refuted"),
    (Severity.PATH, Applies.YES, "refuted"),
    (Severity.PATH, Applies.NO, "proven"),
    (Severity.PATH, Applies.UNKNOWN, "undecided"),
    (Severity.OPT_IN, Applies.YES, "refuted"),
    (Severity.OPT_IN, Applies.UNKNOWN, "proven"),
    (Severity.DOWNGRADE, Applies.YES, "proven"),
    (Severity.GUARDED, Applies.YES, "proven"),
    (Severity.UNVERIFIED, Applies.YES, "undecided"),
    (Severity.UNVERIFIED, Applies.UNKNOWN, "undecided"),
    (Severity.UNVERIFIED, Applies.NO, "proven"),
]


@pytest.mark.parametrize(("severity", "applies", "word"), VERDICTS)
def test_one_finding_decides_by_its_severity_and_whether_it_applies(severity, applies, word):
    assert verdict_word(judged([finding(severity, applies)], [], asked=1)) == word


def test_a_path_without_a_condition_always_fails():
    assert verdict_word(judged([finding(Severity.PATH, when="")], [], asked=1)) == "refuted"


@pytest.mark.parametrize(("needed", "word"), [(True, "undecided"), (False, "proven")])
def test_what_was_not_checked_is_no_pass_where_the_model_needs_it(needed, word):
    assert verdict_word(judged([], [NotChecked("q", "why", needed)], asked=3)) == word


ENGINE_FILE, LIBRARY_FILE = Place(artifact="eng 1", file="a.py"), Place(artifact="lib 1", file="b.so")


class Says:
    """Implements ``audit.rules.Rule``."""

    question = "q"

    def __init__(self, *said: Finding) -> None:
        self.id, self._said = said[0].rule, said

    def check(self, _: Subject) -> Iterator[Finding]:
        yield from self._said


def at(rule, severity, applies=Applies.YES, library=LIBRARY_FILE):
    return Finding(rule, severity, "m", ENGINE_FILE, library, "Do it.", "SM120", applies)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ([at("a", Severity.START), at("b", Severity.PATH)], ["a"]),
        ([at("b", Severity.PATH), at("a", Severity.START)], ["a"]),
        ([at("a", Severity.START), at("b", Severity.START)], ["a", "b"]),
        ([at("a", Severity.START), at("a", Severity.PATH)], ["a", "a"]),
        ([at("a", Severity.START), at("b", Severity.PATH, library=ENGINE_FILE)], ["a", "b"]),
        ([at("a", Severity.START, library=None), at("b", Severity.PATH, library=None)], ["a", "b"]),
        ([at("a", Severity.PATH, Applies.NO), at("b", Severity.DOWNGRADE)], ["a", "b"]),
    ],
)
def test_one_cause_at_the_same_two_places_is_said_once_by_the_rule_that_shows_worse(said, left):
    engine = distribution("eng", "1", {})
    subject = Subject(installed=Installed(engine=engine, others=()), engine="eng")
    assert sorted(one.rule for one in audited([Says(one) for one in said], subject).findings) == left


def test_no_rule_at_all_proves_nothing():
    assert verdict_word(judged([], [], asked=0)) == "undecided"


severities = st.builds(finding, st.sampled_from(Severity), st.sampled_from(Applies))


@given(st.lists(severities), severities)
def test_another_finding_never_makes_a_verdict_better(some, one):
    order = ["proven", "undecided", "refuted"]
    before, after = (verdict_word(judged(found, [], asked=1)) for found in (some, [*some, one]))
    assert order.index(after) >= order.index(before)


class Rule:
    id = "r"
    question = "Is it so?"

    def __init__(self, *said: object) -> None:
        self.said = said

    def check(self, _subject):
        for one in self.said:
            if isinstance(one, Exception):
                raise one
            yield one


SUBJECT = Subject(installed=Installed(engine=distribution("vllm", "1.0"), others=()), engine="vllm")


def test_findings_come_worst_first_and_each_once():
    mild, bad = finding(Severity.GUARDED), finding(Severity.START)
    found = audited([Rule(mild, bad), Rule(bad)], SUBJECT)
    assert found.findings == (bad, mild)


@pytest.mark.parametrize("error", [InputError("gone", hint="h"), RecursionError()])
def test_a_rule_that_cannot_read_its_files_leaves_the_answer_open(error):
    found = audited([Rule(error)], SUBJECT)
    assert verdict_word(found.verdict) == "undecided"
    assert found.not_checked[0].what == "Is it so?"


def test_a_file_that_is_not_the_one_its_wheel_lists_ends_the_audit():
    with pytest.raises(IntegrityError):
        audited([Rule(IntegrityError("m", hint="h"))], SUBJECT)
