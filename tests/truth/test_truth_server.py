"""The yardstick itself: what the truth server sends, and that what it writes down is what happened."""

import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from bench.truth.server import TruthServer, binary

Events = list[dict[str, Any]]
QUICK = {"ttft_ms": 2, "itl_ms": 1}


@pytest.fixture
def start() -> Iterator[Callable[..., TruthServer]]:
    if shutil.which("cc") is None:
        pytest.skip("the truth server needs a C compiler, which this machine lacks")
    with ExitStack() as servers:
        yield lambda **options: servers.enter_context(TruthServer({**QUICK, **options}))


@pytest.fixture
def connect() -> Iterator[Callable[[TruthServer], http.client.HTTPConnection]]:
    with ExitStack() as connections:
        yield lambda server: connections.enter_context(
            closing(http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10))
        )


def ask(connection: http.client.HTTPConnection, path: str = "/v1/chat/completions", **body: Any) -> Events:
    prompt = (
        {"messages": [{"role": "user", "content": "four words and more"}]} if "chat" in path else {"prompt": [7, 8]}
    )
    asked = {"stream": True, "max_tokens": 4, "stream_options": {"include_usage": True}, **prompt, **body}
    connection.request("POST", path, json.dumps(asked))
    text = connection.getresponse().read().decode()
    if not asked["stream"]:
        return [json.loads(text)]
    lines = [line for line in text.split("\n\n") if line]
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def deltas(events: Events) -> list[dict[str, Any]]:
    return [choice["delta"] for event in events for choice in event["choices"]]


def test_stamps_lie_between_what_the_client_did_before_and_after(start, connect) -> None:
    server = start(record_chunks=1)
    before = time.monotonic_ns()
    ask(connect(server))
    after = time.monotonic_ns()
    (truth,) = server.truth()
    assert before < truth.arrived < truth.first_written < truth.last_written < after
    assert (truth.chunk_written[0], truth.chunk_written[-1]) == (truth.first_written, truth.last_written)
    assert sorted(truth.chunk_written) == list(truth.chunk_written)


def test_nothing_leaves_before_it_is_due(start, connect) -> None:
    server = start(prefill_us_per_token=500)
    ask(connect(server), max_tokens=10)
    (truth,) = server.truth()
    assert truth.ttft_ms >= 2 + 4 * 0.5
    assert truth.last_written - truth.arrived >= (2 + 4 * 0.5 + 9) * 1_000_000
    assert truth.itl_ms == (truth.last_written - truth.first_written) / 1e6 / 9


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"role": 0}, [{"content": " the"}] * 4),
        ({"role": 1}, [{"role": "assistant", "content": ""}, *[{"content": " the"}] * 4]),
        ({"role": 2, "role_ms": 1}, [{"role": "assistant", "content": ""}, *[{"content": " the"}] * 4]),
        ({"role": 0, "tokens_per_chunk": 3}, [{"content": " the the the"}, {"content": " the"}]),
        ({"role": 0, "reasoning": 2}, [*[{"reasoning_content": " the"}] * 2, *[{"content": " the"}] * 2]),
    ],
)
def test_the_awkward_streams_are_as_asked(start, connect, options, expected) -> None:
    server = start(**options)
    assert deltas(ask(connect(server))) == expected
    (truth,) = server.truth()
    roles = sum("role" in delta for delta in expected)
    assert (truth.sent, truth.chunks) == (4, len(expected) - roles)
    assert truth.before_last == 3


@pytest.mark.parametrize(("usage", "carrying"), [(0, 0), (1, 1), (2, 5)])
def test_usage_comes_never_once_or_with_every_chunk(start, connect, usage, carrying) -> None:
    events = ask(connect(start(usage=usage, role=0)))
    stated = [event["usage"] for event in events if "usage" in event]
    assert len(stated) == carrying
    assert all(count["prompt_tokens"] == 4 for count in stated)
    assert not stated or stated[-1]["completion_tokens"] == 4


def test_a_slot_is_handed_on_when_the_answer_before_is_whole(start, connect) -> None:
    server = start(slots=1)
    first, second = connect(server), connect(server)
    for connection in (first, second):
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "a b c", "stream": True, "max_tokens": 5}))
    for connection in (first, second):
        connection.getresponse().read()
    one, two = server.truth()
    assert two.first_written - one.last_written >= 2_000_000
    assert server.stats()["peak_running"] == 1


def test_requests_on_one_connection_are_told_apart(start, connect) -> None:
    server = start()
    connection = connect(server)
    for path in ("/v1/completions", "/v1/chat/completions"):
        ask(connection, path)
    whole = ask(connection, "/v1/completions", stream=False)[0]
    assert whole["choices"][0]["text"] == " the" * 4
    assert [(t.nth_on_connection, t.prompt_tokens) for t in server.truth()] == [(1, 2), (2, 4), (3, 2)]


def test_a_client_that_goes_away_fails_its_request_only(start, connect) -> None:
    server = start(itl_ms=20)
    gone = connect(server)
    gone.request("POST", "/v1/completions", json.dumps({"prompt": "a", "stream": True, "max_tokens": 50}))
    gone.getresponse().read(1)
    gone.close()
    ask(connect(server), "/v1/completions")
    assert [t.failed for t in server.truth()] == [True, False]


def test_a_word_inside_a_prompt_is_no_key(start, connect) -> None:
    server = start()
    said = 'say "max_tokens": 9, "stream": false'
    ask(connect(server), "/v1/completions", prompt=said)
    (truth,) = server.truth()
    assert (truth.asked, truth.prompt_tokens) == (4, 5)


def test_every_word_has_an_id_and_the_same_one_each_time(start, connect) -> None:
    connection = connect(start())
    connection.request("POST", "/tokenize", json.dumps({"content": "one two one"}))
    answer = json.loads(connection.getresponse().read())
    assert (answer["count"], answer["tokens"][0]) == (3, answer["tokens"][2])
    assert answer["tokens"][0] != answer["tokens"][1]


def test_what_was_counted_is_in_the_metrics_until_it_is_forgotten(start, connect) -> None:
    server = start()
    ask(connect(server), "/v1/completions")
    assert 'vllm:generation_tokens_total{model_name="truth"} 4\n' in server.get("/metrics")
    server.reset()
    assert server.truth() == ()


def test_an_option_that_is_not_there_is_refused(start) -> None:
    start()
    refused = subprocess.run([binary(), "--no-such-thing", "1"], check=False, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--tokens-per-chunk" in refused.stderr
