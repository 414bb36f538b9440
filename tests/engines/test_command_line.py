import pytest

from dayzero.engines.command_line import given, repeated


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("vllm", "serve", "model"), []),
        (("--a", "1", "2", "-b", "--c=3"), [("--a", ("1", "2")), ("-b", ()), ("--c", ("3",))]),
        (("--temperature", "-1", "--x", "-0.5"), [("--temperature", ("-1",)), ("--x", ("-0.5",))]),
        (("-tp", "8"), [("-tp", ("8",))]),
        (("--json", '{"--not": "a flag"}', "-", "--"), [("--json", ('{"--not": "a flag"}', "-", "--"))]),
        (("--a", "", "x y"), [("--a", ("", "x y"))]),
    ],
)
def test_a_command_line_is_cut_at_its_flags(words, flags):
    assert [(one.flag, one.values) for one in given(words)] == flags


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        (("--a", "1", "--b", "1"), ()),
        (("--a", "1", "--a", "1"), ("--a is given twice",)),
        (("--a", "1", "--a=2"), ("--a is given twice",)),
        (("--a-b", "1", "--a_b", "2"), ("--a-b and --a_b set the same thing",)),
        (("--conf.a_b", "1", "--conf.a-b", "2"), ()),
        (("--conf.a", "1", "--conf.a", "2"), ("--conf.a is given twice",)),
        (("-x", "1", "-x", "2"), ("-x is given twice",)),
        (("--a", "--no-a"), ("--a and --no-a set the same thing",)),
        (("--no-a", "--no_a"), ("--no-a and --no_a set the same thing",)),
        (("--no-a", "--notes", "--no"), ()),
    ],
)
def test_a_flag_that_stands_twice_is_named_as_it_stands(words, problems):
    assert repeated(words) == problems


def test_a_flag_that_may_be_repeated_is_let_through():
    assert repeated(("--m", "a", "--m", "b"), allowed=frozenset({"--m"})) == ()
