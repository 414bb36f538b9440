"""The flags of ``sglang.launch_server`` that decide about memory, read from words of a command line."""

import re
from collections.abc import Mapping

from dayzero.core.errors import InputError
from dayzero.engines.vllm.memory.flags import Flags

_ALIASES = {
    "tp": "tp-size",
    "tensor-parallel-size": "tp-size",
    "pp": "pp-size",
    "pipeline-parallel-size": "pp-size",
    "dp": "dp-size",
    "data-parallel-size": "dp-size",
    "ep": "ep-size",
    "expert-parallel-size": "ep-size",
    "cuda-graph-max-bs-decode": "cuda-graph-max-bs",
    "cuda-graph-bs-decode": "cuda-graph-bs",
}
_DEGREES = {"tp": "tp-size", "pp": "pp-size", "dp": "dp-size"}
_OLD_EXPERT_SWITCHES = ("enable-ep-moe", "enable-deepep-moe")


def read_flags(words: tuple[str, ...]) -> Flags:
    """Read the words; what has nothing to do with memory is kept as it stands and never looked at.

    Raises:
        InputError: A word is no flag and belongs to none.
    """
    values: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not re.match(r"--[A-Za-z]", word):
            hint = "Give the engine's flags as `sglang.launch_server` takes them."
            raise InputError(f"{word!r} is no flag and no value of one", hint=hint)
        name, equals, value = word[2:].partition("=")
        taken = [value] if equals else []
        while not equals and rest and not re.match(r"--[A-Za-z]", rest[0]):
            taken.append(rest.pop(0))
        long = name.replace("_", "-")
        values[_ALIASES.get(long, long)] = " ".join(taken) or "true"
    return Flags(values)


def spread_in(words: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Read how a command line spreads the model, and its longest request; give the other flags.

    With data-parallel attention SGLang's tp counts all ranks, and its dp splits them: 8 and 8 are eight GPUs with an attention
    of their own, which is tp 1 and dp 8 here.

    Raises:
        InputError: A degree or the context is no whole number, or dp does not divide tp.
    """
    read = read_flags(words)
    named = {key: value for key, name in _DEGREES.items() if (value := read.whole(name)) is not None}
    if read.on("enable-dp-attention") and named.get("dp", 1) > 1:
        ranks, dp = named.get("tp", 1), named["dp"]
        if ranks % dp:
            raise InputError(f"tp {ranks} cannot be split into dp {dp}", hint="Take a dp that divides tp.")
        named["tp"] = ranks // dp
    context = read.whole("context-length")
    if context is not None:
        named["context"] = context
    if (read.whole("ep-size") or 1) > 1 or any(read.on(name) for name in _OLD_EXPERT_SWITCHES):
        named["ep"] = 1
    told = {*_DEGREES.values(), "ep-size", "context-length", *_OLD_EXPERT_SWITCHES}
    return named, tuple(f"--{name}={value}" for name, value in read.values.items() if name not in told)
