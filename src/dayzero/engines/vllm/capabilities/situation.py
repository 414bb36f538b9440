"""What the machine, the model and the command line decide about an engine's choices, as facts for its own code."""

import os.path
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dayzero.audit.extensions import extensions
from dayzero.audit.installed import Installed
from dayzero.audit.python.importers import import_sites
from dayzero.audit.rules import Subject
from dayzero.core.accelerators import accelerator
from dayzero.core.errors import DayzeroError
from dayzero.engines.vllm.capabilities.machine import Machine
from dayzero.engines.vllm.capabilities.program import Constant, Fact, Program
from dayzero.engines.vllm.capabilities.values import External, Instance, Klass, RaisedError, Unknown
from dayzero.engines.vllm.memory.flags import Flags, read_flags

_CUDA = "vllm.platforms.cuda"
_DEGREES = {"tensor-parallel-size": "tensor_parallel_size", "pipeline-parallel-size": "pipeline_parallel_size",
            "data-parallel-size": "data_parallel_size", "decode-context-parallel-size": "decode_context_parallel_size",
            "prefill-context-parallel-size": "prefill_context_parallel_size"}  # fmt: skip
_ON_PATH = "the program "


@dataclass(slots=True)
class Situation:
    """One subject, ready to ask the engine's own code about.

    Attributes:
        subject: What is asked about.
        machine: Runs the engine's code.
        flags: The command line.
        text: The language model's part of the configuration.
        asked: Environment variables that the code which ran has read, and programs that it looked for.
    """

    subject: Subject
    machine: Machine
    flags: Flags
    text: Mapping[str, object]
    capability: object
    asked: set[str] = field(default_factory=set)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Programs that the engine's code looked for on its PATH, and that were taken to be there."""
        return tuple(sorted(one.removeprefix(_ON_PATH) for one in self.asked if one.startswith(_ON_PATH)))

    @property
    def degree(self) -> int:
        """Tensor parallel degree: the flag, else all GPUs of one machine where no parallelism is asked for and heads divide so."""
        asked = self.flags.whole("tensor-parallel-size")
        if asked is not None or any(flag in self.flags.values for flag in _DEGREES):
            return asked or 1
        system, heads = self.subject.system, self.text.get("num_attention_heads")
        gpus = max(system.accelerators, 1) if system is not None else 1
        return gpus if isinstance(heads, int) and heads % gpus == 0 else 1


def situation(subject: Subject, *, loads: bool = True) -> Situation | str:
    """Prepare a subject, or say what is missing of it.

    Args:
        subject: What is asked about.
        loads: Whether it counts that a native extension cannot be loaded; without, what would be is asked.
    """
    if subject.model is None:
        return "no model configuration is given"
    if subject.capability is None:
        return "no GPU is given (--system)"
    if subject.system is not None and accelerator(subject.system.accelerator).vendor != "nvidia":
        return f"what the engine chooses on {subject.system.accelerator} is not followed: only its CUDA platform is"
    try:
        flags = read_flags(subject.flags)
    except DayzeroError as error:
        return error.message
    facts: dict[str, Fact | Constant] = {}
    program = Program(subject.installed.python, facts, unloadable(subject.installed) if loads else None)
    machine = Machine(program)
    inner = subject.model.get("text_config")
    text = inner if isinstance(inner, Mapping) else subject.model
    made = Situation(subject, machine, flags, text, None)
    facts |= _of_python(program, subject.env, made.asked)
    try:
        made.capability = _capability(machine, subject.capability)
    except RaisedError as error:
        return f"the engine's platform module was not read: {error}"
    facts |= _of_platform(program, made.capability)
    config = _configuration(made)
    facts |= {
        f"{home}:{name}": _always(config)
        for home in ("vllm.config", "vllm.config.vllm")
        for name in ("get_current_vllm_config", "get_current_vllm_config_or_none")
    }
    return made


def unloadable(installed: Installed) -> Mapping[str, str]:
    """Give the modules that cannot be imported beside this torch: extensions, and packages whose own import asks for one."""
    found = {one.module: f"{one.path} cannot be loaded" for one in extensions(installed).broken}
    for module, why in tuple(found.items()):
        package = module.rpartition(".")[0]
        sites = import_sites(installed.python, module) if package in installed.python.modules else ()
        if any(one.stops_import and one.context.scope.module.name == package for one in sites):
            found[package] = why
    return found


class _Variables(dict[str, str]):
    """Environment variables that keep which of them were read."""

    def __init__(self, env: Mapping[str, str], asked: set[str]) -> None:
        super().__init__(env)
        self._asked = asked

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        self._asked.add(name)
        return super().get(name, default)


def _capability(machine: Machine, capability: tuple[int, int]) -> object:
    klass = machine.from_module("vllm.platforms.interface", "DeviceCapability")
    return machine.make(klass, capability) if isinstance(klass, Klass) else Unknown("DeviceCapability")


def _of_platform(program: Program, capability: object) -> dict[str, Fact | Constant]:
    found = program.top_class(f"{_CUDA}.CudaPlatformBase")
    platform: object = Unknown("the engine's CUDA platform")
    if isinstance(found, Klass):
        platform = Instance(found, {})
    return {
        "vllm.platforms:current_platform": Constant(platform),
        f"{_CUDA}:CudaPlatformBase.get_device_capability": _always(capability),
        f"{_CUDA}:CudaPlatformBase.get_device_name": _always("cuda"),
    }


def _of_python(program: Program, env: Mapping[str, str], asked: set[str]) -> dict[str, Fact | Constant]:
    variables = _Variables(env, asked)

    def variable(args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        return variables.get(str(args[0]), args[1] if len(args) > 1 else kwargs.get("default"))

    def spec(args: tuple[object, ...], _kwargs: Mapping[str, object]) -> object:
        there = program.exists(str(args[0]))
        doubt = Unknown(f"whether {args[0]} is installed", (Instance(None, {}), None))
        return {True: Instance(None, {}), False: None, None: doubt}[there]

    def path(compute: Callable[..., object]) -> Fact:
        return lambda args, _kwargs: compute(*args) if all(isinstance(one, str) for one in args) else Unknown("a path")

    def on_path(args: tuple[object, ...], _kwargs: Mapping[str, object]) -> object:
        asked.add(f"{_ON_PATH}{args[0]}")
        return f"/usr/bin/{args[0]}"

    names: set[str] = set()

    def on_disk(args: tuple[object, ...], _kwargs: Mapping[str, object]) -> object:
        if not names:
            names.update(module.path for module in program.modules.values())
        return args[0] in names

    return {
        "os.getenv": variable,
        "os.environ": Constant(variables),
        "importlib.util.find_spec": spec,
        "importlib.import_module": lambda args, _kwargs: program.imported(str(args[0])),
        "shutil.which": on_path,
        "os.path.join": path(os.path.join),
        "os.path.dirname": path(os.path.dirname),
        "os.path.exists": on_disk,
        "vllm.platforms.rocm:_get_gcn_arch": _always(""),
    }


def _configuration(made: Situation) -> Instance:
    """Build the engine's configuration as far as the subject tells it; what it does not tell is unknown."""
    model = made.subject.model or {}
    text = Instance(None, dict(made.text))
    model_config = Instance(
        None,
        {
            "hf_text_config": text,
            "hf_config": Instance(None, dict(model)),
            "dtype": dtype(made),
            "quantization_config": None,
            "is_diffusion": False,
            "is_encoder_decoder": bool(model.get("is_encoder_decoder")),
        },
        whole=False,
    )
    parallel = {name: made.flags.whole(flag) or 1 for flag, name in _DEGREES.items()}
    whole: dict[str, object] = {
        "model_config": model_config,
        "attention_config": _defaults(made, "vllm.config.attention", "AttentionConfig"),
        "kernel_config": _defaults(made, "vllm.config.kernel", "KernelConfig"),
        "parallel_config": Instance(None, {**parallel}, whole=False),
        "kv_transfer_config": made.flags.values.get("kv-transfer-config"),
        "lora_config": None if not made.flags.on("enable-lora") else Unknown("LoRA"),
        "speculative_config": None if "speculative-config" not in made.flags.values else Unknown("speculation"),
    }
    return Instance(None, whole, whole=False)


def _defaults(made: Situation, module: str, name: str) -> Instance:
    found = made.machine.program.top_class(f"{module}.{name}")
    if isinstance(found, str):
        return Instance(None, {}, whole=False)
    value = made.machine.make(found, ())
    return value if isinstance(value, Instance) else Instance(None, {}, whole=False)


def dtype(made: Situation) -> External:
    """Give the activations' type: the flag, else the checkpoint's, where ``float32`` is served as ``bfloat16``."""
    asked = made.flags.text("dtype", "auto")
    own = made.text.get("dtype") or made.text.get("torch_dtype") or (made.subject.model or {}).get("torch_dtype")
    word = asked if asked != "auto" else str(own or "bfloat16")
    word = {"half": "float16", "float": "float32"}.get(word, word)
    return External(f"torch.{'bfloat16' if word == 'float32' and asked == 'auto' else word.removeprefix('torch.')}")


def _always(value: object) -> Fact:
    return lambda _args, _kwargs: value
