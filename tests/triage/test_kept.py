"""A log of any size is kept in bounded memory, with the numbers that its lines have."""

from hypothesis import given
from hypothesis import strategies as st

from dayzero.triage import kept
from dayzero.triage.kept import Kept

BORING = b"GET /health 200\n"


@given(
    lines=st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b" ")), max_size=20),
    cut=st.integers(1, 40),
)
def test_a_short_log_is_kept_whole_however_it_is_cut(lines: list[bytes], cut: int):
    log = b"".join(line + b"\n" for line in lines)
    held = Kept()
    for start in range(0, len(log), cut):
        held.feed(log[start : start + cut])
    assert list(held.numbered()) == [(n, line.decode("utf-8", "replace")) for n, line in enumerate(lines, 1)]
    assert (held.lines, held.left_out) == (len(lines), 0)


def test_of_a_long_log_the_ends_and_what_could_matter_between_are_kept():
    count = 1 << 19
    held = Kept()
    held.feed(b"first\n" + BORING * count + b"some Error: here\n" + BORING * count + b"last")
    numbered = dict(held.numbered())
    assert (numbered[1], numbered[count + 2], numbered[2 * count + 3]) == ("first", "some Error: here", "last")
    assert held.lines == 2 * count + 3
    assert held.left_out == held.lines - len(numbered)


def test_memory_is_bounded_even_where_every_line_could_matter():
    held = Kept()
    for _ in range(200):
        held.feed(b"some Error: here\n" * 4096)
    limit = kept.HEAD_BYTES + kept.EARLY_BYTES + kept.LATE_BYTES + kept.TAIL_BYTES
    assert sum(len(line) + 1 for _, line in held.numbered()) <= limit + (1 << 17)


def test_a_very_long_line_keeps_its_two_ends():
    held = Kept()
    held.feed(b"begin ")
    for _ in range(64):
        held.feed(b"x" * (1 << 20))
    held.feed(b" end\nnext\n")
    (first, long), (second, after) = held.numbered()
    assert (first, second, after) == (1, 2, "next")
    assert long.startswith("begin x")
    assert long.endswith("x end")
    assert len(long) < 1 << 19
