"""An answer that is taken many reads at once is the one that is taken read by read."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.bench.raw_reads import HEAD, chunk

from dayzero.bench.answer import Answer, Read

EVENTS = (
    b'{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}',
    b'{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}',
    b'{"choices":[{"delta":{"reasoning":"c"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}',
    b'{"choices":[{"delta":{"role":"assistant","content":""}}]}',
    b'{"choices":[{"text":"d"}]}',
    b'{"choices":[{"text":"h"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}',
    b'{"choices":[{"text":""}]}',
    b'{"choices":[{"text":"e"},{"text":"f","index":1}]}',
    b'{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    b'{"choices":[7,{"text":"g"}]}',
    b'{"choices":',
    b"[]}",
    b'{"choices":[]} {"choices":[]}',
    b'{"error":{"message":"no"}}',
    b"[DONE]",
    b" ",
    b"\xff",
)


def reads(events: list[bytes]) -> list[Read]:
    pieces = [HEAD, *(chunk(b"data: " + event + b"\n\n") for event in events), b"0\r\n\r\n"]
    return [(piece, 1000 * at + 900, 1000 * at, 1000 * at + 950) for at, piece in enumerate(pieces)]


def said(answer: Answer) -> dict[str, Any]:
    answer.end("")
    names = ("answer_ns", "censored", "completed_ns", "error", "first_byte_ns", "first_event_ns", "reasoning_chunks")
    usage = answer.usage(lambda chunk: chunk["usage"])  # type: ignore[arg-type,return-value]
    return {name: getattr(answer, name) for name in names} | {"usage": usage, "content_ns": list(answer.content_ns)}


@given(st.lists(st.sampled_from(EVENTS), max_size=12), st.integers(1, 14), st.booleans())
def test_reads_say_the_same_together_as_one_by_one(events: list[bytes], together: int, silent: bool):  # noqa: FBT001
    one_by_one, at_once = Answer(tokens_without_text=silent), Answer(tokens_without_text=silent)
    taken = reads(events)
    for data, stamp_ns, floor_ns, _ in taken:
        one_by_one.take(data, stamp_ns, floor_ns)
    for at in range(0, len(taken), together):
        at_once.take_all(taken[at : at + together])
    assert said(at_once) == said(one_by_one)


def test_events_that_are_json_only_together_are_malformed():
    answer = Answer()
    answer.take_all(reads([EVENTS[0], b'{"choices":', b"[]}", b'{"choices":[]} {"choices":[]}']))
    assert "not JSON" in answer.error
