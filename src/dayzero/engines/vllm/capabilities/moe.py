"""Which kernel a build chooses for a model's experts, and why it refuses the others: the build's own selection is followed.

Each time it asks a class of experts whether it supports the configuration, the question and the answer are kept.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.attention import missing_import
from dayzero.engines.vllm.capabilities.expressions import shown
from dayzero.engines.vllm.capabilities.situation import Situation, dtype
from dayzero.engines.vllm.capabilities.tables import EXPERTS_PACKAGE
from dayzero.engines.vllm.capabilities.values import Function, Instance, Klass, Member, RaisedError, Unknown, truth

_KERNEL = f"{EXPERTS_PACKAGE}.modular_kernel"
_CONFIG = f"{EXPERTS_PACKAGE}.config"
_KEYS = "vllm.model_executor.layers.quantization.utils.quant_utils"
_ORACLES = {
    "": ("unquantized", "select_unquantized_moe_backend", "", ""),
    "gpt_oss_mxfp4": ("mxfp4", "select_mxfp4_moe_backend", "", ""),
    "fp8": ("fp8", "select_fp8_moe_backend", "kFp8Static128BlockSym", "kFp8Dynamic128Sym"),
    "nvfp4": ("nvfp4", "select_nvfp4_moe_backend", "kNvfp4Static", "kNvfp4Dynamic"),
    "mxfp4": ("mxfp4", "select_deepseek_v4_mxfp4_moe_backend", "", ""),
}  # fmt: skip
_REFUSALS = (ValueError, NotImplementedError)
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_TOP_K = ("num_experts_per_token", "num_experts_per_tok", "experts_per_token", "moe_topk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One class of experts, as the build asked it.

    Attributes:
        name: The class.
        place: Where it stands.
        reason: Why it is refused, in the engine's words; ``""`` where it is not.
        doubt: What would have to be known; ``""`` where nothing.
    """

    name: str
    place: Place
    reason: str
    doubt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """What the build chooses for the experts.

    Attributes:
        quantisation: How the experts are stored, in the engine's word.
        place: Where the selection stands.
        forced: The backend that the command line names.
        asked: The classes in the order in which they were asked.
        backend: Name of the backend chosen; ``""`` where none is, or it is in doubt.
        kernel: Class that runs.
        error: What the engine raises where it takes none.
        doubt: Why the choice is not known; ``""`` where it is.
    """

    quantisation: str
    place: Place
    forced: str
    asked: tuple[Asked, ...] = ()
    backend: str = ""
    kernel: str = ""
    error: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A kernel that the build would take, were it not for a name that a library lacks."""

    kernel: str
    backend: str
    owner: str
    name: str
    place: Place


def has_experts(made: Situation) -> bool:
    """Say whether the model is a mixture of experts."""
    return _first(made.text, _EXPERTS) > 1


def oracle_of(method: str) -> str:
    """Name the module that selects a kernel for experts that are stored so; ``""`` where none is followed."""
    return f"{EXPERTS_PACKAGE}.oracle.{_ORACLES[method][0]}" if method in _ORACLES else ""


def choose_experts(made: Situation) -> Experts | str:
    """Follow the build's selection of a kernel for the experts, or say why that cannot be done."""
    method = quantisation(made)
    oracle = _ORACLES.get(method)
    if oracle is None:
        return f"which kernels serve experts stored as {method} is not followed"
    module, name, weight, activation = oracle
    machine = made.machine
    asked: list[Asked] = []
    try:
        select = machine.from_module(f"{EXPERTS_PACKAGE}.oracle.{module}", name)
        if not isinstance(select, Function):
            return f"the build has no {name}"
        given: dict[str, object] = {"config": (config := _config(made)), "moe_config": config}
        if weight:
            given |= {"weight_key": machine.from_module(_KEYS, weight)}
            given |= {"activation_key": machine.from_module(_KEYS, activation)}
    except RaisedError as error:
        return str(error)
    names = {one.arg for one in select.node.args.args}
    _listen(made, asked)
    forced = made.flags.text("moe-backend", "auto")
    nothing = Experts(
        quantisation=method, place=select.module.place(select.node.lineno), forced="" if forced == "auto" else forced
    )
    try:
        answer = machine.call(select, (), {k: v for k, v in given.items() if k in names})
    except RaisedError as raised:
        if raised.is_stated and isinstance(raised.error, _REFUSALS):
            return replace(nothing, asked=tuple(asked), error=str(raised.error))
        doubt = f"its selection raises {type(raised.error).__name__}: {raised}"
        return replace(nothing, asked=tuple(asked), doubt=doubt)
    return _answered(replace(nothing, asked=tuple(asked)), answer)


def lost_lanes(made: Situation, chosen: Experts) -> tuple[Lost, ...]:
    """Say which kernels the build would take if a library had a name that the build asked it for in vain."""
    machine = made.machine
    found = []
    for owner, name in tuple(machine.probes):
        place = machine.probes[owner, name]
        machine.granted = frozenset({(owner, name)})
        other = choose_experts(made)
        machine.granted = frozenset()
        if isinstance(other, Experts) and other.kernel and other.kernel != chosen.kernel:
            found.append(Lost(kernel=other.kernel, backend=other.backend, owner=owner, name=name, place=place))
    return tuple(found)


def quantisation(made: Situation) -> str:
    """Name how the experts are stored, after what the build itself makes of the checkpoint's configuration."""
    config = _rewritten(made)
    method, form = str(config.get("quant_method") or ""), str(config.get("format") or "")
    algorithm = str(config.get("quant_algo") or "")
    model_type = str(made.text.get("model_type"))
    if method == "mxfp4":
        return "gpt_oss_mxfp4" if model_type == "gpt_oss" else "mxfp4"
    if "nvfp4" in form or "NVFP4" in algorithm:
        return "nvfp4"
    if method == "fp8" and config.get("weight_block_size") == [128, 128]:
        return "fp8"
    return f"{method} {form or algorithm}".strip()


def _rewritten(made: Situation) -> Mapping[str, object]:
    """Give the quantization settings after the build's own changes to a model's configuration (``models/config.py``)."""
    model = made.subject.model or {}
    found = made.text.get("quantization_config") or model.get("quantization_config")
    settings = dict(copy.deepcopy(found)) if isinstance(found, Mapping) else {}
    holder = Instance(None, {"quantization_config": settings})
    wrapped = Instance(None, {"hf_config": holder, "hf_text_config": holder, "model_arch_config": holder}, whole=False)
    names = model.get("architectures")
    architecture = str(names[0]) if isinstance(names, list) and names else ""
    machine = made.machine
    try:
        table = machine.from_module("vllm.model_executor.models.config", "MODELS_CONFIG_MAP")
        klass = table.get(architecture) if isinstance(table, dict) else None
        if isinstance(klass, Klass):
            update = machine.attribute(klass, "verify_and_update_model_config")
            machine.call(update, (wrapped,), {})
    except RaisedError:
        return settings
    return settings


def _config(made: Situation) -> Instance:
    machine, text, flags = made.machine, made.text, made.flags
    klass = machine.from_module(_CONFIG, "FusedMoEConfig")
    parallel = machine.from_module(_CONFIG, "FusedMoEParallelConfig")
    dp, ep = flags.whole("data-parallel-size") or 1, flags.on("enable-expert-parallel")
    degrees = {
        "tp_size": 1 if ep else made.degree * dp,
        "dp_size": dp,
        "pcp_size": 1,
        "ep_size": made.degree * dp if ep else 1,
        "sp_size": 1,
        "use_ep": ep,
        "all2all_backend": flags.text("all2all-backend", "allgather_reducescatter"),
        "enable_eplb": flags.on("enable-eplb"),
    }
    fields = {
        "num_experts": _first(text, _EXPERTS),
        "experts_per_token": _first(text, _TOP_K),
        "hidden_dim": _first(text, ("routed_expert_hidden_size", "hidden_size")),
        "intermediate_size": _first(text, ("moe_intermediate_size", "intermediate_size")),
        "activation": _activation(made),
        "routing_method": _routing(made),
        "moe_parallel_config": Instance(parallel if isinstance(parallel, Klass) else None, dict(degrees), whole=False),
        "in_dtype": dtype(made),
        "router_logits_dtype": Unknown("the type of the router's logits"),
        "moe_backend": flags.text("moe-backend", "auto"),
        "is_lora_enabled": flags.on("enable-lora"),
        "swiglu_limit": text.get("swiglu_limit"),
        "has_bias": str(text.get("model_type")) == "gpt_oss",
        "is_act_and_mul": True,
    }
    return Instance(klass if isinstance(klass, Klass) else None, fields, whole=False)


def _activation(made: Situation) -> object:
    module = made.machine.program.module(f"{EXPERTS_PACKAGE}.activation")
    kinds = made.machine.from_module(module.name if module else _CONFIG, "MoEActivation")
    word = str(made.text.get("hidden_act") or made.text.get("hidden_activation") or "silu")
    word = "swigluoai" if made.text.get("model_type") == "gpt_oss" else word
    if not isinstance(kinds, Klass):
        return Unknown("the activation")
    try:
        return made.machine.make(kinds, (word,))
    except RaisedError:
        return Unknown(f"which activation the model's own code makes of {word}")


def _routing(made: Situation) -> object:
    text = made.text
    function = made.machine.from_module(_CONFIG, "get_routing_method_type")
    if not isinstance(function, Function):
        return Unknown("the routing method")
    given = {
        "scoring_func": text.get("scoring_func") or text.get("moe_router_activation_func") or "softmax",
        "top_k": _first(text, _TOP_K),
        "renormalize": bool(text.get("norm_topk_prob", text.get("moe_renormalize", True))),
        "num_expert_group": _first(text, ("n_group", "num_expert_group")) or None,
        "has_e_score_bias": text.get("topk_method") == "noaux_tc" or bool(text.get("use_grouped_topk")),
        "routed_scaling_factor": text.get("routed_scaling_factor", 1.0),
    }
    names = {one.arg for one in function.node.args.args}
    return made.machine.call(function, (), {k: v for k, v in given.items() if k in names})


def _listen(made: Situation, asked: list[Asked]) -> None:
    machine = made.machine
    key = f"{_KERNEL}:FusedMoEExperts.is_supported_config"
    machine.program.listen(key, None)
    klass = machine.program.top_class(f"{_KERNEL}.FusedMoEExperts")
    check = machine.attribute(klass, "is_supported_config") if isinstance(klass, Klass) else None
    if not isinstance(check, Function):
        return

    def listen(args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        experts = args[0] if args else None
        missing = missing_import(made, experts.module) if isinstance(experts, Klass) else ""
        answer: object = (False, f"ImportError: {missing}") if missing else machine.run(check, args, kwargs, None)
        supported, reason = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, "")  # noqa: PLR2004
        if isinstance(experts, Klass) and not any(one.name == experts.node.name for one in asked):
            known = truth(supported)
            asked.append(
                Asked(
                    name=experts.node.name,
                    place=experts.module.place(experts.node.lineno),
                    reason=shown(reason) if known is False else "",
                    doubt="" if known is not None else getattr(supported, "why", "it is not evaluated"),
                )
            )
        return answer

    machine.program.listen(key, listen)


def _answered(nothing: Experts, answer: object) -> Experts:
    match answer:
        case (Member(name=backend), Klass(node=node)):
            return replace(nothing, backend=backend, kernel=node.name)
        case Member(name=backend):  # vllm 0.19: the class is found later
            return replace(nothing, backend=backend)
        case Unknown(why=why):
            return replace(nothing, doubt=why)
        case _:
            doubt = next((one.doubt for one in nothing.asked if one.doubt), f"the selection gives {shown(answer)}")
            return replace(nothing, doubt=doubt)


def _first(config: Mapping[str, object], keys: tuple[str, ...]) -> int:
    values = (config.get(key) for key in keys)
    return next((one for one in values if isinstance(one, int) and not isinstance(one, bool)), 0)
