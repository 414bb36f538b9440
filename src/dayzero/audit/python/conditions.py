"""Say in words under what a finding matters, and whether that holds for the subject."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Protocol

from dayzero.audit.finding import Applies
from dayzero.audit.python.context import Condition
from dayzero.audit.python_source import last_name

_ANY_START = frozenset({"cuda", "__main__"})  # values that every start on these GPUs has
_LONGEST = 90
# sm120, sm_90, SM100, and inside a class's name: FlashInferSM120Attention.
_SM = re.compile(r"(?:(?<![A-Za-z0-9])[sS][mM]_?|(?<=[a-z])SM)(\d{2,3})(?![0-9])")
_FAMILY = re.compile(r"is_device_capability_family\((\d+)\)")
_AT_LEAST = re.compile(r"has_device_capability\((\d+)\)")
_EXACTLY = re.compile(r"is_sm(\d{2,3})_supported|is_device_capability\((\d+)\)")
_MODEL = re.compile(r"/models/(?:\w+/)*?([a-z][a-z0-9_]+?)(?:/|\.py)")
# What the path of a file says of the layers that it is for, and what a whole config.json of a model with such layers speaks of.
_LAYERS = (
    ("MLA", re.compile(r"(?:^|[/_])mla(?=[/_.])"), re.compile(r"lora_rank|mla|index_topk")),
    ("experts", re.compile(r"(?:^|[/_])moe(?=[/_.])"), re.compile(r"expert|moe")),
    (
        "linear attention",
        re.compile(r"(?:^|[/_])(?:mamba|gdn|kda)(?=[/_.])"),
        re.compile(r"linear_|mamba|ssm|conv_kernel|gdn|kda|delta|layer_types|block_type|pattern"),
    ),
)
_WHOLE = "num_hidden_layers"
_FLAG = re.compile(r"\b(?:server_args|envs?|args|\w*config)\.(\w+)|\b(?:self\.|_)*((?:use|enable|disable)_\w+)")


class Served(Protocol):
    """What a condition can be held against; ``audit.rules.Subject`` is one."""

    @property
    def model(self) -> Mapping[str, object] | None:
        """The model's ``config.json``."""
        ...

    @property
    def capability(self) -> tuple[int, int] | None:
        """Compute capability of the GPUs."""
        ...

    @property
    def flags(self) -> tuple[str, ...]:
        """Words of the engine's command line."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables that are set."""
        ...


def flags_of(conditions: Iterable[Condition]) -> tuple[str, ...]:
    """Name the settings that conditions ask."""
    found: dict[str, None] = {}
    for one in conditions:
        for match in _FLAG.finditer(ast.unparse(one.test)):
            found[match[1] or match[2]] = None
    return tuple(found)


def words_of(conditions: Iterable[Condition]) -> Iterator[str]:
    """Write each condition as the code has it."""
    for one in conditions:
        text = " ".join(ast.unparse(one.test).split())
        short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        yield short if one.holds else f"not ({short})"


def gpu_of(path: str, names: str, conditions: Iterable[Condition]) -> str:
    """Name the GPUs that a line is for, by its file, its functions or its conditions; ``""`` where nothing says."""
    texts = [ast.unparse(one.test) for one in conditions if one.holds]
    for text in texts:
        if match := _AT_LEAST.search(text):
            return f"SM{match[1]} or newer"
        if match := _FAMILY.search(text):
            return f"SM{match[1]}"
        if match := _EXACTLY.search(text):
            return f"SM{match[1] or match[2]}"
    match = _SM.search(names.replace("_", " ")) or _SM.search(path.rpartition("/")[2].replace("_", " "))
    return f"SM{match[1]}" if match else ""


def gpu_applies(gpu: str, capability: tuple[int, int] | None) -> Applies:
    """Say whether GPUs named by :func:`gpu_of` are the subject's; one family shares its major number."""
    if not gpu:
        return Applies.YES
    if capability is None:
        return Applies.UNKNOWN
    number = int(re.sub(r"\D", "", gpu))
    own = capability[0] * 10 + capability[1]
    holds = own >= number if "newer" in gpu else own // 10 == number // 10
    return Applies.YES if holds else Applies.NO


def model_of(path: str) -> str:
    """Name the model that a file is for; ``""`` where it is for any."""
    match = _MODEL.search(f"/{path}")
    return match[1] if match else ""


def model_applies(model: str, subject: Served) -> Applies:
    """Say whether a file's model is the subject's, by its ``model_type`` and architectures."""
    if not model:
        return Applies.YES
    if subject.model is None:
        return Applies.UNKNOWN
    own = {_plain(word) for word in _texts(subject.model, ("model_type", "architectures"))}
    return Applies.YES if any(_plain(model) in word or word in _plain(model) for word in own) else Applies.NO


def layers_of(path: str) -> str:
    """Name the kind of layer that a file is for; ``""`` where it is for any."""
    return next((kind for kind, spelled, _ in _LAYERS if spelled.search(path)), "")


def layers_apply(path: str, subject: Served) -> Applies:
    """Say whether a file may be for a kind of layer that the model has; only a whole ``config.json`` shows that it has none."""
    kind = layers_of(path)
    words = set(_keys(subject.model or {}))
    if not kind or _WHOLE not in words:
        return Applies.YES
    speaks = next(asked for of, _, asked in _LAYERS if of == kind)
    return Applies.YES if any(map(speaks.search, words)) else Applies.NO


def named_by_model(word: str, subject: Served) -> str:
    """Name the setting of the model's ``config.json`` whose value is that word; ``""`` where none is."""
    return next((key for key, value in _pairs(subject.model or {}) if value.casefold() == word.casefold()), "")


def flags_apply(flags: tuple[str, ...], subject: Served) -> Applies:
    """Say whether a setting is given on the command line or in the environment."""
    given = {_plain(word.partition("=")[0]) for word in (*subject.flags, *subject.env)}
    return (
        Applies.YES if any(_plain(re.sub(r"^use_", "", one)) in word for one in flags for word in given) else Applies.NO
    )


def values_given(flags: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Give each flag of a command line with the word after it, or after its ``=``."""
    words = [part for word in flags for part in word.split("=", 1)]
    return ((flag, value) for flag, value in pairwise(words) if flag.startswith("--"))


def chosen_by_flags(path: str, subject: Served) -> str:
    """Name the flag whose value is the name of a file, as one is that chooses a backend; ``""`` where none is."""
    name = _plain(path.rpartition("/")[2].removesuffix(".py"))
    chosen = (pair for pair in values_given(subject.flags) if _plain(pair[1]) == name)
    return " ".join(next(chosen, ()))


def otherwise_chosen(conditions: Iterable[Condition], subject: Served) -> str:
    """Name the flag that gives a setting another value than a condition on the way asks for; ``""`` where none does."""
    given = {_plain(flag): (flag, value) for flag, value in values_given(subject.flags)}
    for one in conditions:
        match one.test:
            case ast.Compare(left=setting, ops=[ast.Eq()], comparators=[ast.Constant(value=str() as word)]) if (
                one.holds
            ):
                flag, value = given.get(_plain(last_name(setting)), ("", word))
                if _plain(value) not in {_plain(word), "auto"}:
                    return f"not {flag} {value}"
            case _:
                continue
    return ""


def one_value_asked(conditions: Iterable[Condition]) -> bool:
    """Say whether something must have one value of many, as a backend that is asked for by name: no start does so by itself."""
    return any(_is_one_value(test, holds=holds) for one in conditions for test, holds in _certain(one.test, one.holds))


def _is_one_value(test: ast.expr, *, holds: bool) -> bool:
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=str() as word)]):
            return isinstance(op, ast.Eq) == holds and word not in _ANY_START
        case _:
            return False


def _certain(test: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:  # noqa: FBT001  (as a condition has it)
    """Give the parts of a test of which each must have its answer."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _certain(inner, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == holds:
            for one in values:
                yield from _certain(one, holds)
        case _:
            yield test, holds


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


def _pairs(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, Mapping):
            yield from _pairs(value)


def _keys(config: Mapping[str, object]) -> Iterator[str]:
    for key, value in config.items():
        yield key
        if isinstance(value, Mapping):
            yield from _keys(value)


def _texts(config: Mapping[str, object], keys: tuple[str, ...]) -> Iterator[str]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _texts(value, keys)
        elif key in keys:
            yield from (
                [value] if isinstance(value, str) else [str(one) for one in value] if isinstance(value, list) else []
            )
