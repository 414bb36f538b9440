"""However a log reaches the reader, it is the same failure: same root text, same wall, and the line numbers follow.

``DAYZERO_MORE_EXAMPLES=1`` tries many more combinations, at random.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.simulators import log_transports as carry
from tests.simulators.log_transports import Log
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, Diagnosis, NamedWall, RootFound, Started

OURS = Path(__file__).parent / "logs"
SHARED = Path(__file__).parents[3] / "shared" / "cases" / "triage"
MORE = bool(os.environ.get("DAYZERO_MORE_EXAMPLES"))
MIXED = settings(
    max_examples=1500 if MORE else 40,
    derandomize=not MORE,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# Logs that came through something already; to carry them once more would show nothing that happens.
CARRIED = re.compile(
    rb"^(?:[\w.-]+ +\| |[A-Z][a-z]{2} [ \d]\d |\[?\d{4}-\d\d-\d\d[T ][\d:.]+Z?\]? (?:\[\w+\] )?\(|\{\")", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Case:
    """A log with its right answer."""

    name: str
    log: Log = field(repr=False)
    verdict: str
    roots: frozenset[int]
    chain: tuple[tuple[str, int], ...]

    @property
    def carried(self) -> bool:
        return bool(CARRIED.match(carry.joined(self.log[:1])))

    @property
    def settled(self) -> int:
        """The line by which the log has said all that the root needs."""
        roles = {"root", "evidence", "cause-info", "symptom", "exception", "inspect", "misleading", "oom"}
        return max([*self.roots, *(line for role, line in self.chain if role in roles)], default=len(self.log))


def _case(path: Path) -> Case:
    truth = json.loads(path.read_text(encoding="utf-8"))
    log = carry.lines_of(path.with_suffix(".log").read_bytes())
    verdict = truth.get("verdict") or ("root-found" if truth["root_cause_line"] else "started")
    roots = {truth["root_cause_line"], *truth.get("root_cause_also", ())} - {None}
    for text in truth.get("root_cause_alternates") or ():
        roots |= {number for number, line in enumerate(log, 1) if text.encode() in line.raw}
    chain = tuple((link["role"], link["line"]) for link in truth["chain"])
    return Case(path.stem, log, verdict, frozenset(roots) if verdict == "root-found" else frozenset(), chain)


CASES = tuple(_case(path) for folder in (OURS, SHARED) if folder.is_dir() for path in sorted(folder.glob("*.json")))
FAILED = tuple(case for case in CASES if case.verdict == "root-found")
BARE = tuple(case for case in CASES if not case.carried)
VLLM = tuple(case for case in FAILED if case in BARE and any(b"[core.py:" in line.raw for line in case.log))


def test_the_shared_cases_are_read_where_they_are():
    if not SHARED.is_dir():
        pytest.skip("the shared cases do not lie beside the checkout: only this project's own logs are carried around")
    assert len(CASES) >= 50


def test_there_are_logs_to_carry():
    assert len(FAILED) >= 10
    assert VLLM


@cache
def _plain(name: str) -> Diagnosis:
    return read(carry.joined(next(case.log for case in CASES if case.name == name)))


def _wall(found: Diagnosis) -> tuple[str, str]:
    if isinstance(found, Started):
        return "", ""
    return (found.wall.wall, found.wall.category) if isinstance(found.wall, NamedWall) else ("", "")


def _message(text: str) -> str:
    """Take off what may differ: the rank that said it, spaces at the end."""
    return re.sub(r"\s+", " ", text).strip()


def _all_the_same(changed: Iterable[tuple[Case, Log]]) -> None:
    """Assert it of many, and name all that differ."""
    wrong = []
    for case, log in changed:
        try:
            _same(case, log)
        except AssertionError as error:
            wrong.append(str(error).splitlines()[0])
    assert wrong == []


def _same(case: Case, log: Log) -> None:
    """Assert that the log, changed, has the answer that it had, and that the line is one that holds the root."""
    before, after = _plain(case.name), read(carry.joined(log))
    assert type(after) is type(before), f"{case.name}: {after}"
    assert _wall(after) == _wall(before), f"{case.name}: {_wall(after)} was {_wall(before)}"
    if isinstance(before, RootFound) and isinstance(after, RootFound):
        allowed = case.roots or {before.root.line, *before.same_as}
        assert after.root.line in carry.where(log, allowed), f"{case.name}: {after.root}"
        assert _message(after.root.text) == _message(before.root.text), f"{case.name}: {after.root.text!r}"
        assert after.root.line not in after.same_as
        assert all(1 <= line <= len(log) for line in after.same_as)
        assert all(1 <= link.line <= len(log) for link in after.chain)


@pytest.mark.parametrize("name", carry.TRANSPORTS)
def test_what_carried_the_log_does_not_change_the_answer(name):
    _all_the_same((case, carry.TRANSPORTS[name](case.log)) for case in BARE)


@pytest.mark.parametrize(
    "change", [carry.with_colours, carry.without_colours, carry.with_crlf, carry.without_crlf], ids=lambda f: f.__name__
)
def test_colours_and_line_ends_do_not_change_the_answer(change):
    _all_the_same((case, change(case.log)) for case in CASES)


@pytest.mark.parametrize("skew", [3, 20])
def test_processes_that_race_do_not_change_the_answer(skew):
    _all_the_same((case, carry.shuffled(case.log, seed=len(case.log), skew=skew)) for case in CASES)


def test_eight_ranks_that_say_the_same_are_one_failure_and_all_are_named():
    for case in VLLM:
        log = carry.duplicated(case.log, 8)
        _same(case, log)
        found = read(carry.joined(log))
        assert isinstance(found, RootFound)
        spoken = {n for n in carry.where(log, {found_line(case)}) if carry.prefix_of(log[n - 1].raw)}
        missing = spoken - {found.root.line, *found.same_as}
        assert not missing, f"{case.name}: lines {sorted(missing)} say the same and are not named"


def found_line(case: Case) -> int:
    found = _plain(case.name)
    assert isinstance(found, RootFound)
    return found.root.line


def test_the_json_form_of_a_log_has_the_same_answer():
    _all_the_same((case, carry.as_json(case.log)) for case in VLLM)


def test_a_log_whose_head_was_cut_off_is_refused_and_no_consequence_is_called_a_root():
    refused = 0
    for case in FAILED:
        rest = carry.head_cut(case.log, _end_of_record(case))
        found = read(carry.joined(rest))
        assert not isinstance(found, Started), case.name
        if isinstance(found, RootFound):
            assert not carry.GENERIC.search(rest[found.root.line - 1].raw), f"{case.name}: {found.root}"
        if rest and carry.only_generic(rest):
            assert isinstance(found, CauseNotInLog), f"{case.name}: {found}"
            assert found.collect
            refused += 1
    assert refused >= len(FAILED) // 4


@pytest.mark.parametrize("part", [0.0, 0.3, 0.8])
def test_a_log_whose_tail_was_cut_off_keeps_its_root(part):
    for case in FAILED:
        # A root that only the prefix of a multi-line message tells apart needs the message whole.
        first = min(len(case.log), _end_of_record(case))
        _same_root(case, carry.tail_cut(case.log, first + int(part * (len(case.log) - first))))


def _end_of_record(case: Case) -> int:
    """The line that ends the record of the last line that the root needs."""
    at = case.settled
    prefix = carry.prefix_of(case.log[at - 1].raw)
    while at < len(case.log) and carry.prefix_of(case.log[at].raw) == prefix and b"Process " not in case.log[at].raw:
        at += 1
    return at


def _same_root(case: Case, log: Log) -> None:
    before, after = _plain(case.name), read(carry.joined(log))
    assert isinstance(before, RootFound), case.name
    assert isinstance(after, RootFound), f"{case.name}, cut after line {len(log)}: {after}"
    assert after.root.line in case.roots, f"{case.name}, cut after line {len(log)}: {after.root}"
    assert _wall(after) == _wall(before), case.name


def _bytes_of(case: Case) -> bytes:
    return carry.joined(case.log)


def test_a_log_without_its_last_newline_has_the_same_answer():
    for case in CASES:
        before, after = _plain(case.name), read(_bytes_of(case).removesuffix(b"\n"))
        assert type(after) is type(before), case.name
        assert _wall(after) == _wall(before), case.name


def test_a_healthy_start_after_failed_attempts_is_a_start():
    for case in CASES:
        if case.verdict == "started":
            assert isinstance(read(_bytes_of(VLLM[0]) + _bytes_of(case)), Started), case.name


def test_of_many_attempts_the_last_is_read_and_all_are_counted():
    for case in VLLM:
        if not any(b"non-default args" in line.raw for line in case.log[:15]):
            continue
        log = case.log * 3
        found = read(carry.joined(log))
        assert isinstance(found, RootFound), case.name
        assert found.root.line > 2 * len(case.log), f"{case.name}: {found.root}"
        assert found.log.attempts == 3, case.name


INNER: Mapping[str, Callable[[Log, int], Log]] = {
    "as it is": lambda log, _: log,
    "JSON": lambda log, _: carry.as_json(log),
    "eight ranks": lambda log, _: carry.duplicated(log, 8),
    "three ranks that race": lambda log, seed: carry.shuffled(carry.duplicated(log, 3), seed, 6),
}
LOOKS = {change.__name__: change for change in (carry.plain, carry.with_colours, carry.without_colours)}
ENDS = {change.__name__: change for change in (carry.plain, carry.with_crlf, carry.without_crlf)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What happens to a log on the way from its process to a file, in that order; each part by its name."""

    case: str
    inner: str
    look: str
    end: str
    transport: str
    seed: int


WAYS = st.builds(
    Way,
    case=st.sampled_from([case.name for case in BARE]),
    inner=st.sampled_from(sorted(INNER)),
    look=st.sampled_from(sorted(LOOKS)),
    end=st.sampled_from(sorted(ENDS)),
    transport=st.sampled_from(sorted(carry.TRANSPORTS)),
    seed=st.integers(0, 99),
)


@MIXED
@given(WAYS)
def test_any_way_to_a_file_has_the_same_answer(way):
    case = next(case for case in BARE if case.name == way.case)
    log = INNER[way.inner](case.log, way.seed) if case in VLLM else case.log
    _same(case, carry.TRANSPORTS[way.transport](ENDS[way.end](LOOKS[way.look](log))))


@MIXED
@given(st.sampled_from(CASES), st.data())
def test_bytes_that_arrive_in_any_pieces_have_the_same_answer(case, data):
    whole = _bytes_of(case)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(pieces) == _plain(case.name)


def test_a_log_read_byte_by_byte_has_the_same_answer():
    case = min(FAILED, key=lambda case: len(_bytes_of(case)))
    assert read([bytes([byte]) for byte in _bytes_of(case)]) == _plain(case.name)


def test_chance_has_no_part_in_an_answer():
    case = FAILED[len(FAILED) // 2]
    assert read(_bytes_of(case)) == read(_bytes_of(case))
