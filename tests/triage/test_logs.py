"""Real failed starts that this project recorded: each has the answer that a careful reader gave it."""

import json
from pathlib import Path

import pytest
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, NamedWall, RootFound, Started

LOGS = Path(__file__).parent / "logs"
NAMES = sorted(path.stem for path in LOGS.glob("*.json"))
VERDICTS = {"root-found": RootFound, "cause-not-in-log": CauseNotInLog, "started": Started}


def truth_of(name):
    return json.loads((LOGS / f"{name}.json").read_text(encoding="utf-8"))


def raw_of(name):
    return (LOGS / f"{name}.log").read_bytes()


def test_every_log_has_an_answer_and_is_small():
    assert sorted(path.stem for path in LOGS.glob("*.log")) == NAMES
    assert 10 <= len(NAMES) <= 40
    assert all(len(raw_of(name)) < 60_000 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_names_a_line_that_is_there(name):
    truth, lines = truth_of(name), raw_of(name).decode(errors="replace").split("\n")
    assert truth["n_lines"] == len(lines) - 1
    if truth["root_cause_line"]:
        assert lines[truth["root_cause_line"] - 1].startswith(truth["root_cause_text"])


@pytest.mark.parametrize("name", NAMES)
def test_a_log_shows_nothing_of_the_machine_that_made_it(name):
    for word in (b"/root", b"/home/", b"failed-start-"):
        assert word not in raw_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_start_has_its_answer(name):
    truth, found = truth_of(name), read(raw_of(name))
    assert isinstance(found, VERDICTS[truth["verdict"]]), found
    if isinstance(found, RootFound):
        lines = raw_of(name).decode(errors="replace").split("\n")
        also = {n for n, line in enumerate(lines, 1) if any(text in line for text in truth["root_cause_alternates"])}
        assert found.root.line in {truth["root_cause_line"], *truth["root_cause_also"], *also}, found.root
    if not isinstance(found, Started):
        assert (found.wall.wall if isinstance(found.wall, NamedWall) else "") in truth["walls"], found.wall
        named = {link.line for link in found.chain}
        named |= {found.root.line, *found.same_as} if isinstance(found, RootFound) else set()
        assert [link for link in truth["chain"] if link["role"] != "root" and link["line"] not in named] == []
