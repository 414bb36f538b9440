"""Valid nouns for tests that need one and do not care which."""

from dayzero.core.hardware import System
from dayzero.core.package import Change, ClaimRef, Package, Unmeasured
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import EngineBuild, FilePin, FromSeed, KernelPin, ModelPin, Sha256, WheelPin
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Cell, Workload

DIGEST = Sha256("0123456789abcdef" * 4)


def model() -> ModelPin:
    return ModelPin(
        name="tiny",
        architecture="kimi-k3",
        tensor_types=("f32", "mxfp4"),
        weights_format="gguf",
        parameters=7_000_000,
        licence="Apache-2.0",
        origin=FromSeed(generator="kimi-k3", seed=7),
        files=(FilePin(path="tiny.gguf", sha256=DIGEST, size=Bytes(1000)),),
    )


def build(version: str = "2.0") -> EngineBuild:
    return EngineBuild(
        engine="llamacpp",
        distribution="xllamacpp",
        version=version,
        wheels=(WheelPin(filename=f"xllamacpp-{version}-py3-none-any.whl", sha256=DIGEST),),
    )


def recipe() -> Recipe:
    return Recipe(
        name="tiny",
        model=model(),
        engine=build(),
        kernels=(KernelPin(library="ggml", distribution="xllamacpp", version="2.0"),),
        system=System(name="cpu-1core", accelerator="", accelerators=0, memory=Bytes(1 << 29)),
        parallelism=Parallelism(),
        flags=("--n-ctx", "8192"),
        env=(),
        port=18480,
        start_budget_s=60,
        stop_budget_s=10,
    )


def package(**changes: object) -> Package:
    values: dict[str, object] = {
        "name": "demo-tiny",
        "version": "1.0.0",
        "title": "Tiny",
        "summary": "For tests.",
        "tier": "open",
        "technique": "",
        "recipe": recipe(),
        "workload": Workload(
            seed=1,
            cells=(Cell(name="c1", concurrency=1, requests=4, warmup_requests=1, input_tokens=8, output_tokens=4),),
        ),
        "walls": (),
        "claims": (
            ClaimRef(
                id="c1-ttft-p50",
                label="time to first token, median",
                unit="ms",
                source="requests.jsonl",
                extractor="bench-rows@1",
                parameters=(("cell", "c1"), ("metric", "ttft_ms"), ("statistic", "p50"), ("decimals", "1")),
                headline=True,
            ),
        ),
        "unmeasured": (Unmeasured(topic="quality", why="random weights"),),
        "changes": (Change(version="1.0.0", date="2026-11-29", kind="added", text="First version."),),
    }
    return Package(**{**values, **changes})  # type: ignore[arg-type]
