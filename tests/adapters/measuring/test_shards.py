"""Several processes send what one would have sent, and are ended together."""

import os
import signal
import threading
from pathlib import Path

import pytest
from tests.adapters.measuring.driving import HEADER, HOW, ListPlan, ask, cell_of
from tests.simulators.raw_server import ANSWER, Act, RawServer, raw_server

from dayzero.adapters.measuring.client import INTERRUPTED, MeasuringClient
from dayzero.adapters.measuring.records import ReadsFile
from dayzero.adapters.measuring.server import servers_of
from dayzero.adapters.measuring.shards import ShardedClient, ShardPlan, Share, share_of
from dayzero.adapters.openai_http import Connection, Wording
from dayzero.bench.model import Aborted, Completed, Ending, Progress
from dayzero.bench.parse import Parsed, parse

REQUESTS = [ask(number) for number in range(20)]


def measure(
    folder: Path, server: RawServer, *, shards: int, streams: int, timeout_s: float = 5.0
) -> tuple[Ending, list[Parsed], ShardedClient, list[Progress]]:
    place = servers_of(Connection(url=server.url))[0]
    cell = cell_of(len(REQUESTS), streams)
    client, told, shares = ShardedClient(), list[Progress](), []
    files = [ReadsFile.new(folder / f"reads-{shard}.bin", HEADER) for shard in range(shards)]
    for shard, file in enumerate(files):
        own = MeasuringClient(place, Wording(place.address, ""), HOW, file, timeout_s=timeout_s)
        plan = ShardPlan(ListPlan(REQUESTS), shard=shard, shards=shards)
        shares.append(Share(client=own, plan=plan, cell=share_of(cell, shard=shard, shards=shards)))
    ending = client.run(shares, cell=cell, on_progress=told.append)
    for file in files:
        file.close()
    parsed = [parse([(folder / f"reads-{shard}.bin").read_bytes()], HOW.dialect.usage) for shard in range(shards)]
    return ending, parsed, client, told


@pytest.mark.parametrize("shards", [2, 3])
def test_the_processes_together_send_each_request_once(shards: int, tmp_path: Path):
    with raw_server([ANSWER]) as server:
        ending, parsed, client, told = measure(tmp_path, server, shards=shards, streams=4)
    assert isinstance(ending, Completed)
    numbers = [row.number for each in parsed for row in each.rows]
    assert sorted(numbers) == list(range(20))
    assert all(row.ok for each in parsed for row in each.rows)
    assert all(each.rows for each in parsed)
    assert client.connections == 4
    assert client.cost.cpu_s > 0
    assert client.memory_bytes > 0
    assert (told[-1].done, told[-1].planned, told[-1].failed) == (20, 20, 0)


def test_streams_are_shared_out_to_the_last_one():
    cell = cell_of(10, 7)
    assert [share_of(cell, shard=shard, shards=3).concurrency for shard in range(3)] == [3, 2, 2]


def test_when_one_process_finds_the_server_gone_all_of_them_end(tmp_path: Path):
    with raw_server([Act.RESET]) as server:
        ending, _, _, _ = measure(tmp_path, server, shards=2, streams=2)
    assert isinstance(ending, Aborted)
    assert "the endpoint answered none of the last 3 requests" in ending.reason


def test_an_interruption_of_the_parent_ends_all_and_keeps_what_came(tmp_path: Path):
    waiting = threading.Barrier(2, lambda: os.kill(os.getpid(), signal.SIGINT), timeout=20)  # once both are at a loss
    with raw_server(lambda number: [ANSWER] if number < 6 else [waiting.wait, Act.HANG]) as server:
        ending, parsed, _, _ = measure(tmp_path, server, shards=2, streams=2, timeout_s=60)
    assert ending == Aborted(reason=INTERRUPTED)
    assert not [row.error for each in parsed for row in each.rows if row.error]  # none was waited for to its timeout
    assert sum(len(each.rows) for each in parsed) == 6
    assert sum(each.interrupted for each in parsed) == 2
