"""Which attention backend a build chooses for a model, and why it refuses the others: by its own order and its own checks."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.configuration_classes import configuration_of
from dayzero.audit.python_source import Module, import_source
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.expressions import shown
from dayzero.engines.vllm.capabilities.situation import Situation, dtype
from dayzero.engines.vllm.capabilities.tables import ATTENTION_ENUM, attention_registry
from dayzero.engines.vllm.capabilities.values import (
    Bound,
    Function,
    Klass,
    Member,
    RaisedError,
    Unknown,
)

_CUDA, _ORDER = "vllm.platforms.cuda", "_get_backend_priorities"
_FP8_KV = "fp8"
# What most configurations call by the first name (transformers, attribute_map of WhisperConfig and of GPT2Config).
_HEADS = ("num_attention_heads", "decoder_attention_heads", "encoder_attention_heads", "n_head")
_DECODER = ("decoder_attention_heads",)
# vllm 0.27.0, v1/attention/backend.py, AttentionType: of a model with an encoder, besides the decoder's own.
_ENCODED = ("encoder", "encoder_decoder")
_WIDTH = ("hidden_size", "d_model", "n_embd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One kind of attention layer of a model.

    Attributes:
        name: What it is.
        head_size: Size that the engine asks a backend for; of MLA the latent with its rotary part.
        heads: Query heads of a rank.
        mla: Whether it is multi-head latent attention.
        sliding: Whether it has a window.
        sparse: Whether an indexer chooses its tokens.
        sink: Whether it has attention sinks.
        kind: Which tokens see which, in the engine's word.
    """

    name: str
    head_size: int
    heads: int
    mla: bool = False
    sliding: bool = False
    sparse: bool = False
    sink: bool = False
    kind: str = "decoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One backend and what the engine says about it.

    Attributes:
        name: Its name.
        place: Where its class stands; where it is registered, if the class is not in the files.
        reasons: Why it is refused, in the engine's words; empty where nothing speaks against it.
        doubt: What would have to be known to say whether it is refused; ``""`` where that is known.
        missing: What its module imports and the installed libraries lack, if that is the reason.
        path: Dotted path of its class, where that still has to be asked; ``""`` otherwise.
    """

    name: str
    place: Place
    reasons: tuple[str, ...]
    doubt: str = ""
    missing: str = ""
    path: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the engine takes it for certain."""
        return not self.reasons and not self.doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the engine chooses for one kind of layer.

    Attributes:
        layer: The layer.
        order: The candidates, best first.
        forced: The one that the command line names, if it does.
        place: Where the engine's order stands.
    """

    layer: Layer
    order: tuple[Candidate, ...]
    forced: Candidate | None
    place: Place

    @property
    def chosen(self) -> Candidate | None:
        """The backend that will run; ``None`` where none is valid, or an earlier one is in doubt."""
        if self.forced is not None:
            return self.forced if self.forced.is_valid else None
        open_to = [one for one in self.order if not one.reasons]
        return open_to[0] if open_to and open_to[0].is_valid else None

    @property
    def is_served(self) -> bool:
        """Whether some backend is taken for certain, be it not known which."""
        return self.forced.is_valid if self.forced is not None else any(one.is_valid for one in self.order)

    @property
    def is_impossible(self) -> bool:
        """Whether every backend is refused for certain, or the forced one is."""
        return bool(self.forced.reasons) if self.forced is not None else all(one.reasons for one in self.order)


def layers(made: Situation) -> tuple[Layer, ...]:
    """Read the kinds of attention layers that a model has from its configuration.

    The head size of MLA is ``kv_lora_rank + qk_rope_head_dim`` (vllm 0.27.0, model_executor/layers/attention/mla_attention.py).
    """
    text = made.text
    asked = _first(text, _HEADS)
    heads = max(asked // made.degree, 1)
    sink = str(text.get("model_type")) == "gpt_oss"
    sparse = _whole(text, "index_topk") > 0
    if _whole(text, "kv_lora_rank"):
        size = _whole(text, "kv_lora_rank") + _whole(text, "qk_rope_head_dim")
        return (Layer(name="MLA", head_size=size, heads=heads, mla=True, sparse=sparse),)
    size = _head_dim(made) or _first(text, _WIDTH) // max(asked, 1)
    kinds = text.get("layer_types")
    types = {str(one) for one in kinds} if isinstance(kinds, list) else set()
    windowed = bool(text.get("sliding_window")) and (not types or "sliding_attention" in types)
    full = _whole(text, "global_head_dim") or size
    found = [Layer(name="full attention", head_size=full, heads=heads, sink=sink)] if not windowed or types else []
    if made.subject.model is not None and made.subject.model.get("is_encoder_decoder", _first(text, _DECODER)):
        found += [Layer(name=f"{one} attention", head_size=size, heads=heads, kind=one) for one in _ENCODED]
    if windowed:
        found.append(Layer(name="sliding-window attention", head_size=size, heads=heads, sliding=True, sink=sink))
    return tuple(one for one in found if one.head_size)


def kv_heads(made: Situation) -> int:
    """Count the KV heads of a rank; a head that there are more ranks than is on each of several."""
    heads = _whole(made.text, "num_key_value_heads") or _first(made.text, _HEADS)
    return max(heads // made.degree, 1)


def chooses_by_order(made: Situation) -> bool:
    """Say whether the build has an order of backends, as releases since 0.11.1 do."""
    module = made.machine.program.module(_CUDA)
    return module is not None and _ORDER in made.machine.program.names(module).bindings


def cache_type(made: Situation) -> str:
    """Give the KV cache's type: the flag, else what the checkpoint asks for, else ``auto``."""
    asked = made.flags.text("kv-cache-dtype", "auto")
    if asked != "auto":
        return asked
    model = made.subject.model or {}
    found = made.text.get("quantization_config") or model.get("quantization_config")
    config = found if isinstance(found, Mapping) else {}
    scheme = config.get("kv_cache_scheme")
    algorithm = str(config.get("kv_cache_quant_algo") or "").lower()
    by_scheme = isinstance(scheme, Mapping) and scheme.get("num_bits") == 8 and scheme.get("type") == "float"  # noqa: PLR2004
    return _FP8_KV if by_scheme or algorithm == _FP8_KV else "auto"


def choose(made: Situation, layer: Layer) -> Choice | str:
    """Ask the build which backend it takes for a layer, or say why that could not be asked."""
    machine = made.machine
    try:
        function = machine.from_module(_CUDA, _ORDER)
        registry = machine.from_module(attention_registry(machine.program), ATTENTION_ENUM)
    except RaisedError as error:
        return str(error)
    if not isinstance(function, Function) or not isinstance(registry, Klass):
        return "the build's order of attention backends is not a function of its CUDA platform"
    given = {
        "use_mla": layer.mla,
        "device_capability": made.capability,
        "num_heads": layer.heads,
        "kv_cache_dtype": cache_type(made),
        "use_non_causal": False,
        "head_size": layer.head_size,
        "use_mm_prefix": False,
    }
    named = {one.arg for one in function.node.args.args}
    order = machine.call(function, (), {name: value for name, value in given.items() if name in named})
    if not isinstance(order, list) or not all(isinstance(one, Member) for one in order):
        return f"the order of attention backends depends on {shown(order)}"
    forced = asked_backend(made)
    member = Member(registry, forced, _path(registry, forced)) if forced else None
    return Choice(
        layer=layer,
        order=tuple(candidate(made, layer, one) for one in order if isinstance(one, Member)),
        forced=candidate(made, layer, member) if member is not None else None,
        place=function.module.place(function.node.lineno),
    )


def candidate(made: Situation, layer: Layer, member: Member) -> Candidate:
    """Put the build's own check of one backend to a layer."""
    registry = member.klass.module.place(_line(member.klass, member.name))
    klass = made.machine.program.top_class(str(member.value)) if member.value else "module"
    if not isinstance(klass, Klass):
        doubt = f"{member.value or 'no class'} is not a class of the files ({klass})"
        return Candidate(name=member.name, place=registry, reasons=(), doubt=doubt)
    place = klass.module.place(klass.node.lineno)
    missing = missing_import(made, klass.module)
    found = _validated(made, layer, klass)
    reasons = tuple(map(shown, found)) if isinstance(found, list) else _certain(found)
    if missing:
        reasons = (f"ImportError: {missing}", *reasons)
    doubt = found.why if isinstance(found, Unknown) and not reasons else ""
    path = str(member.value)
    return Candidate(name=member.name, place=place, reasons=reasons, doubt=doubt, missing=missing, path=path)


def _validated(made: Situation, layer: Layer, klass: Klass) -> object:
    machine = made.machine
    try:
        check = machine.attribute(klass, "validate_configuration")
        if not isinstance(check, Bound):
            return Unknown("the backend has no validate_configuration")
        wanted = {one.arg for one in check.function.node.args.args}
        given = {name: value for name, value in _asked(made, layer).items() if name in wanted}
        return machine.call(check, (), given)
    except RaisedError as error:
        return Unknown(f"its check raises {type(error.error).__name__}: {error}")


def _asked(made: Situation, layer: Layer) -> Mapping[str, object]:
    return {
        "head_size": layer.head_size,
        "dtype": dtype(made),
        "kv_cache_dtype": cache_type(made),
        "block_size": made.flags.whole("block-size"),
        "use_mla": layer.mla,
        "has_sink": layer.sink,
        "use_sparse": layer.sparse,
        "use_mm_prefix": False,
        "use_per_head_quant_scales": False,
        "device_capability": made.capability,
        "attn_type": layer.kind,
        "has_sliding_window": layer.sliding,
        "use_non_causal": False,
        "use_batch_invariant": made.subject.env.get("VLLM_BATCH_INVARIANT", "0") not in {"0", ""},
        "use_kv_connector": "kv-transfer-config" in made.flags.values,
        "use_pcp": (made.flags.whole("prefill-context-parallel-size") or 1) > 1,
        "use_dcp": (made.flags.whole("decode-context-parallel-size") or 1) > 1,
        "use_adaptive_verification": False,
        "use_rswa": False,
    }


def _certain(found: object) -> tuple[str, ...]:
    """Give the reasons that every answer has which the check may give."""
    lists = [one for one in found.among if isinstance(one, list)] if isinstance(found, Unknown) else []
    if not lists or len(lists) != len(found.among):  # type: ignore[attr-defined]
        return ()
    return tuple(shown(one) for one in lists[0] if all(one in other for other in lists[1:]))


def missing_import(made: Situation, module: Module) -> str:
    """Name what a module imports at its top from another distribution that is there and lacks it; ``""`` for nothing."""
    program = made.machine.program
    for node in module.tree.body:
        for source, name in _imports(module, node):
            if source.split(".", maxsplit=1)[0] == "vllm" or program.exists(source) is None:
                continue
            if program.exists(source) is False:
                return f"No module named {source!r}"
            if name and not _binds(made, source, name):
                return f"cannot import name {name!r} from {source!r}"
    return ""


def _imports(module: Module, node: ast.stmt) -> Iterator[tuple[str, str]]:
    match node:
        case ast.ImportFrom(names=names):
            yield from ((import_source(node, module), one.name) for one in names)
        case ast.Import(names=names):
            yield from ((one.name, "") for one in names)
        case _:
            return


def _binds(made: Situation, source: str, name: str, depth: int = 8) -> bool:
    program = made.machine.program
    module = program.module(source)
    if module is None or program.exists(f"{source}.{name}"):
        return True
    names = program.names(module)
    if name in names.bindings or "__getattr__" in names.bindings or name == "*":
        return True
    return any(depth and _binds(made, star, name, depth - 1) for star in names.stars)


def asked_backend(made: Situation) -> str:
    """Name the backend that the command line or the environment asks for; ``""`` for none."""
    asked = made.flags.values.get("attention-backend") or made.subject.env.get("VLLM_ATTENTION_BACKEND", "")
    return "" if asked.lower() == "auto" else asked.upper()


def _path(registry: Klass, name: str) -> object:
    for node in registry.node.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.Constant(value=value)) if own == name:
                return value
            case _:
                continue
    return ""


def _line(klass: Klass, name: str) -> int:
    lines = [
        node.lineno
        for node in klass.node.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
    ]
    return lines[0] if lines else klass.node.lineno


def _head_dim(made: Situation) -> int:
    """Read the size of a head: what is stored, else what the class for the model's type has for it."""
    kind = made.text.get("model_type")
    if "head_dim" in made.text or not isinstance(kind, str):
        return _whole(made.text, "head_dim")
    known = configuration_of(made.subject.installed, kind)
    return _whole(known.defaults, "head_dim") if known is not None else 0


def _first(config: Mapping[str, object], keys: tuple[str, ...]) -> int:
    return next((found for key in keys if (found := _whole(config, key))), 0)


def _whole(config: Mapping[str, object], key: str) -> int:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
