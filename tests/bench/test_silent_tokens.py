"""A token that decodes to no text: whether its empty chunk counts is the engine's to say."""

import pytest
from tests.bench.raw_reads import DONE, HEAD, LAST, MS, Reads, chunk, event, planned, text, usage

from dayzero.bench.openai import read_usage
from dayzero.bench.parse import parse

T0 = 1_000 * MS
SILENT = chunk(text(""))
ENDED = chunk(event({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}))
CUT_AT_LENGTH = chunk(event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}))


def content_of(*parts: bytes, tokens_without_text: bool):
    reads = Reads()
    reads.clock(T0 - MS)
    reads.sent(planned(0), T0, T0 + MS)
    for at, part in enumerate((HEAD + parts[0], *parts[1:], chunk(usage()), chunk(DONE) + LAST), 1):
        reads.read(0, T0 + at * 10 * MS, part)
    reads.end(0, T0 + 900 * MS)
    reads.clock(T0 + 901 * MS)
    (row,) = parse((reads.raw(),), read_usage, tokens_without_text=tokens_without_text).rows
    return [round((stamp - T0) / MS) for stamp in row.content_ns], row.error


@pytest.mark.parametrize(
    ("parts", "with_them", "without_them"),
    [
        ((SILENT, chunk(text("a")), SILENT), [10, 20, 30], [20]),
        ((chunk(text("a")), CUT_AT_LENGTH), [10, 20], [10]),
        ((chunk(text("a")), ENDED), [10], [10]),
    ],
    ids=["a step each", "the last token of the asked length", "an end mark is no token"],
)
def test_an_empty_chunk_is_a_token_only_where_the_engine_sends_one_a_step(parts, with_them, without_them):
    assert content_of(*parts, tokens_without_text=True) == (with_them, "")
    assert content_of(*parts, tokens_without_text=False) == (without_them, "")


def test_an_answer_of_silent_tokens_only_is_measured():
    assert content_of(SILENT, SILENT, tokens_without_text=True) == ([10, 20], "")
    assert content_of(SILENT, SILENT, tokens_without_text=False) == ([], "stream: no chunk carried text")
