"""Docker on one machine: ``docker-run.sh``, which checks the weights, has the image and becomes one exact ``docker run``.

Escape rules: every word quoted so that bash expands nothing (:mod:`dayzero.targets.shell_words`); ``--gpus`` takes a line of
comma-separated values, so a list of devices keeps a pair of double quotes of its own inside the shell's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, HubModel, LaunchSpec, LocalModel, apply_deltas
from dayzero.targets.bash_script import CHECK_WEIGHTS, SETTINGS, VALIDATORS, check_line, require_check_line
from dayzero.targets.container import (
    HUB_FOLDER,
    MODEL_FOLDER,
    USER_ID,
    WORK_FOLDER,
    container_deltas,
    declared,
    image_reference,
    literal,
)
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.probe import health_probe_line
from dayzero.targets.shell_words import line, split

_OPENING = """\
#!/usr/bin/env bash
# Written by dayzero from one launch and parsed back equal to it. It belongs in the unpacked kit and needs Docker's client 23 or
# newer. Exit codes before the engine starts: 3 weights or their folder are missing, 4 a digest differs.
"""
_OF_THE_HUB = """\
check_cache() {
  if [ ! -d "$1" ]; then
    printf 'error: the folder for the weights is not here: %s\\n' "$1" >&2
    printf 'hint: sudo install --directory --owner %s --group %s %s\\n' "$2" "$2" "$1" >&2
    exit 3
  fi
}

"""
_BUILT = """\
make_image() {
  docker build --tag "$1" --file Dockerfile . >&2
}

"""
_CHECK_CACHE = "check_cache "
_MAKE_IMAGE = "make_image "
_RUN = "exec docker run "
_CONTINUED = " \\\n  "
_STOP_SLACK_S = 10

_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}|localhost/[a-z0-9-]+:built-from-this-kit")
_SECONDS = r"[1-9][0-9]*"
_SIZE = rf"{_SECONDS}b"
_SWITCHES = frozenset({"--rm", "--init"})
# Every option that a rendered script has, with the values that it may have; anything else could change what runs.
_OPTIONS = {
    "--name": r"[a-z0-9-]+",
    "--pull": r"never|missing",
    "--user": f"{USER_ID}:{USER_ID}",
    "--workdir": WORK_FOLDER,
    "--cap-drop": r"ALL",
    "--security-opt": r"no-new-privileges",
    "--memory": _SIZE,
    "--shm-size": _SIZE,
    "--gpus": r'"device=[0-9]+(,[0-9]+)*"',
    "--ulimit": r"memlock=-1",
    "--mount": rf"type=bind,source=(\./model,target={MODEL_FOLDER},readonly|/[A-Za-z0-9._/-]+,target={HUB_FOLDER})",
    "--publish": r"127\.0\.0\.1:([0-9]+):\1",
    "--stop-signal": r"SIGTERM",
    "--stop-timeout": _SECONDS,
    "--health-cmd": r"python3 -c .*",
    "--health-interval": rf"{_SECONDS}s",
    "--health-timeout": rf"{_SECONDS}s",
    "--health-retries": _SECONDS,
    "--health-start-period": rf"{_SECONDS}s",
    "--entrypoint": r".+",
    "--env": r"[A-Za-z_][A-Za-z0-9_]*=.*",
}
_REPEATED = "--env"


@dataclass(frozen=True, slots=True)
class DockerRun:
    """The target for plain Docker: a bash script that needs ``docker`` and ``sha256sum``."""

    name: str = "docker-run"
    inputs: tuple[str, ...] = ("cache",)
    validators: tuple[Validator, ...] = VALIDATORS

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "docker-run.sh"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on inside its container, and the hub's cache."""
        return container_deltas(spec, who="the port published on the host's 127.0.0.1")

    def render(self, spec: LaunchSpec) -> str:
        """Write ``docker-run.sh``.

        Raises:
            InputError: The script cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_carriable(spec)
        if len(spec.name) == 1:
            raise NotCarriedError(
                f"docker has no container with a name of one letter: {spec.name!r}",
                hint="Give the package a longer name.",
            )
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        lines = (
            *_before(spec),
            "",
            *map(declared, deltas),
            _RUN + _CONTINUED.join(_words_by_line(spec, command)),
        )
        prelude = _prelude(from_hub=isinstance(spec.model, HubModel), built=not spec.image)
        return prelude + "\n".join(lines) + "\n"

    def parse(self, text: str) -> Commands:
        """Read ``docker-run.sh`` back.

        Raises:
            InputError: The text is not a script of this target.
        """
        from_hub, head, tail = _behind_the_prelude(text)
        comments, run, body = tail.partition(_RUN)
        ended = body.endswith("\n") and "\n" not in body[:-1].replace(_CONTINUED, " ")
        if not (run and ended) or any(not line.startswith("# ") for line in comments.split("\n")[:-1]):
            raise InputError("docker-run.sh does not check and then run one container", hint="Render the file again.")
        options, words = _options(literal(split(body[:-1].replace(_CONTINUED, " "), {})))
        env = tuple(_variable(value) for name, value in options if name == _REPEATED)
        _require_checks(head, image=words[0], from_hub=from_hub)
        leader = Command(argv=(dict(options)["--entrypoint"], *words[1:]), env=env)
        return Commands(leader=leader, checked=not from_hub)


TARGET = DockerRun()


def _prelude(*, from_hub: bool, built: bool) -> str:
    return _OPENING + SETTINGS + (_OF_THE_HUB if from_hub else CHECK_WEIGHTS) + (_BUILT if built else "")


def _behind_the_prelude(text: str) -> tuple[bool, list[str], str]:
    """Say whether the weights come from the hub, and give the lines that check and make, and what stands behind them."""
    for from_hub, built in ((True, True), (True, False), (False, True), (False, False)):
        prelude = _prelude(from_hub=from_hub, built=built)
        head, blank, tail = text.removeprefix(prelude).partition("\n\n")
        if text.startswith(prelude) and blank and head.count("\n") == int(built):
            return from_hub, head.split("\n"), tail
    raise InputError(
        "the checks at the top of docker-run.sh are not the ones that are rendered", hint="Render the file again."
    )


def _before(spec: LaunchSpec) -> tuple[str, ...]:
    made = () if spec.image else (_MAKE_IMAGE + image_reference(spec),)
    match spec.model:
        case LocalModel():
            return (check_line(spec), *made)
        case HubModel():
            return (_CHECK_CACHE + line((spec.site.cache, str(USER_ID))), *made)


def _words_by_line(spec: LaunchSpec, command: Command) -> Iterator[str]:
    program, *arguments = literal(command.argv)
    yield "--rm --init"
    for pair in (*_container(spec), *_health(spec)):
        yield line(pair)
    for name, value in command.env:
        yield line((_REPEATED, f"{name}={value}"))
    yield line(("--entrypoint", program))
    together = [image_reference(spec)]
    for word in arguments:
        if word.startswith("-"):
            yield line(together)
            together = []
        together.append(word)
    yield line(together)


def _container(spec: LaunchSpec) -> Iterator[tuple[str, str]]:
    yield "--name", spec.name
    yield "--pull", "missing" if spec.image else "never"
    yield "--user", f"{USER_ID}:{USER_ID}"
    yield "--workdir", WORK_FOLDER
    yield "--cap-drop", "ALL"
    yield "--security-opt", "no-new-privileges"
    yield "--memory", f"{spec.memory_bytes}b"
    if spec.shared_memory_bytes:
        yield "--shm-size", f"{spec.shared_memory_bytes}b"
    if spec.accelerators:
        yield "--gpus", f'"device={",".join(map(str, range(spec.accelerators)))}"'
        yield "--ulimit", "memlock=-1"
    match spec.model:
        case LocalModel():
            yield "--mount", f"type=bind,source=./model,target={MODEL_FOLDER},readonly"
        case HubModel():
            yield "--mount", f"type=bind,source={spec.site.cache},target={HUB_FOLDER}"
    yield "--publish", f"127.0.0.1:{spec.port}:{spec.port}"
    yield "--stop-signal", "SIGTERM"
    yield "--stop-timeout", str(spec.budgets.stop_s + _STOP_SLACK_S)


def _health(spec: LaunchSpec) -> Iterator[tuple[str, str]]:
    yield "--health-cmd", health_probe_line(spec)
    yield "--health-interval", "10s"
    yield "--health-timeout", "10s"
    yield "--health-retries", "3"
    yield "--health-start-period", f"{spec.budgets.start_s}s"


def _options(words: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Give the options as (name, value), and what stands behind them: the image and the arguments."""
    options: list[tuple[str, str]] = []
    rest = iter(words)
    for word in rest:
        if word in _SWITCHES:
            options.append((word, ""))
        elif word in _OPTIONS:
            value = next(rest, "")
            if not re.fullmatch(_OPTIONS[word], value):
                raise InputError(f"not a value that a rendered {word} has: {value!r}", hint="Render the file again.")
            options.append((word, value))
        elif _IMAGE.fullmatch(word):
            _require_once(options)
            return tuple(options), (word, *rest)
        else:
            raise InputError(f"not an option of a rendered docker-run.sh: {word!r}", hint="Render the file again.")
    raise InputError("docker-run.sh names no image", hint="Render the file again.")


def _require_once(options: list[tuple[str, str]]) -> None:
    names = [name for name, _ in options if name != _REPEATED]
    always = _SWITCHES | (_OPTIONS.keys() - {_REPEATED, "--shm-size", "--gpus", "--ulimit"})
    if len(set(names)) != len(names) or not always <= set(names):
        missing = sorted(always - set(names)) or sorted({name for name in names if names.count(name) > 1})
        raise InputError(
            f"an option of docker run is missing or stands twice: {', '.join(missing)}", hint="Render the file again."
        )


def _require_checks(lines: list[str], *, image: str, from_hub: bool) -> None:
    check, *made = lines
    expected = [] if "@sha256:" in image else [_MAKE_IMAGE + image]
    if made != expected or (from_hub and not check.startswith(_CHECK_CACHE)):
        raise InputError("docker-run.sh does not check the weights and have its image", hint="Render the file again.")
    if from_hub:
        split(check.removeprefix(_CHECK_CACHE), {})
    else:
        require_check_line(check)


def _variable(value: str) -> tuple[str, str]:
    name, _, text = value.partition("=")
    return name, text
