"""Take a command apart: which engine it starts, in which image, on how many GPUs, with which flags and environment."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from dayzero.audit.recipes.image import names
from dayzero.audit.recipes.model import Word

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_RUNNERS = ("docker", "podman", "nerdctl")
# Options of docker run that take no value; every other one takes the next word where it has no "=".
_SWITCHES = {
    *(
        "-d",
        "-i",
        "-t",
        "-it",
        "-ti",
        "-dit",
        "-itd",
        "-P",
        "--detach",
        "--interactive",
        "--tty",
        "--rm",
        "--privileged",
    ),
    *(
        "--init",
        "--read-only",
        "--publish-all",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--disable-content-trust",
        "--quiet",
    ),
}
_ENV_OPTIONS = {"-e", "--env"}
_SHELLS = {"sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/bash"}
_STARTS = re.compile(r"--?[A-Za-z]|\$[@*]|\$\{\w+\[[@*]\]")
_OPTION_FILES = ("--config", "--config-file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a command says.

    Attributes:
        engine: The engine that it starts, ``""`` where an image decides that.
        words: The words that the engine is given.
        image: The container image that it runs in, ``""`` without one.
        env: Environment that the command itself sets.
        gpus: How many GPUs the container is given, 0 where it does not say.
        script: What a shell in it is told to run, ``""`` without one.
        line: The line of the program.
    """

    engine: str = ""
    words: tuple[Word, ...] = ()
    image: str = ""
    env: tuple[tuple[str, str], ...] = ()
    gpus: int = 0
    script: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The words of an engine, its model taken out.

    Attributes:
        model: The model, ``""`` where it is not named.
        flags: The rest, without what is not known.
        gaps: What is not known of it.
        gpus: How many GPUs its parallelism takes, 0 where it does not say.
    """

    model: str = ""
    flags: tuple[Word, ...] = ()
    gaps: tuple[str, ...] = field(default=())
    gpus: int = 0


def found_in(words: Sequence[Word]) -> Found | None:
    """Find the engine that a command starts; ``None`` where it starts none."""
    for index, word in enumerate(words):
        program = word.text.rsplit("/", 1)[-1]
        if program in _RUNNERS and _subcommand(words[index + 1 :]) == "run":
            return _container(words, index)
        if word.text in _SHELLS:
            script = _script(words[index + 1 :])
            if script:
                return Found(script=script, line=word.line)
        engine, start = _engine_at(words, index)
        if engine:
            return Found(engine=engine, words=tuple(words[start:]), env=_assigned(words[:index]), line=word.line)
    return None


def _subcommand(words: Sequence[Word]) -> str:
    return words[0].text if words else ""


def _engine_at(words: Sequence[Word], index: int) -> tuple[str, int]:
    table = names()
    first = words[index].text.rsplit("/", 1)[-1]
    second = words[index + 1].text if index + 1 < len(words) else ""
    if (first, second) in table.programs:
        return table.programs[first, second], index + 2
    if first == "-m" and second in table.modules:
        engine, command = table.modules[second]
        if not command:
            return engine, index + 2
        if index + 2 < len(words) and words[index + 2].text == command:
            return engine, index + 3
    return "", 0


def _script(words: Sequence[Word]) -> str:
    for option, script in pairwise(words):
        if re.fullmatch(r"-[a-z]*c", option.text):
            return script.text
        if not option.text.startswith("-"):
            return ""
    return ""


def _assigned(words: Sequence[Word]) -> tuple[tuple[str, str], ...]:
    """Give ``NAME=value`` words that stand before a program, those with variables that are not set left out."""
    split = (one.text.partition("=") for one in words if _ASSIGNED.fullmatch(one.text) and not one.open)
    return tuple((name, value) for name, _, value in split)


def _container(words: Sequence[Word], at: int) -> Found | None:
    env: list[tuple[str, str]] = []
    entrypoint: tuple[Word, ...] = ()
    gpus, index = 0, at + 2
    while index < len(words) and words[index].text.startswith("-"):
        name, joined, value = words[index].text.partition("=")
        if name not in _SWITCHES and not joined:
            index += 1
            value = words[index].text if index < len(words) else ""
        if name in _ENV_OPTIONS and "=" in value and not words[min(index, len(words) - 1)].open:
            key, _, content = value.partition("=")
            env.append((key, content))
        elif name == "--gpus":
            gpus = _gpus(value)
        elif name == "--entrypoint":
            entrypoint = (Word(value, words[at].line),)
        index += 1
    if index >= len(words):
        return None
    inner = found_in((*entrypoint, *words[index + 1 :]))
    image = words[index]
    if inner is None:
        return Found(words=tuple(words[index + 1 :]), image=image.text, env=tuple(env), gpus=gpus, line=words[at].line)
    return replace(inner, image=image.text, env=(*env, *inner.env), gpus=gpus, line=words[at].line)


def _gpus(value: str) -> int:
    devices = re.search(r"device=([\w,-]+)", value)
    if devices:
        return len(devices[1].split(","))
    return int(value) if value.isdecimal() else 0


def served(engine: str, words: Sequence[Word]) -> Served:
    """Take an engine's own words apart.

    A flag whose value holds a variable that the file does not set is left out and named: to judge a guess would be wrong.
    """
    known = names().model_flags
    named = known.get(engine) or tuple(flag for every in known.values() for flag in every)
    model, gaps, flags = "", list[str](), list[Word]()
    for number, group in enumerate(_groups(words)):
        first = group[0]
        unknown = next((one for one in group if one.open), None)
        if not first.text.startswith("-"):
            rest = group[1:] if number == 0 else group
            model = first.text if number == 0 and not first.open else model
            gaps += [f"its model is {first.text}, which this file does not set"] if number == 0 and first.open else []
            gaps += [f"{one.text} stands for words that this file does not have" for one in rest]
        elif unknown is not None:
            gaps.append(f"{first.text} is given {unknown.text}, which this file does not set")
        else:
            flags += group
            flag, _, joined = first.text.partition("=")
            value = joined or (group[1].text if len(group) > 1 else "")
            model = value if flag in named and value else model
            gaps += [f"more of its settings are in {value}"] if flag in _OPTION_FILES and value else []
    return Served(model=model, flags=tuple(flags), gaps=tuple(gaps), gpus=_parallel(engine, flags))


def _groups(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Split at every flag and at what stands for any number of words; what is before the first is a group of its own."""
    starts = [index for index, one in enumerate(words) if index == 0 or _STARTS.match(one.text)]
    for start, end in pairwise([*starts, len(words)]):
        yield tuple(words[start:end])


def _parallel(engine: str, flags: Sequence[Word]) -> int:
    counts: dict[str, int] = {}
    for one, following in pairwise((*(one.text for one in flags), "")):
        flag, _, joined = one.partition("=")
        value = joined or following
        if flag in names().parallel_flags.get(engine, ()) and value.isdecimal():
            counts[flag] = int(value)
    return prod(counts.values()) if counts else 0


def split(text: str, line: int) -> tuple[Word, ...]:
    """Split one command that a file gives as a text.

    Raises:
        ValueError: Its quotes do not match.
    """
    return tuple(Word(one, line) for one in shlex.split(text, comments=False))
