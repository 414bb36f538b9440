"""How a recipe is started with vLLM's own command."""

from dayzero.core.launch import LaunchSpec
from dayzero.core.recipe import Recipe

HEALTH_PATH = "/health"


def launch(recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
    """Write ``vllm serve model`` with the recipe's flags behind what every launch sets.

    vLLM reads a checkpoint's folder, not one of its files, so the model is the folder ``model`` itself. The endpoint asks for
    no key, so it listens on the loopback only.
    """
    served = ("--served-model-name", recipe.name)
    address = ("--host", "127.0.0.1", "--port", str(recipe.port))
    return LaunchSpec(
        name=recipe.name,
        argv=("vllm", "serve", "model", *served, *address, *recipe.flags),
        env=recipe.env,
        wheels=recipe.engine.wheels,
        distribution=str(recipe.engine),
        image=recipe.engine.image,
        model_files=recipe.model.files,
        port=recipe.port,
        health_path=HEALTH_PATH,
        accelerators=recipe.system.accelerators,
        memory_bytes=memory_bytes,
        start_budget_s=recipe.start_budget_s,
        stop_budget_s=recipe.stop_budget_s,
    )
