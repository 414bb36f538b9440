"""How an endpoint is addressed and asked: nothing but what was planned is sent."""

import json
from dataclasses import replace

import pytest

from dayzero.adapters.openai_http import Address, Connection, GenericDialect, Speech, Wording, parse_address
from dayzero.bench.model import ChatPrompt, Prompt, Request, TextPrompt, TokenPrompt, Usage
from dayzero.core.errors import InputError
from dayzero.core.workload import Message

HOW = Speech(model="sim", route="/v1/completions", dialect=GenericDialect())
CHAT = replace(HOW, route="/v1/chat/completions")
PLACE = parse_address("http://127.0.0.1:8000")


def written(prompt: Prompt, how: Speech = HOW, *, key: str = "", place: Address = PLACE) -> tuple[list[str], object]:
    request = Request(number=0, cell="c", phase="measured", index=0, prompt=prompt, input_tokens=3, output_tokens=7)
    head, _, body = Wording(place, key).streamed(how, request).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert f"content-length: {len(body)}" in lines
    return lines, json.loads(body)


def test_what_is_asked_is_what_was_planned_and_nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    lines, body = written(TokenPrompt(ids=(5, 6, 7)))
    assert body == {
        "model": "sim",
        "prompt": [5, 6, 7],
        "max_tokens": 7,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert lines[:2] == ["POST /v1/completions HTTP/1.1", "host: 127.0.0.1:8000"]
    assert "accept-encoding: identity" in lines
    assert not any(line.startswith(("authorization", "connection")) for line in lines)


@pytest.mark.parametrize(
    ("prompt", "how", "field", "value"),
    [
        (TextPrompt(text="a b"), HOW, "prompt", "a b"),
        (TextPrompt(text="a b"), CHAT, "messages", [{"role": "user", "content": "a b"}]),
        (
            ChatPrompt(messages=(Message("user", "a"), Message("assistant", "b"))),
            CHAT,
            "messages",
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        ),
        (ChatPrompt(messages=(Message("user", "a"), Message("assistant", "b"))), HOW, "prompt", "a\nb"),
    ],
)
def test_each_kind_of_prompt_is_sent_as_its_route_takes_it(prompt: Prompt, how: Speech, field: str, value: object):
    _, body = written(prompt, how)
    assert isinstance(body, dict)
    assert body[field] == value


def test_a_server_that_closes_is_told_to():
    lines, _ = written(TextPrompt(text="a"), replace(HOW, keeps_connection=False))
    assert "connection: close" in lines


def test_the_key_is_sent_and_never_shown():
    lines, _ = written(TextPrompt(text="a"), key="s3cret")
    assert "authorization: Bearer s3cret" in lines
    assert "s3cret" not in repr(Connection(url="http://127.0.0.1:1", api_key="s3cret"))


def test_a_key_that_would_break_the_head_is_refused():
    with pytest.raises(InputError, match="no header can carry"):
        Wording(PLACE, "s3cret\r\nx: y")


@pytest.mark.parametrize(
    ("text", "shown", "authority"),
    [
        ("http://127.0.0.1:1/v1/", "http://127.0.0.1:1", "127.0.0.1:1"),
        ("http://example.org", "http://example.org", "example.org"),
        ("https://example.org", "https://example.org", "example.org"),
        ("https://example.org:80/", "https://example.org:80", "example.org:80"),
        ("http://[::1]:9", "http://[::1]:9", "[::1]:9"),
        ("https://example.org/openai/v1", "https://example.org/openai", "example.org"),
    ],
)
def test_an_address_is_read_with_or_without_its_version(text: str, shown: str, authority: str):
    address = parse_address(text)
    assert (str(address), address.authority) == (shown, authority)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:1",
        "ftp://127.0.0.1:1",
        "http://",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://[::1",
        "http://user@host",
        "http://host/?a=b",
        "http://a b",
        "http://h\u00f6st",
    ],
)
def test_what_is_no_address_is_refused(text: str):
    with pytest.raises(InputError, match="not an address"):
        parse_address(text)


def test_a_prefix_stands_before_every_route():
    lines, _ = written(TextPrompt(text="a"), place=parse_address("https://example.org/openai/v1"))
    assert lines[0] == "POST /openai/v1/completions HTTP/1.1"


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
