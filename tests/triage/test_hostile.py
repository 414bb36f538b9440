"""Whatever the bytes are, the answer is a diagnosis or a refusal, soon and in bounded memory."""

import sys
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, RootFound, Started

HEAD = b"(EngineCore pid=5) ERROR 11-29 14:30:44 [core.py:1510] "
QUICK = settings(max_examples=80, derandomize=True, deadline=None, database=None)
MIB = 1024**2
# Pieces from which a parser of logs may lose its way.
PIECES = st.sampled_from(
    [
        b"Traceback (most recent call last):",
        b'  File "/a.py", line 1, in f',
        b"    f()",
        b"    ^^^",
        b"ValueError: no",
        b"During handling of the above exception, another exception occurred:",
        b"The above exception was the direct cause of the following exception:",
        b"(EngineCore pid=5) ",
        b"(Worker_TP0 pid=6) ERROR 11-29 14:30:44 [x.py:1] ",
        b"engine  | ",
        b"2026-03-11T17:58:00.143821875Z stderr P ",
        b"2026-03-11T17:58:00.143821875Z stderr F ",
        b'{"message": "x", "exc_info": "Traceback (most recent call last):\\n',
        b'{"log":"',
        b'{"asctime": [[[',
        b"\x1b[",
        b"\x1b[1;36m",
        b"\r",
        b"\n",
        b"\n\n",
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"| +---",
        b"Failed core proc(s): {'EngineCore': -9}",
        b"[repeated 3x across cluster]",
        "\u2028\u0085\u202e".encode(),
    ]
)


def answered(log: bytes | Iterator[bytes]) -> RootFound | CauseNotInLog | Started:
    found = read(log)
    assert isinstance(found, RootFound | CauseNotInLog | Started)
    if isinstance(found, RootFound):
        assert 1 <= found.root.line <= found.log.lines
    return found


@QUICK
@given(st.binary(max_size=4000))
def test_random_bytes_get_an_answer(log):
    assert answered(log).log.size_bytes == len(log)


@QUICK
@given(st.lists(PIECES, max_size=120).map(b"".join))
def test_any_sequence_of_pieces_of_logs_gets_an_answer(log):
    answered(log)


@QUICK
@given(st.lists(PIECES, max_size=60), st.integers(1, 30))
def test_an_answer_does_not_depend_on_how_the_bytes_were_cut(pieces, size):
    log = b"".join(pieces)
    assert read([log[at : at + size] for at in range(0, len(log), size)]) == read(log)


@pytest.mark.parametrize(
    "log",
    [
        b"",
        b"\n",
        b"\n" * 10_000,
        b"\x00" * 100_000,
        b"\xff" * 100_000,
        b"\r" * 100_000,
        b"\x1b[" * 10_000,
        b" " * 500_000,
    ],
    ids=["nothing", "a newline", "newlines", "zeros", "0xff", "returns", "half escapes", "spaces"],
)
def test_a_log_that_says_nothing_is_refused(log):
    found = answered(log)
    assert isinstance(found, CauseNotInLog)
    assert found.collect


TRAPS = {
    "one long line": b"x" * 1_000_000,
    "one long exception": b"ValueError: " + b"a" * 1_000_000,
    "one long word": b"A" * 500_000 + b"Error",
    "dotted names": b"a." * 1_000_000 + b"Error: x",
    "words and spaces": b"a " * 1_000_000,
    "open brackets": b"(" * 1_000_000,
    "open prefixes": b"(A pid=1" * 40_000,
    "prefixes without end": b"(A pid=1) " * 40_000,
    "digits": b"1" * 1_000_000,
    "stamps": b"2026-03-11T17:58:00.143821875Z " * 100_000,
    "bars": b"a | " * 500_000,
    "colons": b": " * 1_000_000,
    "quotes": b"'" * 1_000_000,
    "escapes": b"\x1b[0m" * 500_000,
    "returns": b"50%|#####     |\r" * 40_000 + b"x",
    "deep JSON": b'{"a":' * 100_000,
    "deep JSON lists": b'{"message": ' + b"[" * 100_000,
    "a JSON line that never ends": b'{"log":"' + b"\\" * 1_000_000,
    "many JSON escapes": b'{"log":"' + b"\\u0041" * 40_000 + b'\\n","stream":"stderr","time":"2026-03-11T17:58:00Z"}',
    "an epoch": b'{"message": ' + b"9" * 100_000 + b"}",
}


@pytest.mark.parametrize("end", [b"", b"\n" + HEAD + b"ValueError: no\n"], ids=["alone", "before a failure"])
@pytest.mark.parametrize("trap", TRAPS)
def test_a_line_made_to_hold_a_reader_up_does_not(trap, end):
    answered(TRAPS[trap] + end)
    answered(HEAD + TRAPS[trap] + end)


def _frames(count: int) -> bytes:
    return b"".join(HEAD + b'  File "/opt/a.py", line %d, in f\n' % n + HEAD + b"    f()\n" for n in range(count))


LONG = {
    "a traceback of 20,000 frames": HEAD
    + b"Traceback (most recent call last):\n"
    + _frames(20_000)
    + HEAD
    + b"RecursionError: maximum recursion depth exceeded\n",
    "a traceback that never ends": HEAD + b"Traceback (most recent call last):\n" + _frames(20_000),
    "10,000 tracebacks that never end": (HEAD + b"Traceback (most recent call last):\n") * 10_000,
    "a chain of 5,000 exceptions": (
        HEAD
        + b"Traceback (most recent call last):\n"
        + HEAD
        + b'  File "/opt/a.py", line 1, in f\n'
        + HEAD
        + b"ValueError: no\n"
        + HEAD
        + b"\n"
        + HEAD
        + b"During handling of the above exception, another exception occurred:\n"
        + HEAD
        + b"\n"
    )
    * 5_000,
    "a message of 40,000 lines": HEAD + b"ValueError: no\n" + (HEAD + b"and more\n") * 40_000,
    "10,000 processes": b"".join(
        b"(Worker pid=%d) ERROR 11-29 14:30:44 [a.py:1] ValueError: no\n" % n for n in range(10_000)
    ),
    "10,000 processes in a traceback each": b"".join(
        b"(Worker pid=%d) ERROR 11-29 14:30:44 [a.py:1] Traceback (most recent call last):\n" % n for n in range(10_000)
    ),
    "10,000 different failures": b"".join(HEAD + b"Custom%dError: number %d\n" % (n, n) for n in range(10_000)),
    "10,000 services": b"".join(b"service-%d  | ValueError: no\n" % n for n in range(10_000)),
    "10,000 starts": b"(APIServer pid=1) INFO 11-29 14:23:08 [api_utils.py:286] non-default args: {}\nValueError: no\n"
    * 10_000,
    "a partial line in 20,000 parts": b"2026-03-11T17:58:00.143821875Z stderr P "
    + b"\n2026-03-11T17:58:00.143821875Z stderr P ".join([b"a" * 20] * 20_000),
}


@pytest.mark.parametrize("name", LONG)
def test_a_log_without_end_gets_an_answer(name):
    answered(LONG[name])


def test_recursion_has_no_part_in_reading():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        answered(LONG["a chain of 5,000 exceptions"][:400_000])
    finally:
        sys.setrecursionlimit(limit)


def _peak_bytes(log: Iterator[bytes]) -> int:
    tracemalloc.start()
    try:
        answered(log)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("piece", "times"),
    [
        (b"(EngineCore pid=5) INFO 11-29 14:30:44 [core.py:1] step\n" * 200, 1500),
        (b"x" * 65_536, 300),
        (HEAD + b"ValueError: no\n", 20_000),
    ],
    ids=["records", "one line", "failures"],
)
def test_memory_does_not_grow_with_the_log(piece, times):
    """The measure is what Python holds at most, not what the system gave: 24 MiB, whether the log has 1 or 18 MiB."""
    assert _peak_bytes(iter([piece] * times)) < 24 * MIB


def test_secrets_do_not_come_out():
    log = (
        b"(APIServer pid=1) INFO 11-29 14:23:08 [api_utils.py:286] non-default args: {'api_key': ['sk-0123456789abcdef0123']}\n"
        b"(APIServer pid=1) ERROR 11-29 14:23:09 [x.py:1] ValueError: token hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789 is bad\n"
    )
    shown = repr(answered(log))
    assert "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789" not in shown
    assert "sk-0123456789abcdef0123" not in shown
