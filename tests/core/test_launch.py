import pytest

from dayzero.core.errors import InputError
from dayzero.core.launch import Delta, LaunchSpec, apply_deltas


def spec(**changes: object) -> LaunchSpec:
    values: dict[str, object] = {
        "name": "tiny",
        "argv": ("python3", "serve.py", "--host", "127.0.0.1", "--port", "1"),
        "env": (("A", "1"),),
        "wheels": (),
        "distribution": "xllamacpp==2.0",
        "image": "",
        "model_files": (),
        "port": 1,
        "health_path": "/health",
        "accelerators": 0,
        "memory_bytes": 1,
        "start_budget_s": 1,
        "stop_budget_s": 1,
    }
    return LaunchSpec(**{**values, **changes})  # type: ignore[arg-type]


def test_a_delta_replaces_the_value_after_its_flag_and_nothing_else():
    changed = apply_deltas(spec(), (Delta(flag="--host", value="0.0.0.0", why="a container"),))
    assert changed.argv == ("python3", "serve.py", "--host", "0.0.0.0", "--port", "1")
    assert changed.env == spec().env


@pytest.mark.parametrize(
    "argv", [("python3", "--port", "1"), ("python3", "--host", "a", "--host", "b"), ("python3", "--host")]
)
def test_a_delta_on_a_flag_that_is_not_there_exactly_once_is_refused(argv):
    with pytest.raises(InputError, match="exactly once"):
        apply_deltas(spec(argv=argv), (Delta(flag="--host", value="x", why="y"),))


@pytest.mark.parametrize("word", ["two\nlines", "nul\0"])
def test_what_not_every_deploy_file_can_carry_is_refused(word):
    with pytest.raises(InputError, match="newline or NUL"):
        spec(argv=("python3", word))
    with pytest.raises(InputError, match="newline or NUL"):
        spec(env=(("A", word),))


def test_one_environment_variable_has_one_value():
    with pytest.raises(InputError, match="set twice"):
        spec(env=(("A", "1"), ("A", "2")))
