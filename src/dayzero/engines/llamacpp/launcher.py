"""Run llama.cpp's own HTTP server, out of the xllamacpp wheel, in this process.

This file stands alone: it goes into every kit as ``serve.py`` and needs nothing but Python and the wheel.

    python3 serve.py --model FILE --alias NAME --host 127.0.0.1 --port 8080 [--SETTING VALUE ...]

A setting is an attribute of the engine's ``CommonParams``, its dots kept and its underscores written as dashes:
``--n-ctx 16384 --cpuparams.n-threads 1 --kv-unified true --cache-type-k q8_0``. Lists are separated by commas.

It ends on SIGTERM and SIGINT with exit code 0, and with its parent process unless SIGHUP is ignored (nohup).
Exit codes: 1 the engine did not start, 2 the command line cannot be used.
"""

import ctypes
import enum
import functools
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
_DRAIN_S = 0.2  # the engine writes its log in a thread of its own, which has to get its last lines out

# What a server needs and the engine leaves otherwise; each can be set on the command line.
_DEFAULTS: tuple[tuple[str, object], ...] = (
    ("endpoint_metrics", True),
    ("warmup", False),
    ("ui", False),
    ("offline", True),
    ("fit_params", False),  # it would change the context length behind the recipe's back
    ("cache_ram_mib", 0),  # the prompt cache would take up to 8 GiB of host memory unasked
)


class UsageError(Exception):
    """The command line cannot be used."""


def _pairs(words: list[str]) -> dict[str, str]:
    """Read ``--name value`` pairs; every option takes exactly one value, so a value may begin with a dash."""
    options: dict[str, str] = {}
    for position in range(0, len(words), 2):
        name = words[position]
        if not name.startswith("--") or "_" in name:
            raise UsageError(f"expected a setting such as --n-ctx, got {name!r}")
        if position + 1 == len(words):
            raise UsageError(f"setting {name} has no value")
        if name in options:
            raise UsageError(f"setting {name} is given twice")
        options[name] = words[position + 1]
    return options


def _parse_bool(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(text)
    return text == "true"


def _choices(present: enum.Enum) -> dict[str, int]:
    """Name an enumeration's members without the prefix that they share (``GGML_TYPE_Q8_0`` is ``q8_0``)."""
    members = type(present).__members__
    prefix = os.path.commonprefix(list(members))  # noqa: RUF071  (the characters in common are meant)
    names = {name.removeprefix(prefix).lower(): int(member.value) for name, member in members.items()}
    return {name: value for name, value in names.items() if name != "count"}


def _parse_member(text: str, present: enum.Enum) -> int:
    choices = _choices(present)
    if text not in choices:
        raise ValueError(text)
    return choices[text]


def _parse_list(kind: Callable[[str], object], text: str) -> list[object]:
    return [kind(part) for part in text.split(",")]


def _parsers(present: object) -> tuple[Callable[[str], object], ...]:
    """Give the ways to read a value, tried in order, by the kind of the value that is there now."""
    match present:
        case bool():
            parsers: tuple[Callable[[str], object], ...] = (_parse_bool,)
        case enum.Enum():
            parsers = (lambda text: _parse_member(text, present),)
        case int() | float() | str():
            parsers = (type(present),)
        case list():
            # An empty list does not say what it holds: the setter decides.
            kinds = _parsers(present[0]) if present else (str, int, float)
            parsers = tuple(functools.partial(_parse_list, kind) for kind in kinds)
        case set():
            parsers = (lambda text: set(text.split(",")),)
        case _:
            parsers = ()
    return parsers


def _assign(params: Any, name: str, text: str) -> None:  # noqa: ANN401  (a class of the wheel)
    """Set one setting by its option name."""
    *parents, last = name.removeprefix("--").replace("-", "_").split(".")
    owner = params
    for attribute in parents:
        owner = getattr(owner, attribute, None) if not attribute.startswith("_") else None
    if last.startswith("_") or not hasattr(owner, last):
        raise UsageError(f"unknown setting {name}")
    present = getattr(owner, last)
    parsers = _parsers(present)
    if not parsers:
        raise UsageError(f"setting {name} cannot be set on a command line")
    for parse in parsers:
        try:
            setattr(owner, last, parse(text))
        except (TypeError, ValueError, OverflowError):
            continue
        return
    raise UsageError(f"setting {name} takes {_kind(present)}, got {text!r}")


def _kind(present: object) -> str:
    if isinstance(present, bool):
        return "true or false"
    if isinstance(present, enum.Enum):
        return "one of " + ", ".join(_choices(present))
    nouns = {int: "a whole number that fits", float: "a number", str: "text", list: "a comma-separated list"}
    return next((noun for kind, noun in nouns.items() if isinstance(present, kind)), "a comma-separated set")


def _configure(params: Any, options: dict[str, str]) -> None:  # noqa: ANN401  (a class of the wheel)
    """Write the whole command line into the engine's parameters."""
    settings = dict(options)
    try:
        model, alias, host = settings.pop("--model"), settings.pop("--alias"), settings.pop("--host")
        _assign(params, "--port", settings.pop("--port"))
    except KeyError as missing:
        raise UsageError(f"{missing.args[0]} is missing") from None
    params.model.path = model
    params.model_alias = {alias}
    if hasattr(params, "hostnames"):
        params.hostnames = [host]
    else:
        params.hostname = host
    for attribute, value in _DEFAULTS:
        if hasattr(params, attribute):
            setattr(params, attribute, value)
    for name, text in settings.items():
        _assign(params, name, text)
    if "--cpuparams-batch.n-threads" not in settings:
        params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    if "--n-threads-http" not in settings:
        params.n_threads_http = max(8, params.n_parallel + 4)


def _end_with_parent() -> None:
    """Ask Linux to end this process with its parent; whoever runs it under nohup wants it to stay."""
    if sys.platform != "linux" or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    except (OSError, AttributeError):
        return


def _catch_signals() -> int:
    """Have SIGTERM and SIGINT write to a pipe from now on, and give the end to read.

    A handler in Python would not do: the signal can come just before the main thread blocks, or in one of the engine's own
    threads, and then nothing wakes the main thread to run it.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return reader


def main(words: list[str]) -> int:
    """Serve until a signal comes; give an exit code when it cannot be."""
    # While the engine loads, Python would only see a signal after it: let the system end the process instead.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with_parent()
    import xllamacpp  # noqa: PLC0415  (a wrong command line must not depend on it, and it takes a moment)

    params = xllamacpp.CommonParams()
    try:
        _configure(params, _pairs(words))
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        time.sleep(_DRAIN_S)
        raise
    signals = _catch_signals()
    print(f"listening on {server.listening_address}", flush=True)
    os.read(signals, 1)
    # The engine's threads have no orderly end that is bound in time, and it holds nothing that has to be saved.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
