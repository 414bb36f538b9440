r"""systemd: ``NAME.service``.

Escape rules, each from the manual systemd.service(5), "Command lines", and systemd.unit(5), "Specifiers": every word in double
quotes; ``\``, ``"`` and the tab escaped; ``%`` doubled everywhere; ``$`` doubled in command lines, not in ``Environment=``.
"""

import re
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import PROGRAM, Command, Delta, LaunchSpec, apply_deltas
from dayzero.targets.container import header
from dayzero.targets.interface import Validator
from dayzero.targets.precondition import require_carriable

INSTALL_FOLDER = "/opt/dayzero"

_SECTIONS = ("[Unit]", "[Service]", "[Install]")
_UNIT_KEYS = frozenset({"Description", "After"})
_SERVICE_KEYS = frozenset(
    {"Type", "WorkingDirectory", "ExecStartPre", "ExecStart", "ExecStartPost", "Environment", "TimeoutStartSec"}
    | {"TimeoutStopSec", "KillMode", "KillSignal", "Restart", "RestartSec", "DynamicUser", "NoNewPrivileges"}
    | {"ProtectSystem", "ProtectHome", "PrivateTmp", "ReadOnlyPaths", "LimitMEMLOCK"}
)
_INSTALL_KEYS = frozenset({"WantedBy"})
_KEYS = dict(zip(_SECTIONS, (_UNIT_KEYS, _SERVICE_KEYS, _INSTALL_KEYS), strict=True))
_WORD = re.compile(r'"((?:[^"\\]|\\[\\"tn])*)"')
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n"}
_LETTERS = {"t": "\t", "n": "\n"}
_CHECK_WEIGHTS = ("/usr/bin/sha256sum", "--check", "--quiet", "--strict", "model.sha256")
_STOP_SLACK_S = 10


@dataclass(frozen=True, slots=True)
class Systemd:
    """The systemd target: a service under a user of its own, from the kit unpacked in ``/opt/dayzero/NAME``."""

    name: str = "systemd"
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
        """Declare the program's absolute path."""
        program = spec.argv[0] if spec.argv else ""
        if program.startswith("/"):
            return ()
        folder = _folder(spec) if "/" in program else f"{_folder(spec)}/.venv/bin"
        why = "systemd starts a program by its absolute path, and another one of that name could be found first"
        return (Delta(flag=PROGRAM, value=f"{folder}/{program}", why=why),)

    def render(self, spec: LaunchSpec) -> str:
        """Write the unit.

        Raises:
            InputError: The unit cannot carry the launch word for word.
        """
        require_carriable(spec)
        _require_characters(spec)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).command
        return header(spec, deltas) + "\n".join((*_unit(spec), *_service(spec, command), *_INSTALL)) + "\n"

    def parse(self, text: str) -> Command:
        """Read the unit back.

        Raises:
            InputError: The text is not a unit of this target.
        """
        settings = _settings(text)
        starts = [value for key, value in settings if key == "ExecStart"]
        checks = [value for key, value in settings if key == "ExecStartPre"]
        if len(starts) != 1 or checks != [_command_line(_CHECK_WEIGHTS)]:
            raise InputError(
                "the unit does not check the weights and then start one command", hint="Render the file again."
            )
        env = tuple(_variable(value) for key, value in settings if key == "Environment")
        return Command(argv=tuple(_undollared(word) for word in _words(starts[0])), env=env)


TARGET = Systemd()

_INSTALL = ("", "[Install]", "WantedBy=multi-user.target")


def _folder(spec: LaunchSpec) -> str:
    return f"{INSTALL_FOLDER}/{spec.name}"


def _require_characters(spec: LaunchSpec) -> None:
    # systemd's own check of UTF-8 (utf8_is_valid) leaves out what Unicode calls noncharacters.
    for word in (*spec.argv, *(value for _, value in spec.env)):
        if any(ord(letter) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(letter) <= 0xFDEF for letter in word):  # noqa: PLR2004
            raise InputError(
                f"systemd drops a word with a Unicode noncharacter: {word!r}",
                hint="Put the text into a file and pass the file's path.",
            )


def _unit(spec: LaunchSpec) -> tuple[str, ...]:
    return ("[Unit]", f"Description={spec.name}, served by {spec.distribution}", "After=network.target", "")


def _service(spec: LaunchSpec, command: Command) -> tuple[str, ...]:
    return (
        "[Service]",
        "Type=exec",
        f"WorkingDirectory={_folder(spec)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in command.env),
        f"ExecStartPre={_command_line(_CHECK_WEIGHTS)}",
        f"ExecStart={_command_line(command.argv)}",
        "# systemctl start returns when the engine is healthy, and fails when it ends before or is late.",
        f"ExecStartPost={_command_line(_wait_until_healthy(spec))}",
        f"TimeoutStartSec={spec.start_budget_s}",
        f"TimeoutStopSec={spec.stop_budget_s + _STOP_SLACK_S}",
        "KillMode=mixed",
        "KillSignal=SIGTERM",
        "Restart=on-failure",
        "RestartSec=10",
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        f"ReadOnlyPaths={_folder(spec)}",
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
    return (f"{_folder(spec)}/.venv/bin/python3", "-c", code)


def _command_line(argv: tuple[str, ...]) -> str:
    return " ".join(_quoted(word).replace("$", "$$") for word in argv)


def _quoted(word: str) -> str:
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in word).replace("%", "%%") + '"'


def _settings(text: str) -> list[tuple[str, str]]:
    settings: list[tuple[str, str]] = []
    section = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        if line in _SECTIONS:
            section = line
            continue
        key, equals, value = line.partition("=")
        if not equals or key not in _KEYS.get(section, ()):
            raise InputError(f"line {number} is not one of a rendered unit: {line!r}", hint="Render the file again.")
        settings.append((key, value))
    keys = [key for key, _ in settings if key != "Environment"]
    if len(set(keys)) != len(keys):
        raise InputError("a setting of the unit stands twice", hint="Render the file again.")
    return settings


def _words(line: str) -> tuple[str, ...]:
    words: list[str] = []
    position = 0
    while match := _WORD.match(line, position):
        words.append(_unescaped(match[1]))
        position = match.end() + 1
        if line[match.end() : position] not in {"", " "}:
            break
    if position != len(line) + 1:
        raise InputError(f"not a line of double-quoted words: {line!r}", hint="Render the file again.")
    return tuple(words)


def _unescaped(text: str) -> str:
    if "%" in text.replace("%%", ""):
        raise InputError(f"a % that systemd would expand: {text!r}", hint="Render the file again.")
    return _ESCAPED.sub(lambda match: _LETTERS.get(match[1], match[1]), text.replace("%%", "%"))


def _undollared(word: str) -> str:
    if "$" in word.replace("$$", ""):
        raise InputError(f"a $ that systemd would expand: {word!r}", hint="Render the file again.")
    return word.replace("$$", "$")


def _variable(value: str) -> tuple[str, str]:
    words = _words(value)
    name, equals, text = words[0].partition("=") if len(words) == 1 else ("", "", "")
    if not equals:
        raise InputError(f"Environment= does not set one variable: {value!r}", hint="Render the file again.")
    return name, text
