from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.triage.samples import LOG, root_found

from dayzero.triage.groups import grouped, of_group
from dayzero.triage.model import CauseNotInLog, Fingerprint, Link, Role, Started, UnknownWall

MARKER = Link(role=Role.SERVER, line=9, text="listening")
SERVES = Started(marker=MARKER, later=None, log=LOG)
REFUSED = CauseNotInLog(last=None, chain=(), reason="Killed.", collect=(), wall=UnknownWall(), log=LOG)
UNKNOWN = replace(root_found(text="ValueError: odd on node 7"), wall=UnknownWall())
BARE = replace(UNKNOWN, fingerprint=Fingerprint(exception="", frame=""))
ANSWERS = (root_found(), SERVES, REFUSED, replace(REFUSED, last=MARKER), UNKNOWN, BARE)


def test_equal_failures_are_one_group_with_every_log_and_its_line():
    answers = [(f"node-{node}", replace(UNKNOWN, root=replace(UNKNOWN.root, line=node))) for node in range(1, 41)]
    (group,) = grouped([*answers])
    assert group.what == "no known wall: ValueError at vllm/config.py:verify"
    assert group.logs == tuple((f"node-{node}", node) for node in range(1, 41))
    assert group.example == "ValueError: odd on node 7"
    assert of_group(group)["count"] == 40


@pytest.mark.parametrize(
    ("answer", "what", "line"),
    [
        (root_found(), "model-unrecognized", 3),
        (replace(root_found(), wall=replace(root_found().wall, category="finer")), "model-unrecognized: finer", 3),
        (BARE, "no known wall: no exception", 3),
        (REFUSED, "Killed.", 0),
        (replace(REFUSED, last=MARKER), "Killed.", 9),
        (SERVES, "serves", 9),
    ],
)
def test_what_is_shared_is_the_wall_or_the_fingerprint_or_the_reason(answer, what, line):
    (group,) = grouped([("engine.log", answer)])
    assert (group.what, group.logs) == (what, (("engine.log", line),))


def test_one_exception_in_two_frames_is_two_failures():
    other = replace(UNKNOWN, fingerprint=Fingerprint(exception="ValueError", frame="vllm/other.py:run"))
    assert len(grouped([("a", UNKNOWN), ("b", other)])) == 2


@given(st.lists(st.sampled_from(ANSWERS), max_size=30))
def test_no_log_is_lost_or_counted_twice_and_the_largest_group_is_first(answers):
    groups = grouped([(str(at), answer) for at, answer in enumerate(answers)])
    assert sorted(int(name) for group in groups for name, _ in group.logs) == list(range(len(answers)))
    sizes = [len(group.logs) for group in groups]
    assert sizes == sorted(sizes, reverse=True)
