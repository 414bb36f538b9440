r"""Podman Quadlet: ``NAME.container``, from which podman's generator makes a systemd service. It needs podman 5.2 or newer.

The whole command stands in ``Entrypoint=`` as JSON, which podman takes as a list of words. ``Exec=`` could not carry it: the
generator's splitter stops at an empty word and drops it with all that follow (containers/podman 0dddc5e,
pkg/systemd/parser/split.go, ``extractFirstWord``), and without an entrypoint of its own the image's would stand before it.

Escape rules: the generator splits ``Environment=``, undoes its quotes and C escapes, and writes every word of the command line
escaped again, but leaves ``%`` and ``$`` alone (same file, ``charNeedEscape``), and systemd expands both in a command line; so
both are doubled everywhere. JSON is written in ASCII, so that no splitter meets a letter that it takes for a space.
"""

import json
import re
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, HubModel, LaunchSpec, LocalModel, apply_deltas
from dayzero.targets.container import (
    HUB_FOLDER,
    MODEL_FOLDER,
    USER_ID,
    WORK_FOLDER,
    check_s,
    container_deltas,
    doubled,
    header,
    image_reference,
    literal,
    undoubled,
)
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.probe import health_probe
from dayzero.targets.unit_file import folder, percented, quoted, require_characters, settings, unpercented, variable

_CHECK_WEIGHTS = "/usr/bin/sha256sum --check --quiet --strict model.sha256"
_CHECK_CACHE = "/usr/bin/test -d "
_STOP_SLACK_S = 10
# Before the engine starts, podman may fetch the image, or the weights may be checked.
_FETCH_S = 600

# The keys that a rendered unit has, each of podman's (containers/podman 00b40db, pkg/systemd/quadlet/quadlet.go,
# groupsInfo) or of systemd's.
_KEYS = {
    "[Unit]": frozenset({"Description"}),
    "[Container]": frozenset(
        {"ContainerName", "Image", "Pull", "Entrypoint", "Environment", "WorkingDir", "User", "Group", "Volume"}
        | {"PublishPort", "AddDevice", "ShmSize", "Ulimit", "PodmanArgs", "RunInit", "DropCapability"}
        | {"NoNewPrivileges", "StopSignal", "StopTimeout", "HealthCmd", "HealthInterval", "HealthTimeout"}
        | {"HealthRetries", "HealthStartPeriod", "HealthOnFailure", "Notify"}
    ),
    "[Service]": frozenset(
        {"WorkingDirectory", "ExecStartPre", "TimeoutStartSec", "TimeoutStopSec", "Restart", "RestartSec"}
    ),
    "[Install]": frozenset({"WantedBy"}),
}
# What podman itself would take as more of a command line.
_PODMAN_ARGS = re.compile(r"--memory=[1-9][0-9]*b")
_ENTRYPOINT = "Entrypoint="
_CONTINUED = ", \\\n  "


@dataclass(frozen=True, slots=True)
class Quadlet:
    """The Quadlet target: a container under systemd, from the kit unpacked in ``/opt/dayzero/NAME``."""

    name: str = "quadlet"
    inputs: tuple[str, ...] = ("cache",)
    validators: tuple[Validator, ...] = (
        Validator(
            command=("/usr/lib/systemd/system-generators/podman-system-generator", "--dryrun"),
            folder_variable="QUADLET_UNIT_DIRS",
        ),
    )

    def file_name(self, spec: LaunchSpec) -> str:
        """Name the file that is written."""
        return f"{spec.name}.container"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile and the unit that builds the image from it, where the launch names no image."""
        return () if spec.image else (*companions_of(spec), (_build_name(spec), _build_unit(spec)))

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on inside its container, and the hub's cache."""
        return container_deltas(spec, who="the port published on the host's 127.0.0.1")

    def render(self, spec: LaunchSpec) -> str:
        """Write the unit.

        Raises:
            InputError: The unit cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_carriable(spec)
        # Arguments are ASCII by then.
        require_characters(value for _, value in spec.env)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        lines = (
            *_unit(spec),
            *_container(spec, command),
            *_service(spec),
            "",
            "[Install]",
            "WantedBy=multi-user.target",
        )
        return header(spec, deltas) + "\n".join(lines) + "\n"

    def parse(self, text: str) -> Commands:
        """Read the unit back.

        Raises:
            InputError: The text is not a unit of this target.
        """
        found = settings(_joined(text), _KEYS)
        values = dict(found)
        env = tuple(variable(undoubled(value, "Environment")) for key, value in found if key == "Environment")
        check = values.get("ExecStartPre", "")
        checked = check == _CHECK_WEIGHTS
        if not (checked or check.startswith(_CHECK_CACHE)) or not _PODMAN_ARGS.fullmatch(values.get("PodmanArgs", "")):
            raise InputError("the unit does not check the weights and run one container", hint="Render the file again.")
        return Commands(leader=Command(argv=_words(values.get("Entrypoint", "")), env=env), checked=checked)


TARGET = Quadlet()


def _build_name(spec: LaunchSpec) -> str:
    return f"{spec.name}.build"


def _build_unit(spec: LaunchSpec) -> str:
    """Write the unit that builds the image; podman's generator makes a service of it, which the container's waits for."""
    return f"""\
# The image of {spec.name}, built by podman from the Dockerfile beside it. Written by dayzero.
[Build]
ImageTag={image_reference(spec)}
File={folder(spec)}/Dockerfile
SetWorkingDirectory={folder(spec)}

[Service]
TimeoutStartSec=infinity
"""


def _unit(spec: LaunchSpec) -> tuple[str, ...]:
    return ("[Unit]", f"Description={spec.name}, served by {spec.distribution}", "")


def _container(spec: LaunchSpec, command: Command) -> tuple[str, ...]:
    # Relabelled (z) where SELinux keeps containers from the host's files; elsewhere that says nothing.
    match spec.model:
        case LocalModel():
            volume = f"{folder(spec)}/model:{MODEL_FOLDER}:ro,z"
        case HubModel():
            volume = f"{spec.site.cache}:{HUB_FOLDER}:z"
    return (
        "[Container]",
        f"ContainerName={spec.name}",
        f"Image={spec.image or _build_name(spec)}",
        f"Pull={'missing' if spec.image else 'never'}",
        _ENTRYPOINT + _command(literal(command.argv)),
        *(f"Environment={doubled(quoted(f'{name}={value}'))}" for name, value in command.env),
        f"WorkingDir={WORK_FOLDER}",
        f"User={USER_ID}",
        f"Group={USER_ID}",
        f"Volume={volume}",
        f"PublishPort=127.0.0.1:{spec.port}:{spec.port}",
        *(("AddDevice=nvidia.com/gpu=all", "Ulimit=memlock=-1:-1") if spec.accelerators else ()),
        *((f"ShmSize={spec.shared_memory_bytes}b",) if spec.shared_memory_bytes else ()),
        f"PodmanArgs=--memory={spec.memory_bytes}b",
        "RunInit=yes",
        "DropCapability=all",
        "NoNewPrivileges=yes",
        "StopSignal=SIGTERM",
        f"StopTimeout={spec.budgets.stop_s}",
        f"HealthCmd={json.dumps(health_probe(spec))}",
        "HealthInterval=10s",
        "HealthTimeout=10s",
        "HealthRetries=3",
        f"HealthStartPeriod={spec.budgets.start_s}s",
        "# An engine that is no longer well is killed, and systemd starts it again.",
        "HealthOnFailure=kill",
        "# systemctl start returns when the engine is healthy.",
        "Notify=healthy",
        "",
    )


def _service(spec: LaunchSpec) -> tuple[str, ...]:
    match spec.model:
        case LocalModel():
            before = _CHECK_WEIGHTS
        case HubModel():
            before = _CHECK_CACHE + spec.site.cache
    return (
        "[Service]",
        f"WorkingDirectory={folder(spec)}",
        f"ExecStartPre={before}",
        "# Longer than the engine's own start: the image may be fetched first, or the weights be checked.",
        f"TimeoutStartSec={max(spec.budgets.start_s + _FETCH_S, check_s(spec))}",
        f"TimeoutStopSec={spec.budgets.stop_s + _STOP_SLACK_S}",
        "Restart=on-failure",
        "RestartSec=10",
    )


def _command(argv: tuple[str, ...]) -> str:
    lines: list[list[str]] = [[]]
    for word in argv:
        if word.startswith("-"):
            lines.append([])
        lines[-1].append(percented(doubled(json.dumps(word))))
    return "[" + _CONTINUED.join(", ".join(line) for line in lines) + "]"


def _words(text: str) -> tuple[str, ...]:
    try:
        words = json.loads(unpercented(undoubled(text, "Entrypoint")))
    except ValueError:
        words = None
    if not isinstance(words, list) or not words or any(type(word) is not str for word in words):
        raise InputError(f"Entrypoint= is not a list of words: {text!r}", hint="Render the file again.")
    return tuple(words)


def _joined(text: str) -> list[str]:
    """Join the lines that the command continues on; nothing else is continued, so that no comment hides a setting."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and lines[-1].startswith(_ENTRYPOINT) and lines[-1].endswith(", \\") and line.startswith("  "):
            lines[-1] = lines[-1].removesuffix("\\") + line.removeprefix("  ")
        else:
            lines.append(line)
    if any(line.endswith("\\") for line in lines):
        raise InputError("a line of the unit goes on where none does", hint="Render the file again.")
    return lines
