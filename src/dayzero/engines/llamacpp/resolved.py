"""What llama.cpp's log says it resolved, and how long the phases of its start took.

The wordings are those of the server's logs at its default verbosity, as the two embedded builds write them
(``0.00.270.761 I srv    load_model: initializing, n_slots = 4, ...``); a build on a GPU also states its layers and buffers.
"""

import re
from collections.abc import Iterator

from dayzero.core.launch import LaunchSpec
from dayzero.serve.model import Asked, Resolved, StartPhase

_STAMP = re.compile(r"(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) [A-Z] (.*)")
_VALUES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("version", r"build_info: (\S+)"),
        ("n_slots", r"initializing, n_slots = (\d+)"),
        ("n_ctx_slot", r"\bn_ctx_slot = (\d+)"),
        ("kv_unified", r"\bkv_unified = '?(\w+)"),
        ("n_threads", r"threadpool init, n_threads = (\d+)"),
        ("flash_attn", r"\bflash_attn\s*= (\w+)"),
        ("n_batch", r"llama_context: n_batch\s*= (\d+)"),
        ("n_ubatch", r"llama_context: n_ubatch\s*= (\d+)"),
        ("gpu_layers", r"offloaded (\d+/\d+) layers to GPU"),
        ("kv_cache", r"llama_kv_cache: size = +(\S+ MiB .*)"),
    )
)
_PHASES = (  # name, what begins it, what ends it
    (
        "weights",
        re.compile(r"load_model: loading model '"),
        re.compile(r"threadpool init|load_model: initializing, n_slots"),
    ),
    ("context", re.compile(r"load_model: initializing, n_slots"), re.compile(r"init: model loaded")),
)
_LISTENING = re.compile(r"listening on http")


def resolved(log: bytes) -> tuple[Resolved, ...]:
    """Read what the log states, each different value of a name once, with the first line that states it."""
    found: dict[tuple[str, str], Resolved] = {}
    for number, text, _ in _records(log):
        for name, pattern in _VALUES:
            match = pattern.search(text)
            if match:
                found.setdefault((name, match[1]), Resolved(name=name, value=match[1], line=number))
    return tuple(found.values())


def start_phases(log: bytes) -> tuple[StartPhase, ...]:
    """Read how long each phase took, from the stamps that each record carries (microseconds since the start).

    ``weights`` is the reading of the model's file, ``context`` the allocation that follows it; ``listening`` holds both.
    """
    began: dict[str, float] = {}
    phases: dict[str, StartPhase] = {}
    for number, text, at in _records(log):
        for name, begins, ends in _PHASES:
            if ends.search(text) and name in began and name not in phases:
                phases[name] = StartPhase(name=name, seconds=round(at - began[name], 6), line=number)
            if begins.search(text):
                began.setdefault(name, at)
        if _LISTENING.search(text):
            phases.setdefault("listening", StartPhase(name="listening", seconds=at, line=number))
    return tuple(phases.values())


def asked(launch: LaunchSpec) -> tuple[Asked, ...]:
    """Name what the launcher's flags ask for, as far as the log would tell.

    The context is shared by all slots: a slot has all of it where the cache is unified, and its part of it where it is not.
    """
    given = dict(zip(launch.argv, launch.argv[1:], strict=False))
    direct = (("--n-parallel", "n_slots"), ("--cpuparams.n-threads", "n_threads"), ("--kv-unified", "kv_unified"))
    found = [Asked(name=name, value=given[flag], by=flag) for flag, name in direct if flag in given]
    context, slots = given.get("--n-ctx", ""), given.get("--n-parallel", "1")
    if context.isdigit() and slots.isdigit() and int(context) and int(slots):
        parts = 1 if given.get("--kv-unified") == "true" else int(slots)
        found.append(Asked(name="n_ctx_slot", value=str(int(context) // parts), by="--n-ctx"))
    return tuple(found)


def _records(log: bytes) -> Iterator[tuple[int, str, float]]:
    """Give each record's line, text and seconds since the start (a stamp reads minutes, seconds, milliseconds, microseconds)."""
    for number, raw in enumerate(log.split(b"\n"), start=1):
        match = _STAMP.search(raw.decode("utf-8", "replace"))
        if match:
            minutes, seconds, milli, micro = (int(part) for part in match.groups()[:4])
            yield number, match[5], (((minutes * 60 + seconds) * 1000 + milli) * 1000 + micro) / 1e6
