"""systemd: ``NAME.service``.

Escape rules: words as :mod:`dayzero.targets.unit_file` writes them; ``$`` doubled in command lines, not in ``Environment=``
(systemd.service(5), "Command lines").
"""

from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import (
    PROGRAM,
    Command,
    Commands,
    Delta,
    HubModel,
    LaunchSpec,
    LocalModel,
    Replaced,
    apply_deltas,
)
from dayzero.targets.container import check_s, doubled, header, home_deltas, hub_deltas, literal, undoubled
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.precondition import require_carriable, require_one_node, require_wheels
from dayzero.targets.unit_file import INSTALL_FOLDER, folder, quoted, require_characters, settings, variable, words

_SECTIONS = ("[Unit]", "[Service]", "[Install]")
_UNIT_KEYS = frozenset({"Description", "After", "Wants"})
_SERVICE_KEYS = frozenset(
    {"Type", "WorkingDirectory", "ExecStartPre", "ExecStart", "ExecStartPost", "Environment", "TimeoutStartSec"}
    | {"TimeoutStopSec", "KillMode", "KillSignal", "Restart", "RestartSec", "DynamicUser", "NoNewPrivileges"}
    | {"ProtectSystem", "ProtectHome", "PrivateTmp", "ReadOnlyPaths", "LimitMEMLOCK", "User", "ReadWritePaths"}
)
_INSTALL_KEYS = frozenset({"WantedBy"})
_KEYS = dict(zip(_SECTIONS, (_UNIT_KEYS, _SERVICE_KEYS, _INSTALL_KEYS), strict=True))
_CHECK_WEIGHTS = ("/usr/bin/sha256sum", "--check", "--quiet", "--strict", "model.sha256")
_STOP_SLACK_S = 10
_MAIN_PID = "MAINPID"


@dataclass(frozen=True, slots=True)
class Systemd:
    """The systemd target: a service under a user of its own, from the kit unpacked in ``/opt/dayzero/NAME``."""

    name: str = "systemd"
    inputs: tuple[str, ...] = ("cache", "user")
    validators: tuple[Validator, ...] = (
        Validator(
            command=("systemd-analyze", "verify", "--man=no"),
            # The machine that renders need not be the one that serves.
            beside_the_point=rf".*Command {INSTALL_FOLDER}/\S+ is not executable: No such file or directory",
        ),
    )

    def file_name(self, spec: LaunchSpec) -> str:
        """Name the file that is written."""
        return f"{spec.name}.service"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:  # noqa: ARG002  (no launch needs one)
        """Give nothing: the unit runs the environment that ``serve.sh`` of the kit makes."""
        return ()

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the program's absolute path, the hub's cache, and a home that the engine can write."""
        home = "the home of the unit's user is / or hidden from the service, and it can write neither"
        return (*_program(spec), *hub_deltas(spec, spec.site.cache), *home_deltas(spec, why=home))

    def render(self, spec: LaunchSpec) -> str:
        """Write the unit.

        Raises:
            InputError: The unit cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_wheels(spec)
        require_carriable(spec)
        if _MAIN_PID in dict(spec.env):
            raise NotCarriedError(
                f"systemd sets {_MAIN_PID} itself, for the command that waits until the engine is healthy",
                hint="Take it out of the recipe's environment.",
            )
        require_characters((*spec.argv, *(value for _, value in spec.env)))
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        return header(spec, deltas) + "\n".join((*_unit(spec), *_service(spec, command), *_INSTALL)) + "\n"

    def parse(self, text: str) -> Commands:
        """Read the unit back.

        Raises:
            InputError: The text is not a unit of this target.
        """
        found = settings(text.split("\n"), _KEYS)
        starts = [value for key, value in found if key == "ExecStart"]
        checks = [value for key, value in found if key == "ExecStartPre"]
        env = tuple(variable(value) for key, value in found if key == "Environment")
        if len(starts) != 1 or checks not in ([], [_command_line(_CHECK_WEIGHTS)]):
            raise InputError(
                "the unit does something else than check the weights and start one command",
                hint="Render the file again.",
            )
        argv = tuple(undoubled(word, "ExecStart") for word in words(starts[0]))
        return Commands(leader=Command(argv=argv, env=env), checked=bool(checks))


TARGET = Systemd()

_INSTALL = ("", "[Install]", "WantedBy=multi-user.target")


def _program(spec: LaunchSpec) -> tuple[Delta, ...]:
    program = spec.argv[0] if spec.argv else ""
    if program.startswith("/"):
        return ()
    found_in = folder(spec) if "/" in program else f"{folder(spec)}/.venv/bin"
    why = "systemd starts a program by its absolute path, and another one of that name could be found first"
    return (Replaced(flag=PROGRAM, value=f"{found_in}/{program}", why=why),)


def _unit(spec: LaunchSpec) -> tuple[str, ...]:
    match spec.model:
        case LocalModel():
            network: tuple[str, ...] = ("After=network.target",)
        case HubModel():
            network = ("Wants=network-online.target", "After=network-online.target")
    return ("[Unit]", f"Description={spec.name}, served by {spec.distribution}", *network, "")


def _service(spec: LaunchSpec, command: Command) -> tuple[str, ...]:
    from_hub = isinstance(spec.model, HubModel)
    # A cache outlives its service, so it belongs to a user who does too.
    owner = (f"User={spec.site.user}", f"ReadWritePaths={spec.site.cache}") if from_hub else ("DynamicUser=yes",)
    return (
        "[Service]",
        "Type=exec",
        f"WorkingDirectory={folder(spec)}",
        *(f"Environment={quoted(f'{name}={value}')}" for name, value in command.env),
        *(() if from_hub else (f"ExecStartPre={_command_line(_CHECK_WEIGHTS)}",)),
        f"ExecStart={_command_line(literal(command.argv))}",
        "# systemctl start returns when the engine is healthy, and fails when it ends before or is late.",
        f"ExecStartPost={_command_line(_wait_until_healthy(spec))}",
        # Each of the commands has that long: the check of the weights by itself, and then the engine until it is healthy.
        f"TimeoutStartSec={max(spec.budgets.start_s, check_s(spec))}",
        f"TimeoutStopSec={spec.budgets.stop_s + _STOP_SLACK_S}",
        "KillMode=mixed",
        "KillSignal=SIGTERM",
        "Restart=on-failure",
        "RestartSec=10",
        *owner,
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        f"ReadOnlyPaths={folder(spec)}",
        *(("LimitMEMLOCK=infinity",) if spec.accelerators else ()),
    )


def _wait_until_healthy(spec: LaunchSpec) -> tuple[str, ...]:
    # A proxy from the environment must not come between; an engine that has ended is not waited for.
    code = f"""\
import os, time, urllib.request as u
o = u.build_opener(u.ProxyHandler({{}}))
while True:
    try:
        o.open("http://127.0.0.1:{spec.port}{spec.health_path}", timeout=5)
        break
    except OSError:
        os.kill(int(os.environ["MAINPID"]), 0)
        time.sleep(1)
"""
    return (f"{folder(spec)}/.venv/bin/python3", "-c", code)


def _command_line(argv: tuple[str, ...]) -> str:
    return " ".join(doubled(quoted(word)) for word in argv)
