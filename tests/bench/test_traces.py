"""Traces: each format as it is published, and every line that is not of it."""

import pytest

from dayzero.bench.traces import TraceFormat, parse_trace
from dayzero.core.errors import InputError
from dayzero.core.workload import Arrival, Message


def read(text: str, kind: TraceFormat, most: int | None = None) -> tuple[Arrival, ...]:
    return parse_trace(text.splitlines(keepends=True), kind, "trace", most=most)


def test_mooncake_lines_give_times_in_ms_lengths_and_blocks():
    text = (
        '{"timestamp": 3000, "input_length": 655, "output_length": 52, "hash_ids": [46, 47]}\n'
        '{"timestamp": 3500, "input_length": 512, "output_length": 3, "hash_ids": [46]}\n'
    )
    assert read(text, "mooncake") == (
        Arrival(at_s=0.0, input_tokens=655, output_tokens=52, blocks=(46, 47)),
        Arrival(at_s=0.5, input_tokens=512, output_tokens=3, blocks=(46,)),
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-11-16 18:17:03.9799600", "2023-11-16 18:17:05.4799600"),
        ("2024-05-10 00:00:00.009930+00:00", "2024-05-10 00:00:01.509930+00:00"),
    ],
)
def test_azure_rows_of_both_years_give_times_and_lengths(first: str, second: str):
    text = f"TIMESTAMP,ContextTokens,GeneratedTokens\r\n{first},4808,10\r\n{second},3180,8\r\n"
    arrivals = read(text, "azure")
    assert [(each.input_tokens, each.output_tokens) for each in arrivals] == [(4808, 10), (3180, 8)]
    assert [each.at_s for each in arrivals] == pytest.approx([0.0, 1.5], abs=1e-5)


def test_our_own_lines_hold_lengths_texts_or_messages():
    text = (
        '{"at_s": 1, "input_tokens": 40, "output_tokens": 8, "session": "a"}\n'
        "\n"
        '{"at_s": 2.5, "prompt": "tell me", "output_tokens": 8}\n'
        '{"at_s": 0.5, "messages": [{"role": "user", "content": "hello"}], "output_tokens": 8}\n'
    )
    assert read(text, "jsonl") == (
        Arrival(at_s=0.0, input_tokens=0, output_tokens=8, prompt=(Message("user", "hello"),)),
        Arrival(at_s=0.5, input_tokens=40, output_tokens=8, session="a"),
        Arrival(at_s=2.0, input_tokens=0, output_tokens=8, prompt="tell me"),
    )


def test_no_more_lines_are_read_than_asked_for():
    text = '{"input_tokens": 4, "output_tokens": 8}\n' * 2 + "broken"
    assert len(read(text, "jsonl", most=2)) == 2


MOONCAKE = '{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [0]}\n'
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,9,1\n"
PLAIN = '{"at_s": 0, "input_tokens": 9, "output_tokens": 1}\n'


@pytest.mark.parametrize(
    ("kind", "text", "complaint"),
    [
        ("mooncake", MOONCAKE + "{", "trace:2: Input data was truncated"),
        ("mooncake", MOONCAKE + '{"timestamp": 5}', "trace:2: Object missing required field `input_length`"),
        ("mooncake", MOONCAKE + MOONCAKE.replace("9", "-9"), "trace:2: a prompt of -9 tokens"),
        ("mooncake", MOONCAKE + MOONCAKE.replace("9", "600"), "trace:2: 600 tokens are not 1 blocks of 512"),
        ("mooncake", MOONCAKE + MOONCAKE.replace("}", ', "delay": 5}'), "trace:2: .* unknown field `delay`"),
        ("mooncake", MOONCAKE.replace("0", "-4", 1).replace("1", "0", 1), "trace:1: a request cannot come at"),
        ("azure", "when,in,out\n", "trace:1: expected the header TIMESTAMP,ContextTokens,GeneratedTokens"),
        ("azure", AZURE + "yesterday,9,1\n", "trace:3: Invalid isoformat string: 'yesterday'"),
        ("azure", AZURE + "2023-11-16 18:17:03,9\n", "trace:3: not enough values"),
        ("azure", AZURE + "2023-11-16 18:17:03,many,1\n", "trace:3: invalid literal"),
        ("azure", AZURE + "2023-11-16 18:17:03,9,0\n", "trace:3: a request of 0 output tokens"),
        ("jsonl", PLAIN + '{"input_tokens": 9, "output_tokens": 1}', "trace:2: at_s must stand on every line"),
        ("jsonl", '{"output_tokens": 1}', "trace:1: exactly one of input_tokens, prompt and messages"),
        ("jsonl", '{"prompt": "a", "input_tokens": 4, "output_tokens": 1}', "trace:1: exactly one of"),
        ("jsonl", '{"messages": [], "output_tokens": 1}', "trace:1: exactly one of"),
        ("jsonl", '{"prompt": 5, "output_tokens": 1}', "trace:1: Expected `str"),
        ("jsonl", "\n\n", "trace: no request in it"),
        ("azure", "", "trace:1: expected the header"),
    ],
)
def test_a_broken_line_is_named(kind: TraceFormat, text: str, complaint: str):
    with pytest.raises(InputError, match=complaint) as raised:
        read(text, kind)
    assert raised.value.hint
