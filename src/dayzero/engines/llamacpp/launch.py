"""Write the launch of a recipe on the embedded engine."""

from importlib.resources import files

from dayzero.core.launch import LaunchSpec
from dayzero.core.recipe import Recipe

_LAUNCHER = "serve.py"


def launch(recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
    """Start the launcher beside the ``model`` folder, with the recipe's flags word for word."""
    argv = ("python3", _LAUNCHER, "--model", f"model/{recipe.model.files[0].path}", "--alias", recipe.name)
    address = ("--host", "127.0.0.1", "--port", str(recipe.port))
    return LaunchSpec(
        name=recipe.name,
        argv=(*argv, *address, *recipe.flags),
        env=recipe.env,
        wheels=recipe.engine.wheels,
        distribution=str(recipe.engine),
        image=recipe.engine.image,
        model_files=recipe.model.files,
        port=recipe.port,
        health_path="/health",
        accelerators=recipe.system.accelerators,
        memory_bytes=memory_bytes,
        start_budget_s=recipe.start_budget_s,
        stop_budget_s=recipe.stop_budget_s,
    )


def launch_files() -> tuple[tuple[str, bytes], ...]:
    """Give the launcher, which stands alone and travels as ``serve.py``."""
    return ((_LAUNCHER, files("dayzero.engines.llamacpp").joinpath("launcher.py").read_bytes()),)
