from collections.abc import Callable

import pytest

from dayzero.core.errors import InputError
from dayzero.core.launch import (
    PROGRAM,
    AddedVariable,
    AddedWords,
    Budgets,
    Command,
    LaunchSpec,
    LocalModel,
    Nodes,
    Placeholder,
    Replaced,
    Site,
    apply_deltas,
    node_deltas,
)

WORDS = ("--rank", Placeholder.NODE_RANK)


def spec(**changes: object) -> LaunchSpec:
    values: dict[str, object] = {
        "name": "tiny",
        "argv": ("python3", "serve.py", "--host", "127.0.0.1", "--port", "1"),
        "env": (("A", "1"),),
        "wheels": (),
        "distribution": "xllamacpp==2.0",
        "model": LocalModel(files=()),
        "port": 1,
        "health_path": "/health",
        "ready_path": "/health",
        "accelerators": 0,
        "memory_bytes": 1,
        "budgets": Budgets(start_s=1, stop_s=1),
    }
    return LaunchSpec(**{**values, **changes})  # type: ignore[arg-type]


def test_a_delta_replaces_the_value_after_its_flag_and_nothing_else():
    changed = apply_deltas(spec(), (Replaced(flag="--host", value="0.0.0.0", why="a container"),))
    assert changed.leader.argv == ("python3", "serve.py", "--host", "0.0.0.0", "--port", "1")
    assert changed.leader.env == spec().env
    assert changed.worker is None


def test_a_delta_on_the_program_replaces_the_first_word():
    changed = apply_deltas(spec(), (Replaced(flag=PROGRAM, value="/bin/python3", why="systemd"),))
    assert changed.leader.argv == ("/bin/python3", *spec().argv[1:])


@pytest.mark.parametrize(
    "argv", [("python3", "--port", "1"), ("python3", "--host", "a", "--host", "b"), ("python3", "--host")]
)
def test_a_delta_on_a_flag_that_is_not_there_exactly_once_is_refused(argv):
    with pytest.raises(InputError, match="exactly once"):
        apply_deltas(spec(argv=argv), (Replaced(flag="--host", value="x", why="y"),))


def test_a_variable_is_added_behind_the_launchs_own_and_never_over_one():
    added = AddedVariable(name="HF_HOME", value="/hub", why="the site's")
    assert apply_deltas(spec(), (added,)).leader.env == (("A", "1"), ("HF_HOME", "/hub"))
    with pytest.raises(InputError, match="sets HF_HOME already"):
        apply_deltas(spec(env=(("HF_HOME", "/mine"),)), (added,))


def test_the_words_of_several_nodes_stand_behind_the_launchs_own_on_each_kind_of_node():
    several = spec(nodes=Nodes(count=2, leader=("--rank", "0"), worker=WORDS))
    (delta,) = node_deltas(several)
    assert str(delta) == "leader: --rank 0; other nodes: --rank <node rank>"
    commands = apply_deltas(several, (delta,))
    assert commands.leader.argv == (*spec().argv, "--rank", "0")
    assert commands.worker == Command(argv=(*spec().argv, *WORDS), env=spec().env)
    assert node_deltas(spec()) == ()
    assert isinstance(delta, AddedWords)


@pytest.mark.parametrize("nodes", [{"count": 0}, {"count": 2}, {"count": 2, "leader": ("--rank", "0")}])
def test_several_nodes_need_words_that_make_them_one(nodes):
    with pytest.raises(InputError):
        Nodes(**nodes)


@pytest.mark.parametrize("word", ["two\nlines", "nul\0"])
def test_what_not_every_deploy_file_can_carry_is_refused(word):
    with pytest.raises(InputError, match="newline or NUL"):
        spec(argv=("python3", word))
    with pytest.raises(InputError, match="newline or NUL"):
        spec(env=(("A", word),))


def test_one_environment_variable_has_one_value():
    with pytest.raises(InputError, match="set twice"):
        spec(env=(("A", "1"), ("A", "2")))


REFUSED_BUDGETS: dict[str, Callable[[], Budgets]] = {
    "start_s of the launch is 0": lambda: Budgets(start_s=0, stop_s=1),
    "stop_s of the launch is 0": lambda: Budgets(start_s=1, stop_s=0),
    "engine_start_s of the launch is -1": lambda: Budgets(start_s=1, stop_s=1, engine_start_s=-1),
    "drain_s of the launch is -1": lambda: Budgets(start_s=1, stop_s=1, drain_s=-1),
    "the start budget of 599 s is shorter than the engine's own of 600 s": lambda: Budgets(
        start_s=599, stop_s=1, engine_start_s=600
    ),
    "the stop budget of 135 s leaves no time after 15 s before SIGTERM and 120 s of draining": lambda: Budgets(
        start_s=1, stop_s=135, pre_stop_s=15, drain_s=120
    ),
}


@pytest.mark.parametrize("reason", REFUSED_BUDGETS)
def test_budgets_that_would_kill_the_engine_before_it_is_done_are_refused(reason):
    with pytest.raises(InputError) as caught:
        REFUSED_BUDGETS[reason]()
    assert caught.value.message == reason


def test_budgets_that_just_suffice_are_taken():
    assert Budgets(start_s=600, stop_s=136, engine_start_s=600, pre_stop_s=15, drain_s=120).stop_s == 136


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache", "relative/path"),
        ("cache", "/a b"),
        ("cache", "/"),
        ("cache", "/a:b"),
        ("cache", "~/hub"),
        ("namespace", ""),
        ("namespace", "Upper"),
        ("storage_class", "a b"),
        ("partition", "a;b"),
        ("nodes", "$(id)"),
        ("user", "root:x"),
        ("cache", "/hub\n"),
    ],
)
def test_a_value_of_the_site_that_a_file_would_read_as_something_else_is_refused(name, value):
    with pytest.raises(InputError, match=f"the site's {name}"):
        Site(**{name: value})
