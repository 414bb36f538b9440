"""Words written for a shell and read back: nothing that a shell would expand passes for a literal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.targets.foreign import ask, program
from tests.targets.launches import HOSTILE_WORDS, WORDS

from dayzero.core.errors import InputError
from dayzero.core.launch import Placeholder, Word
from dayzero.targets.shell_words import by_flag, joined, on_one_line, split, taken_by_bash, variable

FORMS = {Placeholder.LEADER_ADDRESS: '"$leader"', Placeholder.NODE_RANK: '"$rank"'}
ANY_WORD = st.one_of(WORDS, st.sampled_from(tuple(Placeholder)), st.sampled_from(tuple(FORMS.values())))


@given(words=st.lists(ANY_WORD, min_size=1))
def test_words_come_back_as_they_were(words: list[Word]) -> None:
    written = ("program", *joined(words, FORMS))
    assert split(" ".join(written), FORMS) == ("program", *words)
    assert on_one_line(by_flag(written, "  "), "  ") == " ".join(written)


def test_the_shell_reads_the_literals_alike_and_expands_the_placeholders_alone() -> None:
    words: tuple[Word, ...] = (*HOSTILE_WORDS, '"$leader"', "$rank", Placeholder.LEADER_ADDRESS, Placeholder.NODE_RANK)
    script = "leader='10.0.0.1 a' rank=1\nprintf '%s\\0' " + by_flag(joined(words, FORMS), "  ")
    done = ask(program("bash"), "-c", script)
    assert done.stdout.split("\0")[:-1] == [*words[:-2], "10.0.0.1 a", "1"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a ",
        " a",
        "a  b",
        "a\tb",
        "$HOME",
        '"a"',
        '"$HOME"',
        '"$leader"x',
        'x"$leader"',
        '"${leader}"',
        "$leader",
        '"$leader" "$other"',
        "`id`",
        "$(id)",
        "'a",
        "a'b",
        '"',
        "a\\ b",
        "a;b",
        "a&",
        "a>b",
        "a|b",
        "~",
        "*",
        "{a,b}",
        "#a",
        "a #b",
        "!x",
        "''a",
        "'a'b",
        "'a''b'",
        "'plain'",
        "é",
    ],
)
def test_what_a_shell_would_not_take_as_written_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        split(text, FORMS)


@pytest.mark.parametrize(
    "text", ["A=1", "give A", "give A=1 B=2", "give 1A=1", "give A=$B", "give =1", "export A=1", "give A="]
)
def test_a_line_that_does_not_set_one_variable_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        variable(text, "give")


def test_a_line_that_sets_one_variable_is_read() -> None:
    assert variable("give A='b c'", "give") == ("A", "b c")
    assert variable("give A=''", "give") == ("A", "")


@pytest.mark.parametrize("name", ["PATH", "UID", "IFS", "BASH_ENV", "COMP_WORDS", "SHELLOPTS"])
def test_what_bash_sets_or_reads_itself_is_known(name: str) -> None:
    assert taken_by_bash(name)
    assert not taken_by_bash(f"MY_{name}")
