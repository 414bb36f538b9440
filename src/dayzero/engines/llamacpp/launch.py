"""Write the launch of a recipe on the embedded engine."""

from importlib.resources import files

from dayzero.core.errors import InputError
from dayzero.core.launch import Budgets, LaunchSpec, LocalModel
from dayzero.core.recipe import Recipe

_LAUNCHER = "serve.py"


def launch(recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
    """Start the launcher beside the ``model`` folder, with the recipe's flags word for word.

    Raises:
        InputError: The recipe spreads the model over several machines.
    """
    if recipe.system.nodes > 1:
        raise InputError(
            f"llama.cpp serves a model from one machine, and the system has {recipe.system.nodes}",
            hint="Leave [system] nodes out, or use an engine that spreads one model over several nodes.",
        )
    argv = ("python3", _LAUNCHER, "--model", f"model/{recipe.model.files[0].path}", "--alias", recipe.name)
    address = ("--host", "127.0.0.1", "--port", str(recipe.port))
    return LaunchSpec(
        name=recipe.name,
        argv=(*argv, *address, *recipe.flags),
        env=recipe.env,
        distribution=str(recipe.engine),
        wheels=recipe.engine.wheels,
        lock=recipe.engine.lock,
        image=recipe.engine.image,
        source=recipe.engine.source,
        model=LocalModel(files=recipe.model.files),
        port=recipe.port,
        health_path="/health",
        ready_path="/health",
        accelerator=recipe.system.accelerator,
        accelerators=recipe.system.accelerators,
        memory_bytes=memory_bytes,
        shared_memory_bytes=recipe.system.shared_memory.count,
        # The server finishes no request after SIGTERM and never gives its start up by itself.
        budgets=Budgets(start_s=recipe.start_budget_s, stop_s=recipe.stop_budget_s, pre_stop_s=recipe.pre_stop_s),
    )


def launch_files() -> tuple[tuple[str, bytes], ...]:
    """Give the launcher, which stands alone and travels as ``serve.py``."""
    return ((_LAUNCHER, files("dayzero.engines.llamacpp").joinpath("launcher.py").read_bytes()),)
