"""What the CPU build takes, and what is not sized."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.vllm.served import recipe

from dayzero.core.errors import InputError
from dayzero.core.parallelism import Parallelism
from dayzero.core.recipe import Recipe
from dayzero.engines.vllm.engine import ENGINE

WEIGHTS = Path("model/config.json")
GIB = 1024**3


def test_weights_cache_and_processes_are_named_with_their_sources():
    assert [(term.name, term.size.count) for term in ENGINE.memory_terms(recipe(), WEIGHTS)] == [
        ("weights", 269_060_544),
        ("KV cache", GIB),
        ("runtime", 2 * GIB),
    ]
    assert all(term.source for term in ENGINE.memory_terms(recipe(), WEIGHTS))


@given(st.integers(min_value=1, max_value=1 << 20))
def test_only_the_cache_grows_with_the_space_reserved_for_it(gib: int):
    weights, cache, runtime = ENGINE.memory_terms(
        replace(recipe(), env=(("VLLM_CPU_KVCACHE_SPACE", str(gib)),)), WEIGHTS
    )
    assert cache.size.count == gib * GIB
    assert (weights, runtime) == ENGINE.memory_terms(recipe(), WEIGHTS)[::2]


def unsized() -> list[tuple[Recipe, str]]:
    plain = recipe()
    gguf = replace(plain.model, files=(replace(plain.model.files[1], path="model.gguf"),))
    return [
        (replace(plain, engine=replace(plain.engine, distribution="vllm")), "takes no memory of a host"),
        (replace(plain, system=replace(plain.system, accelerators=8)), "takes no memory of a host"),
        (replace(plain, engine=replace(plain.engine, version="0.33.0")), "has not been measured"),
        (replace(plain, parallelism=Parallelism(tp=2)), "covers one rank, not 2"),
        (replace(plain, env=()), "VLLM_CPU_KVCACHE_SPACE is ''"),
        (replace(plain, env=(("VLLM_CPU_KVCACHE_SPACE", "0.5"),)), "VLLM_CPU_KVCACHE_SPACE is '0.5'"),
        (replace(plain, env=(("VLLM_CPU_KVCACHE_SPACE", "0"),)), "VLLM_CPU_KVCACHE_SPACE is '0'"),
        (replace(plain, flags=("--dtype=float32",)), "does not cover --dtype"),
        (replace(plain, flags=("--kv_cache_memory_bytes", "1")), "does not cover --kv-cache-memory-bytes"),
        (replace(plain, model=gguf), "no safetensors file is pinned"),
    ]


@pytest.mark.parametrize(("unsized_recipe", "message"), unsized())
def test_what_the_terms_do_not_cover_is_refused_and_not_guessed(unsized_recipe: Recipe, message: str):
    with pytest.raises(InputError, match=message):
        ENGINE.memory_terms(unsized_recipe, WEIGHTS)
