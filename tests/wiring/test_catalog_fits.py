import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.catalog.sample import GIB, large, tiny

from dayzero.catalog.edition import SystemFit
from dayzero.catalog.model import Fit, FitState
from dayzero.core.hardware import System, parse_system
from dayzero.core.package import Package
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import FilePin, HubRevision, Sha256
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import FitPlan, Report, State
from dayzero.wiring import catalog_fits
from dayzero.wiring.catalog_fits import FitTable
from dayzero.wiring.fit import sizing
from dayzero.wiring.fit_packages import pinned_checkpoint
from dayzero.wiring.fit_systems import known_systems

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
WEIGHTS = FilePin(path="model.safetensors", sha256=Sha256("ab" * 32), size=Bytes(141_107_412_992))
NOT_KNOWN = Fit(FitState.UNKNOWN, "The evidence ledger does not say whether it fits.")


def package(*flags: str, engine: str = "vllm", accelerator: str = "h100") -> Package:
    """Give a recipe for a dense model of 70 billion parameters on four GPUs."""
    made = large()
    model = replace(made.recipe.model, name="llama-70b", parameters=70_553_706_496, files=(WEIGHTS,))
    recipe = replace(
        made.recipe,
        model=model,
        engine=replace(made.recipe.engine, engine=engine, version="0.27.1"),
        system=System(
            name="node", accelerator=accelerator, accelerators=4, memory=Bytes(79 * GIB), host_memory=Bytes(GIB)
        ),
        parallelism=Parallelism(tp=4),
        flags=flags,
        env=(),
    )
    return replace(made, name="llama", recipe=recipe)


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path / "package.toml"


def by_system(fits: tuple[SystemFit, ...]) -> dict[str, SystemFit]:
    found = {fit.system: fit for fit in fits}
    assert len(found) == len(fits)
    return found


def test_every_known_system_has_an_answer_with_its_reason(definition: Path):
    fits = FitTable().of(package(), definition, NOT_KNOWN)
    assert {fit.system for fit in fits} == {system.name for system in known_systems()}
    assert all(fit.sentence.endswith(".") and fit.state in {"fits", "does-not-fit", "unknown"} for fit in fits)
    assert [fit.own for fit in fits] == [True, *[False] * (len(fits) - 1)]


@pytest.mark.parametrize(
    ("system", "state", "said"),
    [
        ("1xh100", "does-not-fit", "With TP 1: TP 0 needs at least 13"),
        ("8xh100", "fits", "With TP 8: TP 0-7 needs at most "),
        ("1xb200", "fits", "With TP 1: TP 0 needs at most "),
        ("8xmi300x", "unknown", "The engine build is for GPUs of NVIDIA"),
    ],
)
def test_a_system_is_judged_by_the_engine_s_memory_model(definition: Path, system: str, state: str, said: str):
    fit = by_system(FitTable().of(package(), definition, NOT_KNOWN))[system]
    assert (fit.state, fit.ground) == (state, "" if state == "unknown" else "computed")
    assert fit.sentence.startswith(said)


def test_the_recipe_s_own_system_comes_first(definition: Path):
    own, *others = FitTable().of(package(), definition, NOT_KNOWN)
    assert (own.system, own.label, own.state) == ("4xh100", "4 x NVIDIA H100 SXM 80 GB", "fits")
    assert "4xh100" not in {fit.system for fit in others}


@pytest.mark.parametrize(
    ("ledger", "state", "ground"),
    [
        (FitState.MEASURED_FITS, "fits", "measured"),
        (FitState.COMPUTED_FITS, "fits", "computed"),
        (FitState.MEASURED_DOES_NOT_FIT, "does-not-fit", "measured"),
    ],
)
def test_what_the_ledger_says_of_the_own_system_decides(definition: Path, ledger: FitState, state: str, ground: str):
    own = FitTable().of(package(), definition, Fit(ledger, "It was tried."))[0]
    assert (own.state, own.ground, own.sentence, own.own) == (state, ground, "It was tried.", True)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (package(engine="tgi"), "No memory model of tgi is installed"),
        (package(accelerator="abacus"), "No GPU kind called abacus is known"),
        (package("--max-model-len", "many"), "Not sized: "),
        (tiny(), "The recipe computes on the processor"),
    ],
)
def test_what_cannot_be_sized_stays_unknown_with_the_reason(definition: Path, made: Package, said: str):
    fits = FitTable().of(made, definition, NOT_KNOWN)
    assert {fit.state for fit in fits if not fit.own} == {"unknown"}
    assert by_system(fits)["8xh200"].sentence.startswith(said)
    assert fits[0].sentence == NOT_KNOWN.why


def test_without_the_model_s_configuration_nothing_is_guessed(tmp_path: Path):
    fits = FitTable().of(package(), tmp_path / "package.toml", NOT_KNOWN)
    assert {fit.state for fit in fits} == {"unknown"}
    assert by_system(fits)["8xh200"].sentence == (
        "Not sized: neither the pinned weights of llama nor their config.json lie beside the definition."
    )
    assert str(tmp_path) not in "".join(fit.sentence for fit in fits)


def test_a_configuration_that_is_none_is_said_and_stops_nothing(definition: Path):
    definition.with_name("config.json").write_text("{")
    fits = FitTable().of(package(), definition, NOT_KNOWN)
    assert (
        by_system(fits)["8xh200"].sentence == "Not sized: what lies of llama-70b beside the definition cannot be read."
    )
    assert str(definition.parent) not in "".join(fit.sentence for fit in fits)


def test_packages_that_differ_in_nothing_of_memory_are_sized_once(definition: Path, monkeypatch: pytest.MonkeyPatch):
    sized: list[FitPlan] = []

    def counting(name: str) -> Callable[[FitPlan], Report]:
        size = sizing(name)
        return lambda plan: sized.append(plan) or size(plan)  # type: ignore[func-returns-value]

    monkeypatch.setattr(catalog_fits, "sizing", counting)
    model = FitTable()
    first = model.of(package("--seed", "1", "--tensor-parallel-size", "4"), definition, NOT_KNOWN)
    plans = len(sized)
    assert model.of(package("--seed=2", "--served-model-name", "a", "b"), definition, NOT_KNOWN) == first
    assert len(sized) == plans
    model.of(package("--max-model-len", "1024"), definition, NOT_KNOWN)
    assert len(sized) > plans


PIPELINE, TENSOR, EXPERTS = Parallelism(pp=4), Parallelism(tp=4), Parallelism(tp=4, ep=True)


@pytest.mark.parametrize(
    ("verdicts", "state", "said"),
    [
        ({TENSOR: Refuted("too large"), EXPERTS: Proven("room")}, "fits", "With TP 4, EP: room."),
        ({TENSOR: Refuted("too large"), EXPERTS: Undecided("close")}, "unknown", "With TP 4, EP: close."),
        ({TENSOR: Refuted("too large"), EXPERTS: Refuted("larger")}, "does-not-fit", "With TP 4: too large."),
        ({TENSOR: Undecided("close"), PIPELINE: Proven("room")}, "fits", "With TP 1, PP 4: room."),
    ],
)
def test_one_way_that_fits_is_enough_and_one_that_is_undecided_leaves_it_open(
    definition: Path, monkeypatch: pytest.MonkeyPatch, verdicts: dict[Parallelism, Verdict], state: str, said: str
):
    def report(plan: FitPlan) -> Report:
        verdict = verdicts.get(plan.parallelism, Refuted("no"))
        return Report(
            verdict=verdict,
            state=State.UNKNOWN,
            ranks=(),
            kv_tokens=None,
            context_tokens=0,
            max_concurrency=None,
            headroom=0,
        )

    monkeypatch.setattr(catalog_fits, "sizing", lambda _: report)
    fit = by_system(FitTable().of(package(), definition, NOT_KNOWN))["4xh200"]
    assert (fit.state, fit.sentence) == (state, said)


def test_what_only_this_machine_has_sizes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = package()
    origin = made.recipe.model.origin
    assert isinstance(origin, HubRevision)
    cached = tmp_path / "hub" / f"models--{origin.repository.replace('/', '--')}" / "snapshots" / origin.revision.hex
    cached.mkdir(parents=True)
    (cached / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    definition = tmp_path / "llama" / "package.toml"
    assert {fit.state for fit in FitTable().of(made, definition, NOT_KNOWN)} == {"unknown"}
    assert not isinstance(pinned_checkpoint(made, definition), Unknown)


def test_flags_that_say_something_of_memory_are_heard(definition: Path):
    model = FitTable()
    short = by_system(model.of(package("--max-model-len", "1024"), definition, NOT_KNOWN))["4xh100"]
    long = by_system(model.of(package("--max-model-len", "8192"), definition, NOT_KNOWN))["4xh100"]
    assert short.sentence != long.sentence


@pytest.mark.parametrize(("system", "state"), [("3xh100", "fits"), ("16xh100", "fits"), ("4xb200", "fits")])
def test_a_system_that_is_not_among_the_known_ones_is_sized_too(definition: Path, system: str, state: str):
    fit = FitTable().on(package(), definition, parse_system(system))
    assert (fit.system, fit.state) == (system, state), fit.sentence
