"""Launches: what a recipe starts, refused where it could not be what its author means."""

from dataclasses import replace

from dayzero.adapters.builds import BuildStore, WheelFiles
from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.wiring.plugins import engine, engine_names
from dayzero.wiring.settings import cache_folder, python_executable


def launch_of_package(definition: Package) -> LaunchSpec:
    """Give the launch of a package, held to the flags of its build; the service is called as the package is.

    Raises:
        InputError: As :func:`launch_of_recipe`, and where a system with GPUs does not state the memory of its host.
    """
    engine_build = definition.recipe.engine
    wheel = BuildStore(cache_folder(), python_executable()).kept(engine_build)
    return launch_with(definition, None if wheel is None else WheelFiles(artifact=str(engine_build), wheel=wheel))


def launch_with(definition: Package, files: WheelFiles | None) -> LaunchSpec:
    """Give the launch of a package, held to the flags in these files of its build; ``None`` where it is not kept here.

    Raises:
        InputError: As :func:`launch_of_package`.
    """
    recipe = definition.recipe
    return replace(_launch(recipe, files, recipe.system.memory_of_host), name=definition.name)


def launch_of_recipe(recipe: Recipe) -> LaunchSpec:
    """Give the launch of a recipe that is started here, where nothing limits its memory.

    Raises:
        InputError: A flag is set twice, a switch has a value, or the budgets are shorter than the engine's own.
    """
    return _launch(recipe, None, recipe.system.memory)


def require_launchable(recipe: Recipe) -> None:
    """Refuse a recipe whose launch is refused; an engine that is not installed has no say.

    Raises:
        InputError: As :func:`launch_of_recipe`.
    """
    if recipe.engine.engine in engine_names():
        launch_of_recipe(recipe)


def _launch(recipe: Recipe, files: WheelFiles | None, memory: Bytes) -> LaunchSpec:
    plugin = engine(recipe.engine.engine)
    spec = plugin.launch(recipe, memory_bytes=memory.count)
    # On several nodes each kind gets words of its own behind them, which may set the same again.
    kinds = {tuple(map(str, (*spec.argv, *words))) for words in (spec.nodes.leader, spec.nodes.worker)}
    problems = sorted({problem for words in kinds for problem in plugin.misused(words, files)})
    if problems:
        raise InputError(
            f"the launch of {recipe.name} contradicts itself: {'; '.join(problems)}",
            hint="Give each setting once, in [serving] flags; the launch itself sets the address, the port and the model.",
        )
    return spec
