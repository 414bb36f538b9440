"""The suite that every installed engine passes: what needs no engine here, and below it what a live one shows.

An engine brings recorded answers of its endpoint (``tests/engines/<name>/answers/``: ``models.json``, ``completion.json`` asked
with log-probabilities, ``usage_chunk.json``, ``metrics.txt``) and a fixture ``<name>_endpoint`` with ``base_url`` and ``model``.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import samples
from tests.simulators.build_files import BuildInMemory

from dayzero.audit.model import Unread
from dayzero.core.recipe import Recipe
from dayzero.engines.interface import Engine
from dayzero.gates.exchange import Asked
from dayzero.wiring import plugins
from dayzero.wiring.dialects import endpoint_dialect
from dayzero.wiring.gate import logprob_dialects

ENGINES = plugins.engine_names()
METRICS = {"requests_running", "requests_waiting", "prompt_tokens", "generated_tokens"}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    return plugins.engine(request.param)


@pytest.fixture
def recipe(engine: Engine) -> Recipe:
    recipe = samples.recipe()
    flags = ("--first-setting", "one two", "--second-setting", "--looks-like-a-flag", "--last", "'quoted' $HOME")
    build = replace(recipe.engine, engine=engine.name)
    return replace(recipe, engine=build, flags=flags, env=(("B", "2"), ("A", "1")), start_budget_s=3600)


def answer(engine: Engine, name: str) -> Mapping[str, Any]:
    path = Path(__file__).parents[1] / "engines" / engine.name / "answers" / name
    recorded: Mapping[str, Any] = json.loads(path.read_text())
    return recorded


def test_the_built_in_engines_are_installed():
    assert {"llamacpp", "vllm"} <= set(ENGINES)


def test_the_name_is_the_entry_points(engine: Engine):
    assert plugins.engine(engine.name) is engine


def test_its_dialect_is_installed_beside_it(engine: Engine):
    assert endpoint_dialect(engine.name) == engine.dialect


def test_a_dialect_loads_nothing_else_of_its_engine(engine: Engine):
    code = (
        "import sys; from dayzero.wiring.dialects import endpoint_dialect as load;"
        f"print(type(load({engine.name!r})).__module__, *(name for name in sys.modules if name.startswith('dayzero.engines.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    home, *loaded = done.stdout.split()
    assert set(loaded) <= {"dayzero.engines.endpoint", home.rpartition(".")[0], home}


def test_a_launch_is_the_same_for_the_same_recipe(engine: Engine, recipe: Recipe):
    assert engine.launch(recipe, memory_bytes=7) == engine.launch(recipe, memory_bytes=7)


def test_a_launch_passes_the_recipes_flags_word_for_word_in_order(engine: Engine, recipe: Recipe):
    argv = engine.launch(recipe, memory_bytes=7).argv
    start = argv.index(recipe.flags[0])
    assert argv[start : start + len(recipe.flags)] == recipe.flags


def test_a_launch_says_what_the_recipe_says(engine: Engine, recipe: Recipe):
    spec = engine.launch(recipe, memory_bytes=7)
    assert spec.name == recipe.name
    assert spec.port == recipe.port
    assert str(recipe.port) in spec.argv
    assert spec.wheels == recipe.engine.wheels
    assert spec.distribution == str(recipe.engine)
    assert spec.model.files == recipe.model.files
    assert spec.memory_bytes == 7
    assert (spec.budgets.start_s, spec.budgets.stop_s) == (recipe.start_budget_s, recipe.stop_budget_s)
    assert spec.accelerators == recipe.system.accelerators
    assert spec.health_path.startswith("/")


def test_a_flag_that_is_given_twice_is_told_without_the_builds_files(engine: Engine, recipe: Recipe):
    argv = engine.launch(recipe, memory_bytes=7).argv
    assert engine.misused(argv, None) == ()
    assert engine.misused((*argv, "--first_setting", "3"), None) == (
        "--first-setting and --first_setting set the same thing",
    )


def test_a_launch_keeps_the_recipes_environment_in_order(engine: Engine, recipe: Recipe):
    env = engine.launch(recipe, memory_bytes=7).env
    assert tuple(pair for pair in env if pair in recipe.env) == recipe.env


def test_a_launch_has_no_absolute_path(engine: Engine, recipe: Recipe):
    words = engine.launch(recipe, memory_bytes=7).argv
    assert not [word for word in words if word.startswith("/")]


def test_launch_files_are_relative_and_named_in_the_command(engine: Engine, recipe: Recipe):
    argv = engine.launch(recipe, memory_bytes=7).argv
    for path, content in engine.launch_files():
        assert not Path(path).is_absolute()
        assert content
        assert path in argv


def test_each_flag_names_a_setting(engine: Engine):
    flags = ("--first-setting", "1", "--second.inner-setting", "2", "--third", "-3")
    assert len(engine.settings_in(flags)) == 3
    assert engine.settings_in(()) == ()


@pytest.mark.parametrize("table", ["read_architectures", "read_settings"])
def test_a_build_that_is_not_this_engines_is_unread_with_a_reason(engine: Engine, table: str):
    facts = getattr(engine, table)(BuildInMemory({"other/__init__.py": b""}, artifact="other 1.0"))
    assert isinstance(facts, Unread)
    assert facts.reason


@pytest.mark.parametrize(
    "line", ["", "   ", "loading model weights", "Traceback (most recent call last):", '  File "x.py", line 1, in main']
)
def test_an_ordinary_line_is_no_cause(engine: Engine, line: str):
    assert not engine.looks_like_cause(line)


def test_an_exception_with_a_message_is_a_cause(engine: Engine):
    assert engine.looks_like_cause("ModuleNotFoundError: No module named 'kernels'")


def logs(engine: Engine) -> list[bytes]:
    """Give the recorded logs of its starts (``tests/engines/<name>/logs/``)."""
    found = [path.read_bytes() for path in (Path(__file__).parents[1] / "engines" / engine.name / "logs").iterdir()]
    assert found, "an engine brings recorded logs"
    return found


def test_what_a_launch_asks_for_names_what_asked(engine: Engine, recipe: Recipe):
    launch = engine.launch(recipe, memory_bytes=7)
    asked = engine.asked(launch)
    assert asked == engine.asked(launch)
    assert all(one.name and one.value and one.by for one in asked)


def test_what_was_resolved_stands_in_a_line_of_the_log(engine: Engine):
    stated = [(one, log.splitlines()) for log in logs(engine) for one in engine.resolved(log)]
    assert stated, "a recorded log states something"
    for one, lines in stated:
        assert one.name
        assert one.value
        assert lines[one.line - 1].strip()


def test_the_phases_of_a_start_take_time_and_stand_in_its_log(engine: Engine):
    phases = [(phase, log.count(b"\n") + 1) for log in logs(engine) for phase in engine.start_phases(log)]
    assert phases, "a recorded log tells a phase"
    for phase, lines in phases:
        assert phase.name
        assert phase.seconds >= 0
        assert 1 <= phase.line <= lines


@pytest.mark.parametrize("log", [b"", b"\xff\xfe\x00", b"Traceback (most recent call last):\n  ...\nMemoryError\n"])
def test_a_log_that_states_nothing_gives_nothing(engine: Engine, log: bytes):
    assert engine.resolved(log) == ()
    assert engine.start_phases(log) == ()


def test_a_log_that_is_cut_off_states_no_more_than_the_whole_one(engine: Engine):
    for log in logs(engine):
        whole = {(one.name, one.line) for one in engine.resolved(log)}
        lines = log.splitlines(keepends=True)
        for count in range(0, len(lines), max(len(lines) // 20, 1)):
            cut = b"".join(lines[:count])
            assert {(one.name, one.line) for one in engine.resolved(cut)} <= whole


def test_an_exact_length_is_asked_for(engine: Engine):
    fields = engine.dialect.length_fields(37)
    assert fields["max_tokens"] == 37
    assert fields["ignore_eos"] is True
    json.dumps(dict(fields))


def test_a_chunk_without_usage_has_none(engine: Engine):
    assert engine.dialect.usage({"choices": [{"text": "a"}]}) is None
    assert engine.dialect.usage({"choices": [], "usage": None}) is None


def test_the_recorded_last_chunk_has_the_servers_counts(engine: Engine):
    usage = engine.dialect.usage(answer(engine, "usage_chunk.json"))
    assert usage
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens > 0
    assert usage.cached_tokens is None or 0 <= usage.cached_tokens <= usage.prompt_tokens


@pytest.mark.parametrize("other", ENGINES)
def test_an_engine_recognises_its_own_models_answer_only(engine: Engine, other: str):
    assert engine.dialect.recognises(answer(plugins.engine(other), "models.json")) == (engine.name == other)


@pytest.mark.parametrize(
    "models", [{}, {"data": []}, {"data": None}, {"data": ["m"]}, {"data": [{"owned_by": "nobody"}]}]
)
def test_an_answer_that_names_no_owner_is_not_recognised(engine: Engine, models: Mapping[str, object]):
    assert not engine.dialect.recognises(models)


def test_metric_names_are_complete_and_in_the_recorded_answer(engine: Engine):
    names = engine.dialect.metric_names
    assert set(names) == METRICS
    recorded = (Path(__file__).parents[1] / "engines" / engine.name / "answers" / "metrics.txt").read_text()
    assert set(names.values()) <= {line.split()[0].partition("{")[0] for line in recorded.splitlines() if line.strip()}


def test_the_fingerprint_says_something_or_nothing_but_never_guesses(engine: Engine):
    assert engine.dialect.fingerprint(answer(engine, "models.json"), answer(engine, "completion.json"))
    assert engine.dialect.fingerprint({}, {}) == ""


# -- live: the same questions put to a running engine --


@dataclass(frozen=True)
class LiveEngine:
    """A running engine: where it answers, what it serves, and the plug-in that knows it."""

    base_url: str
    model: str
    engine: Engine

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.base_url}{path}", timeout=30)

    def complete(self, **fields: object) -> Mapping[str, Any]:
        body = {"model": self.model, "prompt": [5, 6, 7, 8, 40, 50], "temperature": 0, **fields}
        answer = httpx.post(f"{self.base_url}/v1/completions", json=body, timeout=120)
        assert answer.status_code == httpx.codes.OK, answer.text
        completion: Mapping[str, Any] = answer.json()
        return completion


def _live(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.vllm if name == "vllm" else pytest.mark.engine)


@pytest.fixture(scope="session", params=[_live(name) for name in ENGINES])
def live_engine(request: pytest.FixtureRequest) -> LiveEngine:
    try:
        endpoint = request.getfixturevalue(f"{request.param}_endpoint")
    except pytest.FixtureLookupError:
        pytest.skip(f"no fixture {request.param}_endpoint serves this engine")
    return LiveEngine(base_url=endpoint.base_url, model=endpoint.model, engine=plugins.engine(request.param))


def test_live_health_answers_where_the_launch_says(live_engine: LiveEngine):
    spec = live_engine.engine.launch(replace(samples.recipe(), start_budget_s=3600), memory_bytes=7)
    assert live_engine.get(spec.health_path).status_code == httpx.codes.OK


def test_live_models_are_recognised_and_name_what_is_served(live_engine: LiveEngine):
    models = live_engine.get("/v1/models").json()
    assert live_engine.engine.dialect.recognises(models)
    assert live_engine.model in [entry["id"] for entry in models["data"]]


def test_live_stream_has_exactly_the_tokens_asked_for(live_engine: LiveEngine):
    dialect = live_engine.engine.dialect
    body = {
        "model": live_engine.model,
        "prompt": [5, 6, 7, 8, 40, 50],
        "stream": True,
        "stream_options": {"include_usage": True},
        **dialect.length_fields(9),
    }
    with httpx.stream("POST", f"{live_engine.base_url}/v1/completions", json=body, timeout=120) as stream:
        events = [line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: {")]
    counts = [usage for usage in (dialect.usage(json.loads(event)) for event in events) if usage]
    assert [(count.prompt_tokens, count.completion_tokens) for count in counts] == [(6, 9)]


def test_live_log_probabilities_come_by_id_and_the_best_is_the_one_that_was_chosen(live_engine: LiveEngine):
    dialect = dict(logprob_dialects())[live_engine.engine.name]
    asked = Asked(model=live_engine.model, prompt=(5, 6, 7, 8, 40, 50), tokens=3, k=5, salt="live")
    question = dialect.generate(asked)
    first, second = (
        httpx.post(f"{live_engine.base_url}{question.path}", json=question.body, timeout=120).json() for _ in range(2)
    )
    positions, again = dialect.generated(first), dialect.generated(second)
    assert len(positions) == 3
    assert all(len(position.candidates) >= 5 and position.candidates[0].logprob <= 0 for position in positions)
    assert all(position.chosen == position.candidates[0].token for position in positions)
    assert all(candidate.token.startswith("id:") for position in positions for candidate in position.candidates)
    assert again[0].candidates[0].logprob == pytest.approx(positions[0].candidates[0].logprob, abs=1e-3)


def test_live_metrics_carry_the_names_and_count(live_engine: LiveEngine):
    name = live_engine.engine.dialect.metric_names
    before = _metric(live_engine, name["generated_tokens"])
    live_engine.complete(**live_engine.engine.dialect.length_fields(4))
    assert _metric(live_engine, name["generated_tokens"]) == before + 4
    assert _metric(live_engine, name["requests_waiting"]) == 0
    assert _metric(live_engine, name["requests_running"]) >= 0
    assert _metric(live_engine, name["prompt_tokens"]) > 0


def _metric(live: LiveEngine, name: str) -> float:
    lines = [line.rpartition(" ") for line in live.get("/metrics").text.splitlines() if not line.startswith("#")]
    values = [float(value) for head, _, value in lines if head.partition("{")[0] == name]
    assert values, f"/metrics has no {name}"
    return sum(values)


def test_live_fingerprint_is_the_same_for_two_answers(live_engine: LiveEngine):
    models = live_engine.get("/v1/models").json()
    prints = {live_engine.engine.dialect.fingerprint(models, live_engine.complete(max_tokens=1)) for _ in range(2)}
    assert len(prints) == 1
    assert prints != {""}
