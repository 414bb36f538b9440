"""Podman's generator, as far as the tests need it: from a ``.container`` unit to the ``ExecStart=`` of its service.

Debian's podman has no generator, so what it does is done here after its source (containers/podman, pkg/systemd/quadlet/quadlet.go
and pkg/systemd/parser), its faults included: an empty word ends the splitting of a line.
"""

import re

_C_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "} | {
    letter: letter for letter in "\\\"'"
}
_WRITTEN = {"\t": "\\t", "\\": "\\\\", '"': '\\"', " ": " ", "'": "'"}
_ONE = {
    "Pull": "--pull",
    "Entrypoint": "--entrypoint",
    "WorkingDir": "--workdir",
    "ShmSize": "--shm-size",
    "StopSignal": "--stop-signal",
    "StopTimeout": "--stop-timeout",
}
_HEALTH = ("Cmd", "Interval", "OnFailure", "Retries", "StartPeriod", "Timeout")
_LISTED = {"AddDevice": "--device", "Ulimit": "--ulimit", "Volume": "-v", "PublishPort": "--publish"}


def split(line: str) -> list[str]:
    """Split a line into words, undoing quotes and C escapes."""
    words, rest = [], line.lstrip(" \t")
    while rest:
        word, rest = _first_word(rest)
        if not word:
            break
        words.append(word)
    return words


def _first_word(text: str) -> tuple[str, str]:
    word, quote, position = "", "", 0
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            escape = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))").match(text, position)
            assert escape, text
            number = escape[1] or escape[2] or escape[3]
            word += chr(int(number, 16)) if number else _C_ESCAPES[escape[4]]
            position = escape.end()
            continue
        position += 1
        if letter == quote:
            quote = ""
        elif quote:
            word += letter
        elif letter in "\"'":
            quote = letter
        elif letter in " \t":
            return word, text[position:].lstrip(" \t")
        else:
            word += letter
    assert not quote, text
    return word, ""


def join(words: list[str]) -> str:
    """Write words as the generator does into ``ExecStart=``."""
    return " ".join(_escaped(word) for word in words)


def _escaped(word: str) -> str:
    if not re.search(r"[\s\x00-\x1f\x7f\"'\\]", word, re.ASCII):
        return word
    return '"' + "".join(_WRITTEN.get(letter, letter) for letter in word) + '"'


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Read a unit: continued lines joined, comments left out."""
    found: dict[str, list[tuple[str, str]]] = {}
    section, pending = "", ""
    for raw in text.removesuffix("\n").split("\n"):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.endswith("\\"):
            pending += line[:-1]
            continue
        line, pending = pending + line, ""
        if line.startswith("["):
            section = line[1:-1]
            found.setdefault(section, [])
        else:
            key, _, value = line.partition("=")
            found[section].append((key.rstrip(), value.lstrip()))
    return found


def service(text: str, *, podman: str) -> str:
    """Generate the service of a container's unit."""
    unit = sections(text)
    container = dict(unit["Container"])
    words = [podman, "run", "--name", container["ContainerName"], "--replace", "--rm", "--cgroups=split"]
    for key, flag in _ONE.items():
        words += [flag, container[key]] if key in container else []
    words += ["--init"] if container.get("RunInit") == "yes" else []
    words += [f"--sdnotify={container['Notify']}", "-d"]
    words += ["--security-opt=no-new-privileges"] if container.get("NoNewPrivileges") == "yes" else []
    words += ["--cap-drop", container["DropCapability"], "--user", f"{container['User']}:{container['Group']}"]
    for key, value in unit["Container"]:
        words += [_LISTED[key], value] if key in _LISTED else []
    environment = dict(
        pair.partition("=")[::2] for key, value in unit["Container"] if key == "Environment" for pair in split(value)
    )
    for name in sorted(environment):
        words += ["--env", f"{name}={environment[name]}"]
    for key in _HEALTH:
        flag = re.sub(r"(?<!^)(?=[A-Z])", "-", key).lower()
        words += [f"--health-{flag}", container[f"Health{key}"]] if f"Health{key}" in container else []
    words += [word for key, value in unit["Container"] if key == "PodmanArgs" for word in split(value)]
    words += [container["Image"], *split(container.get("Exec", ""))]
    kept = [f"[{name}]" for name in ("Unit",)] + [f"{key}={value}" for key, value in unit["Unit"]]
    kept += ["[Service]", *(f"{key}={value}" for key, value in unit["Service"])]
    return "\n".join([*kept, "Type=notify", "NotifyAccess=all", f"ExecStart={join(words)}", ""])
