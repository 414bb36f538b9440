"""The measuring endpoint against servers that misbehave: what is stamped, what is counted, what becomes an error."""

import asyncio
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.simulators.openai_server import Behaviour, OpenAiServer, serving

from dayzero.adapters.openai_http import Connection, GenericDialect, OpenAiEndpoint, Route, Speech, open_client
from dayzero.bench.metrics import TTFT
from dayzero.bench.model import Prompt, Request, Row, TextPrompt, TokenPrompt, Usage

ANSWER = Behaviour(ttft_s=0.03, itl_s=0.002)
CHAT: Route = "/v1/chat/completions"
HOW = Speech(model="sim", route="/v1/completions", dialect=GenericDialect())


def ask(index: int = 0, *, output_tokens: int = 4, prompt: Prompt | None = None) -> Request:
    return Request(
        cell="c1",
        phase="measured",
        index=index,
        prompt=prompt or TokenPrompt(ids=(5, 6, 7)),
        input_tokens=3,
        output_tokens=output_tokens,
    )


async def answered(
    behaviour: Behaviour, *requests: Request, how: Speech = HOW, timeout_s: float = 20.0
) -> tuple[list[Row], OpenAiServer, int]:
    async with serving(behaviour) as server, open_client(Connection(url=server.url)) as client:
        endpoint = OpenAiEndpoint(client, how, timeout_s=timeout_s)
        rows = [await endpoint.complete(request) for request in requests or (ask(),)]
        return rows, server, endpoint.connections


def one(behaviour: Behaviour, request: Request | None = None, *, how: Speech = HOW, timeout_s: float = 20.0) -> Row:
    rows, _, _ = asyncio.run(answered(behaviour, request or ask(), how=how, timeout_s=timeout_s))
    return rows[0]


def test_a_good_answer_is_a_row_with_every_chunk_stamped_in_order():
    row = one(ANSWER)
    assert row.ok
    assert row.status == 200
    assert len(row.content_ns) == 4
    stamps = (row.sent_ns, row.first_byte_ns, *row.content_ns, row.end_ns)
    assert all(earlier <= later for earlier, later in pairwise(stamps))
    assert row.usage == Usage(prompt_tokens=3, completion_tokens=4, cached_tokens=0)
    assert (row.cell, row.phase, row.index, row.input_tokens, row.output_tokens) == ("c1", "measured", 0, 3, 4)


def test_no_stamp_is_earlier_than_what_the_server_did():
    rows, server, _ = asyncio.run(answered(ANSWER))
    written = server.seen[0].written_ns
    assert rows[0].sent_ns <= server.seen[0].received_ns
    assert all(read >= wrote for read, wrote in zip(rows[0].content_ns, written, strict=True))
    assert TTFT.values(rows[0])[0] >= 30.0


@pytest.mark.parametrize(
    ("behaviour", "chunks"),
    [
        (replace(ANSWER, newline=b"\r\n"), 4),
        (replace(ANSWER, newline=b"\r"), 4),
        (replace(ANSWER, comments=True), 4),
        (replace(ANSWER, tokens_per_chunk=3), 2),
        (replace(ANSWER, usage="last"), 4),
        (replace(ANSWER, usage="first"), 4),
        (replace(ANSWER, usage="every"), 4),
        (replace(ANSWER, done=False), 4),
        (replace(ANSWER, finish_reason=False), 4),
        (replace(ANSWER, piece_bytes=7), 4),
        (replace(ANSWER, padding=300_000), 4),
        (replace(ANSWER, header_s=0.02), 4),
    ],
)
def test_every_harmless_habit_of_a_server_is_understood(behaviour: Behaviour, chunks: int):
    row = one(behaviour)
    assert row.error == ""
    assert len(row.content_ns) == chunks
    assert row.usage == Usage(prompt_tokens=3, completion_tokens=4, cached_tokens=0)


@pytest.mark.parametrize("key", ["content", "reasoning", "reasoning_content"])
def test_a_role_chunk_is_no_token_and_reasoning_is_text(key: Any):
    chat = replace(ANSWER, role_chunk=True, text_key=key, ttft_s=0.05)
    row = one(chat, ask(prompt=TextPrompt(text="say hello please")), how=replace(HOW, route=CHAT))
    assert row.ok
    assert len(row.content_ns) == 4
    assert row.first_byte_ns < row.content_ns[0]
    assert TTFT.values(row)[0] >= 50.0


def test_a_server_without_usage_gives_a_row_without_usage():
    row = one(replace(ANSWER, usage="none"))
    assert row.ok
    assert row.usage is None


def test_cached_tokens_are_kept_and_their_absence_is_not_zero():
    for cached in (2, None):
        usage = one(replace(ANSWER, cached_tokens=cached)).usage
        assert usage is not None
        assert usage.cached_tokens == cached


@pytest.mark.parametrize(
    ("behaviour", "status", "chunks", "error"),
    [
        (replace(ANSWER, status=429), 429, 0, "http 429: refused with 429"),
        (replace(ANSWER, status=500), 500, 0, "http 500: refused with 500"),
        (replace(ANSWER, reset_after=2), 200, 2, "Error"),
        (replace(ANSWER, error_after=2), 200, 2, "server: the engine fell over"),
        (replace(ANSWER, malformed_after=2), 200, 2, "malformed: not JSON"),
        (replace(ANSWER, close_after=2), 200, 2, "stream: it ended without [DONE] and without a finish_reason"),
        (replace(ANSWER, tokens=0), 200, 0, "stream: no chunk carried text"),
        (replace(ANSWER, hang_after=2), 200, 2, "timeout: no end of the answer after 0.5 s"),
        (replace(ANSWER, hang_after=0), 200, 0, "timeout"),
        (replace(ANSWER, padding=17_000_000), 200, 0, "larger than 16 MiB"),
    ],
)
def test_every_failure_is_a_row_that_says_what_happened(behaviour: Behaviour, status: int, chunks: int, error: str):
    row = one(behaviour, timeout_s=0.5 if behaviour.hang_after is not None else 20.0)
    assert not row.ok
    assert error in row.error
    assert row.status == status
    assert len(row.content_ns) == chunks
    assert 0 < row.sent_ns <= row.end_ns


def test_a_server_that_is_not_there_is_a_row_without_a_status():
    async def refused() -> Row:
        async with serving(ANSWER) as server:
            url = server.url
        async with open_client(Connection(url=url)) as client:
            return await OpenAiEndpoint(client, HOW, timeout_s=5).complete(ask())

    row = asyncio.run(refused())
    assert (row.status, row.sent_ns, row.content_ns) == (0, 0, ())
    assert row.error.startswith("ConnectError")
    assert row.end_ns > 0


def test_a_connection_is_used_again_unless_the_server_is_known_to_close_it():
    requests = [ask(index) for index in range(3)]
    _, server, opened = asyncio.run(answered(ANSWER, *requests))
    assert (server.connections, opened) == (1, 1)
    rows, server, opened = asyncio.run(answered(ANSWER, *requests, how=replace(HOW, keeps_connection=False)))
    assert (server.connections, opened) == (3, 3)
    assert all(row.ok for row in rows)
    assert {seen.headers["connection"] for seen in server.seen} == {"close"}


def test_what_is_asked_is_what_was_planned_and_nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    _, server, _ = asyncio.run(answered(ANSWER, ask(output_tokens=7)))
    (seen,) = server.seen
    assert seen.body == {
        "model": "sim",
        "prompt": [5, 6, 7],
        "max_tokens": 7,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert seen.headers["accept-encoding"] == "identity"
    assert "authorization" not in seen.headers


def test_the_key_is_sent_and_never_shown():
    connection = Connection(url="http://127.0.0.1:1/v1/", api_key="s3cret")
    assert "s3cret" not in repr(connection)

    async def headers() -> tuple[str, str]:
        async with open_client(connection) as client:
            return client.headers["authorization"], str(client.base_url)

    assert asyncio.run(headers()) == ("Bearer s3cret", "http://127.0.0.1:1")


def test_streams_are_read_at_the_same_time():
    async def four() -> tuple[list[Row], int, float]:
        behaviour = replace(ANSWER, ttft_s=0.3)
        async with serving(behaviour) as server, open_client(Connection(url=server.url, streams=4)) as client:
            endpoint = OpenAiEndpoint(client, HOW, timeout_s=20)
            started = time.monotonic()
            rows = await asyncio.gather(*(endpoint.complete(ask(index)) for index in range(4)))
            return list(rows), server.most_in_flight, time.monotonic() - started

    rows, most, elapsed = asyncio.run(four())
    assert all(row.ok for row in rows)
    assert most == 4
    assert elapsed < 4 * 0.3


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": "3", "completion_tokens": 4}, None),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(prompt_tokens=3, completion_tokens=4, cached_tokens=None)),
        (
            {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}},
            Usage(prompt_tokens=3, completion_tokens=4, cached_tokens=1),
        ),
    ],
)
def test_the_generic_dialect_reads_usage_as_openai_defines_it(counts: object, usage: Usage | None):
    assert GenericDialect().usage({"usage": counts}) == usage
