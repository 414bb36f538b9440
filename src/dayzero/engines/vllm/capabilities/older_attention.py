"""Which attention backend a release takes that chooses in one function, as those before 0.11.1 do."""

from collections.abc import Mapping

from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.attention import (
    Candidate,
    Choice,
    Layer,
    asked_backend,
    cache_type,
    missing_import,
)
from dayzero.engines.vllm.capabilities.expressions import shown
from dayzero.engines.vllm.capabilities.implementation import refusal
from dayzero.engines.vllm.capabilities.situation import Situation, dtype
from dayzero.engines.vllm.capabilities.values import Bound, Klass, Member, RaisedError, Unknown

_PLATFORM, _CHOOSES = "vllm.platforms.cuda.CudaPlatformBase", "get_attn_backend_cls"
_ENUM_HOME, _ENUM = "vllm.platforms.interface", "_Backend"
_DECODER = "decoder"
_OLD_SUFFIX = "_VLLM_V1"
_BLOCK = 16  # 0.10.1, config/cache.py: the default on CUDA
_MLA_BLOCKS = (16, 32, 64, 128)  # 0.10.1, platforms/cuda.py:115-160: raised there for the MLA kernels
_NEW: dict[str, object] = {"use_v1": True}
_NEEDED = (8, 0)  # 0.10.1, engine/arg_utils.py:1399: older GPUs get the older engine
# 0.8.5, engine/arg_utils.py:1275-1420: with these the older engine may run.
_LACKED = frozenset({"kv-cache-dtype", "speculative-config", "guided-decoding-backend", "otlp-traces-endpoint", "enable-lora",
                     "num-scheduler-steps", "preemption-mode", "scheduling-policy", "pipeline-parallel-size", "dtype",
                     "load-format", "logits-processor-pattern", "disable-async-output-proc", "scheduler-delay-factor",
                     "enable-prompt-embeds"})  # fmt: skip
_EITHER = Unknown("which of its two engines runs", (True, False))


def choose_in_one(made: Situation, layer: Layer) -> Choice | str:
    """Run the release's own choice for a layer, or say why that could not be done.

    What comes out may be one backend of several, where it depends on what is not known; then all of them are looked at.
    """
    if layer.kind != _DECODER:
        return "releases that choose in one function choose elsewhere for an encoder"
    platform = made.machine.program.top_class(_PLATFORM)
    try:
        chooses = made.machine.attribute(platform, _CHOOSES) if isinstance(platform, Klass) else None
        selected = _selected(made)
    except RaisedError as error:
        return str(error)
    if not isinstance(chooses, Bound):
        return f"{_PLATFORM} has no {_CHOOSES}"
    if isinstance(selected, str):
        return selected
    given = _given(made, layer, selected)
    first = _chosen(made, layer, given, chooses)
    return (
        _chosen(made, layer, given | _NEW, chooses)
        if isinstance(first, str) and _is_new(made, given, chooses)
        else first
    )


def _is_new(made: Situation, given: dict[str, object], chooses: Bound) -> bool:
    """Say whether the newer of two engines runs: there is no older one, or it is the default and nothing it lacked is asked."""
    if given.get("use_v1") is not _EITHER:
        return False
    try:
        made.machine.call(chooses, (), _named(chooses, given | {"use_v1": False}))
    except RaisedError as error:
        if error.is_stated:
            return True
    try:
        default = made.machine.from_module("vllm.envs", "VLLM_USE_V1")
    except RaisedError:
        return False
    capability = made.subject.capability or (0, 0)
    return default is True and capability >= _NEEDED and not _LACKED & made.flags.values.keys()


def _named(chooses: Bound, given: Mapping[str, object]) -> dict[str, object]:
    named = {one.arg for one in chooses.function.node.args.args}
    return {name: value for name, value in given.items() if name in named}


def _chosen(made: Situation, layer: Layer, given: Mapping[str, object], chooses: Bound) -> Choice | str:
    place = chooses.function.module.place(chooses.function.node.lineno)
    selected = given.get("selected_backend")
    try:
        said = made.machine.call(chooses, (), _named(chooses, given))
    except RaisedError as error:
        name = selected.name if isinstance(selected, Member) else "none"
        refused = Candidate(name=name, place=place, reasons=(str(error),))
        return Choice(layer=layer, order=(refused,), forced=None, place=place) if error.is_stated else str(error)
    paths = said.among if isinstance(said, Unknown) else (said,)
    order = tuple(_held(made, layer, one, place) for one in paths if isinstance(one, str))
    if not order or len(order) < len(paths):
        return f"the choice of the attention backend depends on {shown(said)}"
    if len({bool(one.reasons) for one in order}) > 1 or any(one.doubt for one in order):
        return f"it is not known which of {', '.join(one.name for one in order)} is taken"
    return Choice(layer=layer, order=order, forced=None, place=place)


def _given(made: Situation, layer: Layer, selected: Member | None) -> dict[str, object]:
    own = {"0": False, "1": True}.get(made.subject.env.get("VLLM_USE_V1", ""), _EITHER)
    block: object = made.flags.whole("block-size") or (Unknown("block size", _MLA_BLOCKS) if layer.mla else _BLOCK)
    return {
        "selected_backend": selected,
        "head_size": layer.head_size,
        "dtype": dtype(made),
        "kv_cache_dtype": cache_type(made),
        "block_size": block,
        "use_v1": own,
        "use_mla": layer.mla,
        "has_sink": layer.sink,
        "use_sparse": layer.sparse,
    }


def _selected(made: Situation) -> Member | str | None:
    """Give the backend that is asked for; ``None`` for none, and why not where the release has none of that name."""
    name = asked_backend(made)
    if not name:
        return None
    klass = made.machine.from_module(_ENUM_HOME, _ENUM)
    for one in (name, name.removesuffix(_OLD_SUFFIX)):
        try:
            found = made.machine.attribute(klass, one)
        except RaisedError:
            continue
        if isinstance(found, Member):
            return found
    return f"the release has no attention backend {name}"


def _held(made: Situation, layer: Layer, path: str, chosen_at: Place) -> Candidate:
    klass = made.machine.program.top_class(path)
    if not isinstance(klass, Klass):
        return Candidate(name=path, place=chosen_at, reasons=(), doubt=f"{path} is not a class of the files")
    missing = missing_import(made, klass.module)
    said = (f"ImportError: {missing}" if missing else "") or refusal(made, layer, klass)
    place = klass.module.place(klass.node.lineno)
    return Candidate(name=klass.node.name, place=place, reasons=(said,) if said else (), missing=missing)
