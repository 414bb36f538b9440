"""What carried a line is taken off; its number stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.triage.transport import Line, carried, compose_services, last_of_bar, whole_lines

CARRIERS = {
    "docker": "2026-03-11T17:58:00.143821875Z ",
    "cri": "2026-03-11T17:58:00.143821875Z stderr F ",
    "journal": "Aug 19 18:34:27 host vllm[7]: ",
    "iso journal": "2026-08-19T18:34:27+0000 host vllm[7]: ",
    "ci": "[2026-02-24T20:21:58Z] ",
    "modal": "Aug 04  00:33:47.063 | ",
    "wrapper": "2026-06-09 14:01:52.982 [Error] (Process) ",
    "pod": "[pod/vllm-0/vllm] ",
    "compose": "engine-1  | ",
    "journal around compose": "Aug 19 18:34:27 host docker[7]: engine-1  | ",
    "colour": "\x1b[1;36m",
}
SAID = st.from_regex(r"[A-Z][a-zA-Z]{2,12}Error: [a-z ]{1,20}[a-z]", fullmatch=True)


def read(*lines: str) -> list[Line]:
    whole = list(whole_lines(enumerate(lines, 1)))
    return list(carried(whole, compose_services(whole)))


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
@given(said=st.lists(SAID, min_size=2, max_size=4))
def test_a_line_comes_out_of_any_carrier_as_it_went_in(carrier: str, said: list[str]):
    lines = read(*(carrier + text for text in said))
    assert [(line.number, line.text) for line in lines] == list(enumerate(said, 1))


@given(said=SAID, cut=st.integers(1, 5))
def test_partial_lines_are_joined_under_the_first_ones_number(said: str, cut: int):
    stamp = "2026-03-11T17:58:00.1Z stderr "
    lines = read(f"{stamp}F before", f"{stamp}P {said[:cut]}", f"{stamp}F {said[cut:]}", f"{stamp}F after")
    assert [(line.number, line.text) for line in lines] == [(1, "before"), (2, said), (4, "after")]


def test_a_word_before_a_bar_is_a_service_only_when_it_recurs():
    assert [line.service for line in read("used | free", "chat  | one", "chat  | two")] == ["", "chat", "chat"]


def test_the_end_of_an_attempt_belongs_to_its_service():
    end = read("chat  | one", "chat  | two", "chat exited with code 1 (restarting)")[-1]
    assert (end.service, end.ended) == ("chat", True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"log":"Error: no\\n","stream":"stderr","time":"2026-03-11T17:58:00Z"}', "Error: no"),
        ('{"MESSAGE":"Error: no","_PID":"7"}', "Error: no"),
        ('{"textPayload":"Error: no"}', "Error: no"),
        ('{"levelname":"ERROR","message":"no"}', '{"levelname":"ERROR","message":"no"}'),
        ("{not json}", "{not json}"),
    ],
)
def test_a_collectors_json_is_unwrapped_and_an_engines_own_is_left(line: str, expected: str):
    assert read(line)[0].text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10%\r50%\r100%", "100%"), ("said\r", "said"), ("a\rb\r\r", "b"), ("plain", "plain"), ("\r", "")],
)
def test_of_a_progress_bar_the_last_state_is_read(text: str, expected: str):
    assert last_of_bar(text) == expected
