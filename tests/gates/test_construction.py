"""Every premise of "unchanged by construction", broken by a package of its own."""

from dataclasses import replace

import pytest
from tests import samples

from dayzero.core.package import Package
from dayzero.core.pins import (
    Commit,
    FromSeed,
    HubRevision,
    KernelPin,
    SourceBuild,
    WheelPin,
)
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.engines.construction import facts_of
from dayzero.gates.construction import EngineFacts, Given, Premise, concluded, document, premises
from dayzero.wiring import definitions
from dayzero.wiring.gate_construction import argue

COMMIT, OTHER = Commit("1" * 40), Commit("2" * 40)
SMOLLM2 = definitions.package("demo-smollm2")
HUB = HubRevision(repository="o/m", revision=COMMIT)


def package(**changes: object) -> Package:
    return replace(SMOLLM2, recipe=replace(SMOLLM2.recipe, **changes))


def model(**changes: object) -> Package:
    return package(model=replace(SMOLLM2.recipe.model, **changes))


def engine(**changes: object) -> Package:
    return package(engine=replace(SMOLLM2.recipe.engine, **changes))


def failed(found: tuple[Premise, ...]) -> dict[str, str]:
    return {premise.name: premise.verdict.reason for premise in found if not isinstance(premise.verdict, Proven)}


def test_a_package_of_released_bytes_is_unchanged_and_its_premises_are_digests():
    found = argue(SMOLLM2)
    assert failed(found) == {}
    assert isinstance(concluded(found), Proven)
    assert "not a measurement" in concluded(found).reason
    digests = {digest for premise in found for _, digest in premise.digests}
    recipe = SMOLLM2.recipe
    assert digests >= {pin.sha256.hex for pin in (*recipe.model.files, *recipe.engine.wheels)}


def test_weights_on_a_hub_at_one_revision_are_upstreams():
    assert failed(argue(model(origin=replace(HUB, tokenizer_revision=COMMIT)))) == {}


@pytest.mark.parametrize(
    ("changed", "premise", "said"),
    [
        (replace(SMOLLM2, technique="experts pruned"), "technique", "experts pruned"),
        (model(origin=FromSeed(generator="g", seed=1)), "weights", "no upstream"),
        (model(origin=replace(HUB, tokenizer_revision=OTHER)), "weights", "the tokenizer"),
        (model(origin=replace(HUB, code_revision=OTHER)), "weights", "the code"),
        (engine(source=SourceBuild(repository="r", commit=COMMIT)), "engine", "built from r"),
        (engine(wheels=()), "engine", "neither a wheel nor an image"),
        (engine(wheels=(WheelPin(filename="other-1.0-py3-none-any.whl", sha256=samples.DIGEST),)), "engine", "no"),
        (engine(image="repo/image:latest"), "engine", "not pinned by digest"),
        (engine(lock="vllm @ git+https://h/vllm\n"), "engine", "no release"),
        (engine(lock="./patched.whl --hash=sha256:00\n"), "engine", "no release"),
        (package(kernels=(KernelPin(library="l", distribution="flash", version="1"),)), "kernels", "version alone"),
        (package(flags=("--cache-type-k", "q8_0")), "flags", "the cache is quantised"),
        (package(flags=("--rope-freq-scale", "0.5")), "flags", "positions"),
        (package(env=(("LD_PRELOAD", "/x.so"),)), "environment", "LD_PRELOAD=/x.so"),
        (package(env=(("PYTHONPATH", "/patch"),)), "environment", "other code"),
    ],
)
def test_a_premise_that_does_not_hold_is_named(changed, premise, said):
    found = argue(changed)
    assert list(failed(found)) == [premise]
    assert said in failed(found)[premise]
    assert not isinstance(concluded(found), Proven)


def test_a_revision_without_digests_of_its_files_is_undecided():
    found = premises(model(origin=HUB, files=()), (), VLLM)
    assert failed(found) == {"weights": "no weight file is pinned by digest"}
    assert isinstance(concluded(found), Undecided)


VLLM, SGLANG = facts_of("vllm"), facts_of("sglang")


@pytest.mark.parametrize("facts", [VLLM, SGLANG], ids=["vllm", "sglang"])
@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("--quantization", "fp8", False),
        ("--quantiz", "fp8", False),  # the beginning of a name is enough for the parser
        ("--kv-cache-dtype", "auto", True),
        ("--kv-cache-dtype", "fp8_e5m2", False),
        ("--dtype", "auto", True),
        ("--dtype", "bfloat16", True),
        ("--dtype", "float16", False),
        ("--dtype", "float32", True),
        ("--load-format", "dummy", False),
        ("--load-format", "safetensors", True),
        ("--config", "more.yaml", False),
        ("--max-num-seqs", "8", True),
        ("--tensor-parallel-size", "8", True),
    ],
)
def test_a_flag_that_converts_at_load_breaks_the_premise(facts, name, value, holds):
    bf16 = model(tensor_types=("bf16",))
    found = premises(bf16, (Given(name=name, values=(value,)),), facts)
    assert ("flags" not in failed(found)) == holds


def test_a_flag_joined_by_a_dot_is_read_by_its_name():
    found = premises(SMOLLM2, (Given(name="--hf-overrides.rope", values=("x",)),), VLLM)
    assert "flags" in failed(found)


def test_an_engine_of_which_nothing_is_known_is_undecided():
    assert facts_of("tgi") is None
    assert facts_of("../vllm") is None
    found = argue(engine(engine="tgi"))
    assert set(failed(found)) == {"flags", "environment"}
    assert isinstance(concluded(found), Undecided)


def test_a_refuted_premise_outweighs_an_undecided_one():
    found = argue(replace(engine(engine="tgi"), technique="pruned"))
    assert isinstance(concluded(found), Refuted)


def test_the_document_says_its_kind_and_every_premise():
    written = document(SMOLLM2, "0" * 64, argue(SMOLLM2))
    assert (written["schema"], written["kind"]) == ("dayzero/gate-construction/v1", "construction")
    assert written["statement"] == "unchanged by construction"
    assert len(written["premises"]) == 6


@pytest.mark.parametrize("name", ["llamacpp", "vllm", "sglang"])
def test_every_fact_of_an_engine_has_a_source(name):
    facts = facts_of(name)
    assert isinstance(facts, EngineFacts)
    assert facts.flags
    assert all(setting.source and setting.what and setting.names for setting in (*facts.flags, *facts.variables))
