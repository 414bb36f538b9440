"""Settings, relations and combinations: what is read, what a command line becomes, what is refused."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import InputError
from dayzero.optimize import parse
from dayzero.optimize.command_line import values_of, with_words, without
from dayzero.optimize.model import Setting, changed, in_words, moved
from dayzero.optimize.space import count, flags_of, narrowed, points, projected, refused, singles, space_around

BATCH = Setting(flag="--n-batch", levels=("8", "64", "512"), default="2048")
ASYNC = Setting(flag="--async", switch="--no-async", levels=("off",))
KIND = Setting(flag="--kind", levels=("fast", "slow"))


def settings_of(text: str, known: tuple[Setting, ...] = ()) -> tuple[Setting, ...]:
    return parse.settings(tomllib.loads(text), "space.toml", known)


@pytest.mark.parametrize(
    ("flags", "setting", "levels", "stock"),
    [
        ((), BATCH, ("8", "64", "512", "unset"), "unset"),
        (("--n-batch", "64"), BATCH, ("8", "64", "512"), "64"),
        (("--n-batch=100",), BATCH, ("8", "64", "100", "512"), "100"),
        (("--n_batch", "64"), BATCH, ("8", "64", "512"), "64"),
        ((), ASYNC, ("unset", "off"), "unset"),
        (("--async",), ASYNC, ("on", "off"), "on"),
        (("--no-async", "--x", "1"), ASYNC, ("off",), "off"),
        (("--kind", "odd"), KIND, ("odd", "fast", "slow"), "odd"),
    ],
)
def test_a_setting_starts_at_what_the_package_says(flags, setting, levels, stock):
    space = space_around(flags, (setting,), ())
    assert space.settings[0].levels == levels
    assert space.stock == ((setting.name, stock),)


@pytest.mark.parametrize(
    ("flags", "level", "changed_flags"),
    [
        (("--a", "1", "--n-batch", "64", "--b"), "8", ("--a", "1", "--n-batch", "8", "--b")),
        (("--a", "1", "--n-batch", "64", "--b"), "unset", ("--a", "1", "--b")),
        (("--a", "1"), "8", ("--a", "1", "--n-batch", "8")),
        (("--a=--n-batch",), "8", ("--a=--n-batch", "--n-batch", "8")),
    ],
)
def test_only_the_words_of_what_changes_are_changed(flags, level, changed_flags):
    space = space_around(flags, (BATCH,), ())
    assert flags_of(space, (("n-batch", level),)) == changed_flags
    assert flags_of(space, space.stock) == flags


def test_a_switch_is_put_in_the_place_of_its_opposite():
    space = space_around(("--x", "--async", "--y"), (ASYNC,), ())
    assert flags_of(space, (("async", "off"),)) == ("--x", "--no-async", "--y")


@given(st.lists(st.sampled_from(["--a", "--b", "--c-d", "1", "x", "-1"]), max_size=8))
def test_taking_a_flag_out_leaves_no_value_of_it_and_nothing_else_changes(words):
    left = without(words, ("--a",))
    assert values_of(left, "--a") == ()
    assert [word for word in left if word.startswith("--")] == [w for w in words if w.startswith("--") and w != "--a"]
    assert with_words(left, ("--a",), ("--a", "9"))[-2:] == ("--a", "9")


@pytest.mark.parametrize(
    ("words", "refuses"),
    [
        ("--n-ubatch 64 --n-batch 8", True),
        ("--n-ubatch 8 --n-batch 8", False),
        ("--n-ubatch 64", False),
        ("--n-batch 8", False),
    ],
)
def test_a_relation_holds_between_flags_that_are_both_set(words, refuses):
    document = tomllib.loads(
        '[[relation]]\nwhen = ["--n-ubatch > --n-batch"]\neffect = "ignored"\nsays = "never larger"\nsource = "x.cpp"'
    )
    found = refused(parse.relations(document, "f"), tuple(words.split()))
    assert (found is not None) is refuses
    if found:
        assert found.why == "never larger: the engine takes it and ignores a part (x.cpp)"


def test_every_clause_of_a_relation_has_to_hold():
    text = '[[relation]]\nwhen = ["--a == on", "--b != unset", "--c < 5"]\neffect = "refused"\nsays = "no"'
    relations = parse.relations(tomllib.loads(text), "f")
    assert refused(relations, ("--a", "--b", "x", "--c", "4")) is not None
    assert refused(relations, ("--a", "--c", "4")) is None
    assert refused(relations, ("--a", "--b", "x", "--c", "5")) is None


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ('flag = "--n"\nvalues = [1, "two", 3]', ("1", "two", "3")),
        ('flag = "--n"\nvalues = [true, false]', ("true", "false")),
        ('flag = "--n"\nrange = { from = 1, to = 8, factor = 2 }', ("1", "2", "4", "8")),
        ('flag = "--n"\nrange = { from = 1, to = 8, step = 3 }', ("1", "4", "7")),
        ('flag = "--n"\nswitch = "--no-n"', ("on", "off")),
        ('flag = "--n"\nswitch = "--no-n"\nvalues = ["off"]', ("off",)),
    ],
)
def test_levels_are_listed_stepped_or_those_of_a_switch(text, levels):
    assert settings_of(f"[[setting]]\n{text}")[0].levels == levels


def test_an_entry_with_nothing_but_a_flag_takes_the_rest_from_the_list():
    assert settings_of('[[setting]]\nflag = "--n-batch"', (BATCH,)) == (BATCH,)
    (own,) = settings_of('[[setting]]\nflag = "--n-batch"\nvalues = ["1"]', (BATCH,))
    assert (own.levels, own.default) == (("1",), "2048")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("setting = 3", "setting is no list of tables"),
        ("[[setting]]\nvalues = [1]", "flag is missing"),
        ('[[setting]]\nflag = "n"\nvalues = [1]', "'n' is no flag"),
        ('[[setting]]\nflag = "--n"', "nothing is known of --n"),
        ('[[setting]]\nflag = "--n"\nvalues = []', "no values, or one twice"),
        ('[[setting]]\nflag = "--n"\nvalues = [1, 1]', "no values, or one twice"),
        ('[[setting]]\nflag = "--n"\nvalues = 3', "no list of words and numbers"),
        ('[[setting]]\nflag = "--n"\nvalues = [1]\nlevels = 2', "no key 'levels'"),
        ('[[setting]]\nflag = "--n"\nrange = { from = 1 }', "not a range"),
        ('[[setting]]\nflag = "--n"\nrange = { from = 4, to = 1, step = 1 }', "never reaches its end"),
        ('[[setting]]\nflag = "--n"\nrange = { from = 1, to = 8, factor = 1 }', "never reaches its end"),
        ('[[setting]]\nflag = "--n"\nrange = { from = 1, to = 999, step = 1 }', "more than 64 values"),
        ('[[setting]]\nflag = "--n"\nswitch = "--no-n"\nvalues = ["maybe"]', "--n is a switch"),
        ('[[setting]]\nflag = "--n"\nvalues = [1]\n[[setting]]\nflag = "--n"\nvalues = [2]', "--n twice"),
    ],
)
def test_a_file_that_is_no_space_says_why(text, complaint):
    with pytest.raises(InputError, match=complaint):
        settings_of(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('when = ["--a > "]\neffect = "refused"\nsays = "x"', "not a comparison"),
        ('when = ["a > 1"]\neffect = "refused"\nsays = "x"', "not a comparison"),
        ('effect = "refused"\nsays = "x"', "a relation without when"),
        ('when = ["--a > 1"]\neffect = "odd"\nsays = "x"', "effect is not 'odd'"),
        ('when = ["--a > 1"]\neffect = "refused"', "says is missing"),
    ],
)
def test_a_relation_that_is_none_says_why(text, complaint):
    with pytest.raises(InputError, match=complaint):
        parse.relations(tomllib.loads(f"[[relation]]\n{text}"), "f")


def test_combinations_are_counted_narrowed_and_walked():
    space = space_around((), (BATCH, ASYNC), ())
    assert count(space) == len(list(points(space))) == 8
    assert len(list(singles(space))) == 4
    assert all(len(changed(point, space.stock)) == 1 for point in singles(space))
    less = narrowed(space, {"n-batch": frozenset({"8"}), "async": frozenset({"off"})})
    assert [setting.name for setting in less.settings] == ["n-batch"]
    assert count(less) == 3
    assert less.stock == (("n-batch", "unset"),)


def test_another_command_line_is_a_combination_only_where_the_space_has_its_levels():
    space = space_around((), (BATCH, KIND), ())
    assert projected(space, ("--n-batch", "64", "--kind", "slow")) == (("n-batch", "64"), ("kind", "slow"))
    assert projected(space, ("--n-batch", "63")) is None


def test_numbers_with_a_known_default_have_an_order_and_others_have_none():
    space = space_around((), (BATCH, KIND, ASYNC, Setting(flag="--m", levels=("1", "2"))), ())
    assert [setting.ordered for setting in space.settings] == [True, False, False, False]


def test_a_combination_is_worded():
    assert in_words((("n-batch", "64"), ("async", "off"))) == "n-batch 64, async off"
    assert in_words(()) == "the package as it is"
    assert moved((("a", "1"), ("b", "2")), "b", "3") == (("a", "1"), ("b", "3"))
