"""How a recipe is started with vLLM's own command."""

from dayzero.core.errors import InputError
from dayzero.core.launch import Budgets, HubModel, LaunchSpec, LocalModel, ModelSource, Nodes, Placeholder, Word
from dayzero.core.pins import HubRevision
from dayzero.core.recipe import Recipe
from dayzero.engines.command_line import given

HEALTH_PATH = "/health"  # vllm 0.27.1, entrypoints/serve/instrumentator/health.py: 503 once the engine is dead
READY_PATH = "/v1/models"

# vllm 0.26.0, envs.py:781, to 0.33.0, envs.py:813: after so many seconds the front end gives the engine's start up.
_READY_VARIABLE, _READY_S = "VLLM_ENGINE_READY_TIMEOUT_S", 600
# vllm 0.26.0, engine/arg_utils.py:1604, to 0.33.0, engine/arg_utils.py:1941: the default of 0 drops what is running.
_DRAIN_FLAG = "--shutdown-timeout"
# What the processes of one machine exchange goes through it; only what is used takes memory.
_SHARED_MEMORY_BYTES = 64 * 1024**3


def launch(recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
    """Write ``vllm serve MODEL`` with the recipe's flags behind what every launch sets.

    vLLM reads a checkpoint's folder, not one of its files, so weights that travel are the folder ``model`` itself; weights on
    the hub are named by their repository, and the commits of weights, tokenizer and code, each of which vLLM would otherwise
    take from a branch. The endpoint asks for no key, so it listens on the loopback only.

    Raises:
        InputError: The recipe gives vLLM less time to start or stop than vLLM takes.
    """
    model = _model(recipe)
    named = ("model",) if isinstance(model, LocalModel) else (model.repository, *_revisions(model))
    served = ("--served-model-name", recipe.name)
    address = ("--host", "127.0.0.1", "--port", str(recipe.port))
    system = recipe.system
    return LaunchSpec(
        name=recipe.name,
        argv=("vllm", "serve", *named, *served, *address, *recipe.flags),
        env=recipe.env,
        distribution=str(recipe.engine),
        wheels=recipe.engine.wheels,
        lock=recipe.engine.lock,
        image=recipe.engine.image,
        source=recipe.engine.source,
        model=model,
        port=recipe.port,
        health_path=HEALTH_PATH,
        ready_path=READY_PATH,
        accelerator=system.accelerator,
        accelerators=system.accelerators,
        memory_bytes=memory_bytes,
        shared_memory_bytes=system.shared_memory.count
        or (min(_SHARED_MEMORY_BYTES, memory_bytes) if system.accelerators else 0),
        nodes=_nodes(system.nodes),
        budgets=_budgets(recipe),
    )


def _model(recipe: Recipe) -> ModelSource:
    match recipe.model.origin:
        case HubRevision(repository=repository, revision=revision, tokenizer_revision=tokenizer, code_revision=code):
            return HubModel(
                repository=repository,
                revision=revision,
                tokenizer_revision=tokenizer or revision,
                code_revision=code or revision,
                files=recipe.model.files,
            )
        case _:
            return LocalModel(files=recipe.model.files)


def _revisions(model: HubModel) -> tuple[str, ...]:
    return (
        *("--revision", model.revision.hex),
        *("--tokenizer-revision", model.tokenizer_revision.hex),
        *("--code-revision", model.code_revision.hex),
    )


def _nodes(count: int) -> Nodes:
    """Spread one engine over several machines; only the first answers requests.

    Source: vllm 0.27.1, engine/arg_utils.py:1009-1012, and entrypoints/openai/cli_args.py:372 (``--headless``).
    """
    if count == 1:
        return Nodes()
    words: tuple[Word, ...] = ("--nnodes", str(count), "--master-addr", Placeholder.LEADER_ADDRESS, "--node-rank")
    return Nodes(count=count, leader=(*words, "0"), worker=(*words, Placeholder.NODE_RANK, "--headless"))


def _budgets(recipe: Recipe) -> Budgets:
    drains = [one.values[0] for one in given(recipe.flags) if one.name == _DRAIN_FLAG and one.values]
    return Budgets(
        start_s=recipe.start_budget_s,
        stop_s=recipe.stop_budget_s,
        engine_start_s=_seconds(_READY_VARIABLE, dict(recipe.env).get(_READY_VARIABLE, str(_READY_S))),
        pre_stop_s=recipe.pre_stop_s,
        drain_s=_seconds(_DRAIN_FLAG, drains[-1]) if drains else 0,
    )


def _seconds(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{name} is not a whole number of seconds: {text!r}", hint="Give it as vLLM takes it.")
    return int(text)
