"""Asking many patterns together gives what asking each gives."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.triage.sieve import Openers, Sieve, needed
from dayzero.wiring.definitions import walls

LOGS = Path(__file__).parent / "logs"
ATOMS = st.sampled_from(
    ["abc", "b", "a+", "b*", "c?", "[ab]", r"\d", r"\.", ".", "ab{2}", "(?:abc|bca)", "(abc)?", "(?P<n>bcab)"]
)
SOURCES = st.lists(ATOMS, min_size=1, max_size=4).map(
    lambda atoms: "".join(atom for at, atom in enumerate(atoms) if "(?P" not in atom or atoms.index(atom) == at)
)
TEXTS = st.text("abc.1", max_size=20)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("some words", {"some words"}),
        ("one|three", {"one", "three"}),
        (r"a\d+ longer (?:x|y)? ends", {" longer "}),
        ("(?:first|second) of", {"first", "second"}),
        ("(?:first|second)?", set()),
        (r"\w+", set()),
        ("(?!never)", set()),
        ("words?", {"word"}),
        (r"a\.b\(c", {"a.b(c"}),
        ("[a-z]]x", set()),
        ("one|x", set()),
    ],
)
def test_the_words_that_no_match_can_do_without(source: str, words: set[str]):
    assert needed(re.compile(source)) == words


def test_a_pattern_that_ignores_case_needs_no_word():
    assert needed(re.compile("words", re.IGNORECASE)) == set()


@given(st.lists(SOURCES, min_size=1, max_size=4), TEXTS)
def test_the_first_pattern_that_matches_is_the_one_that_a_loop_finds(sources: list[str], text: str):
    patterns = [re.compile(source) for source in sources]
    found = Sieve(patterns).first(text)
    slow = next(((at, one[0]) for at, pattern in enumerate(patterns) if (one := pattern.search(text))), None)
    assert (found and (found[0], found[1][0])) == slow


@given(st.lists(SOURCES, min_size=1, max_size=4), TEXTS)
def test_the_first_pattern_that_opens_is_the_one_that_a_loop_finds(sources: list[str], text: str):
    patterns = [re.compile(source) for source in sources]
    found = Openers(patterns).match(text)
    slow = next((one for pattern in patterns if (one := pattern.match(text))), None)
    assert (found and (found.re, found[0])) == (slow and (slow.re, slow[0]))


def test_no_rule_is_passed_over_in_a_recorded_log():
    sieve = Sieve([rule.line for rule in walls()])
    logs = sorted(LOGS.glob("*.log"))
    assert logs
    for path in logs:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            slow = next((at for at, pattern in enumerate(sieve.patterns) if pattern.search(line)), None)
            found = sieve.first(line)
            assert (found and found[0]) == slow, line
