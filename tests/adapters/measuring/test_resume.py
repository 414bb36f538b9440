"""A run that was cut off goes on: what has ended stays, what was in flight is sent again."""

import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.measuring.driving import HEADER, HOW, ListPlan, ask, cell_of
from tests.simulators.raw_server import ANSWER, raw_server

from dayzero.adapters.measuring.client import MeasuringClient
from dayzero.adapters.measuring.records import ReadsFile
from dayzero.adapters.measuring.resume import Earlier, ResumedPlan, look_back, require_same
from dayzero.adapters.measuring.server import servers_of
from dayzero.adapters.openai_http import Connection, Wording
from dayzero.bench.model import ReadsHeader, Request
from dayzero.bench.parse import parse
from dayzero.core.errors import EvidenceError, InputError, RemoteError

REQUESTS = [ask(number) for number in range(6)]


def measure(file: ReadsFile, url: str, requests: Sequence[Request], earlier: Earlier | None = None) -> ListPlan:
    server = servers_of(Connection(url=url))[0]
    client = MeasuringClient(server, Wording(server.address, ""), HOW, file, timeout_s=5)
    plan = ListPlan(requests)
    chosen = plan if earlier is None else ResumedPlan(plan, earlier, streams=1)
    with file:
        client.run(chosen, cell=cell_of(len(requests), 1), on_progress=lambda _: None)
        client.close()
    return plan


@pytest.fixture
def whole_file(tmp_path: Path) -> Path:
    path = tmp_path / "reads.bin"
    with raw_server([ANSWER]) as server:
        measure(ReadsFile.new(path, HEADER), server.url, REQUESTS)
    return path


def test_a_file_cut_anywhere_goes_on_to_the_same_requests(whole_file: Path):
    content = whole_file.read_bytes()
    header = content.index(b"\n") + 1
    for cut in range(header, len(content), max((len(content) - header) // 12, 1)):
        whole_file.write_bytes(content[:cut])
        earlier = look_back(whole_file, conversations=False)
        with raw_server([ANSWER]) as server:
            measure(ReadsFile.again(whole_file, earlier.whole_bytes), server.url, REQUESTS, earlier)
            assert len(server.requests) == len(REQUESTS) - len(earlier.ended)
        after = whole_file.read_bytes()
        assert after.startswith(content[: earlier.whole_bytes])
        parsed = parse([after], HOW.dialect.usage)
        assert sorted(row.number for row in parsed.rows) == list(range(6))
        assert all(row.ok for row in parsed.rows)
        aside = whole_file.with_name("reads.bin.cut")
        assert (aside.read_bytes() if aside.exists() else b"") == content[earlier.whole_bytes : cut]
        aside.unlink(missing_ok=True)


def test_a_whole_run_is_not_sent_again(whole_file: Path):
    earlier = look_back(whole_file, conversations=False)
    assert set(earlier.ended) == set(range(6))
    with raw_server([ANSWER]) as server:
        measure(ReadsFile.again(whole_file, earlier.whole_bytes), server.url, REQUESTS, earlier)
        assert server.requests == []


def test_a_conversation_remembers_what_was_answered_before_the_cut(whole_file: Path):
    earlier = look_back(whole_file, conversations=True)
    with raw_server([ANSWER]) as server:
        plan = measure(ReadsFile.again(whole_file, earlier.whole_bytes), server.url, REQUESTS, earlier)
    assert plan.replies == ["xx"] * 6


def test_a_schedule_goes_on_from_the_first_request_that_is_missing(whole_file: Path):
    second = 1_000_000_000
    scheduled = [replace(request, due_ns=request.number * second) for request in REQUESTS]
    earlier = replace(look_back(whole_file, conversations=False), ended=dict.fromkeys(range(4), ()))
    plan = ResumedPlan(ListPlan(scheduled), earlier, streams=1)
    assert plan.take(0) == replace(scheduled[4], due_ns=0)
    waiting = plan.take(0)
    assert not isinstance(waiting, Request)
    assert plan.take(second) == replace(scheduled[5], due_ns=second)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("seed", 9, "its seed was 0, now it is 9"),
        ("server", "http://other", "its server was '', now it is 'http://other'"),
        ("cells", ("c2",), "its cells was"),
        ("model", "other", "its model was"),
        ("boot", "other", "the machine was started anew"),
        ("shards", 2, "its shards was 1, now it is 2"),
    ],
)
def test_a_run_under_other_conditions_is_refused(field: str, value: object, message: str):
    other: ReadsHeader = replace(HEADER, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        require_same(HEADER, other)
    require_same(HEADER, HEADER)


def test_where_nothing_was_measured_nothing_is_resumed(tmp_path: Path):
    with pytest.raises(InputError, match="there is no run to resume"):
        look_back(tmp_path / "reads.bin", conversations=False)
    (tmp_path / "reads.bin").write_bytes(b"something else\n")
    with pytest.raises(EvidenceError, match="not a file of raw reads"):
        look_back(tmp_path / "reads.bin", conversations=False)


def test_two_processes_never_write_one_file(tmp_path: Path):
    path = tmp_path / "reads.bin"
    with ReadsFile.new(path, HEADER), pytest.raises(InputError, match="is being written by another process"):
        ReadsFile.again(path, path.stat().st_size)
    ReadsFile.again(path, path.stat().st_size).close()


def test_what_was_written_since_a_file_was_looked_at_is_not_cut_off(whole_file: Path):
    content = whole_file.read_bytes()
    with pytest.raises(InputError, match="is being written by another process"):
        ReadsFile.again(whole_file, content.index(b"\n") + 1)
    assert whole_file.read_bytes() == content


def test_nothing_is_put_behind_a_record_that_a_full_disk_cut_off(tmp_path: Path):
    path = tmp_path / "reads.bin"
    file = ReadsFile.new(path, HEADER)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    whole_bytes = path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole_bytes + 20, limits[1]))
    try:
        file.clock()
        with pytest.raises(RemoteError, match="the disk is full"):
            file.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    file.clock()
    file.close()
    assert path.stat().st_size == whole_bytes + 20
    assert look_back(path, conversations=False).whole_bytes == whole_bytes
