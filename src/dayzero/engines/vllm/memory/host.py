"""What host memory one instance of vLLM's CPU build takes."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

from dayzero.core.errors import InputError
from dayzero.core.pins import EngineBuild
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.fit.model import Term

_GIB = 1024**3
_KV_SPACE = "VLLM_CPU_KVCACHE_SPACE"
# Flags that store the weights or size the cache otherwise than modelled here.
_UNMODELLED = {"--dtype", "--quantization", "-q", "--kv-cache-memory-bytes", "--load-format"}


def memory_terms(recipe: Recipe, weights: Path) -> tuple[Term, ...]:
    """Size the CPU build: weights as they are stored, the KV cache as the recipe reserves it, and the processes themselves.

    Raises:
        InputError: The recipe is not one that the terms cover, or it does not fix the size of the KV cache.
    """
    _refuse_unmodelled(recipe)
    stored = sum(file.size.count for file in recipe.model.files if file.path.endswith(".safetensors"))
    if not stored:
        raise InputError(
            f"no safetensors file is pinned beside {weights.name}, and vLLM's CPU build reads no other weights",
            hint="Pin the model's .safetensors files.",
        )
    return (
        Term(name="weights", size=Bytes(stored), source="sum of the pinned .safetensors files"),
        Term(
            name="KV cache",
            size=Bytes(_kv_space_gib(recipe) * _GIB),
            source=f"{_KV_SPACE} of the recipe, in GiB (vllm 0.32.0, platforms/cpu.py:324-327)",
        ),
        _runtime(recipe.engine),
    )


def _refuse_unmodelled(recipe: Recipe) -> None:
    if recipe.engine.distribution != "vllm-cpu" or recipe.system.accelerators:
        raise InputError(
            f"{recipe.engine} on {recipe.system.name} takes no memory of a host that could be sized here",
            hint="Size a recipe of the CPU build (distribution vllm-cpu, no accelerators).",
        )
    if recipe.parallelism.ranks != 1:
        raise InputError(
            f"the CPU memory model covers one rank, not {recipe.parallelism.ranks}", hint="Leave tp, pp and dp at 1."
        )
    for flag in recipe.flags:
        name = flag.split("=", 1)[0].replace("_", "-")
        if name in _UNMODELLED:
            raise InputError(
                f"the CPU memory model does not cover {name}",
                hint=f"Leave the flag out; {_KV_SPACE} sizes the KV cache.",
            )


def _kv_space_gib(recipe: Recipe) -> int:
    stated = dict(recipe.env).get(_KV_SPACE, "")
    if not re.fullmatch(r"[1-9]\d*", stated, re.ASCII):
        raise InputError(
            f"{_KV_SPACE} is {stated!r}; without it the KV cache takes what the machine has free",
            hint=f"Set {_KV_SPACE} to a whole number of GiB in the recipe's environment.",
        )
    return int(stated)


def _runtime(engine: EngineBuild) -> Term:
    measured = tomllib.loads(files("dayzero.engines.vllm.memory").joinpath("host.toml").read_text(encoding="utf-8"))
    for entry in measured["runtime"]:
        if (entry["distribution"], entry["version"]) == (engine.distribution, engine.version):
            return Term(name="runtime", size=Bytes(entry["bytes"]), source=entry["source"])
    raise InputError(
        f"what the processes of {engine} take has not been measured",
        hint="Measure it and add it to engines/vllm/memory/host.toml.",
    )
