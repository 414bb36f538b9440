"""What every deploy target asks of a launch before it writes one word."""

import re
import unicodedata

from dayzero.core.errors import InputError
from dayzero.core.launch import HubModel, LaunchSpec, Placeholder
from dayzero.targets.interface import NotCarriedError

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PROGRAM = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HTTP_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+")
# Every target starts the engine without the right to listen on a lower one.
_FIRST_PORT, _LAST_PORT = 1024, 65535
# Linux, MAX_ARG_STRLEN: 32 pages, less the byte that ends it. All words together, escaped for systemd, fit in one line of a unit.
_LONGEST_WORD, _MOST_BYTES = 131_071, 256 * 1024
_MOST = {"memory_bytes": 2**60, "shared_memory_bytes": 2**60, "accelerators": 1024}
_HUB_ELSEWHERE = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")  # huggingface_hub 1.0, constants.py

SEVERAL_NODES = ("leader-worker-set", "slurm-pyxis", "slurm-apptainer", "skypilot")


def require_carriable(spec: LaunchSpec) -> None:
    """Refuse a launch that some deploy file would carry changed.

    Raises:
        InputError: Names what cannot be carried.
    """
    _require_words(spec)
    _require_environment(spec)
    _require_service(spec)
    _require_sizes(spec)
    for file in spec.model.files:
        if "\\" in file.path or not _is_plain_text(file.path):
            raise InputError(
                f"a checksum list cannot carry the path of a weights file: {file.path!r}",
                hint="Rename the file without backslashes and control characters.",
            )


def require_one_node(spec: LaunchSpec) -> None:
    """Refuse a launch on several nodes, for a target that carries one.

    Raises:
        NotCarriedError: Names the targets that carry several.
    """
    if spec.nodes.count > 1:
        raise NotCarriedError(
            f"this kind of file starts one node, and the launch takes {spec.nodes.count}",
            hint=f"Use one of the targets that carry several: {', '.join(SEVERAL_NODES)}.",
        )


def require_wheels(spec: LaunchSpec) -> None:
    """Refuse a launch whose environment no wheel can make, for a target that starts the engine outside a container.

    Raises:
        NotCarriedError: Names what the launch has instead.
    """
    if not (spec.wheels or spec.lock):
        has = "an image" if spec.image else "a commit to build from"
        raise NotCarriedError(
            f"this kind of file installs the engine from hash-locked wheels, and the launch has {has}",
            hint="Use a target that runs a container, or pin wheels.",
        )


def _require_words(spec: LaunchSpec) -> None:
    if not spec.argv or not _PROGRAM.fullmatch(spec.argv[0]):
        raise InputError(
            f"the launch does not start with a plain program: {spec.argv[:1]!r}",
            hint="Start it with a name or path of letters, digits and _ . / + -.",
        )
    of_nodes = (word for word in (*spec.nodes.leader, *spec.nodes.worker) if not isinstance(word, Placeholder))
    for word in (*spec.argv, *of_nodes):
        if not _is_plain_text(word):
            raise InputError(
                f"a launch argument holds a control character or is not Unicode text: {word!r}",
                hint="Put the text into a file and pass the file's path.",
            )


def _require_environment(spec: LaunchSpec) -> None:
    for name, value in spec.env:
        if not _VARIABLE.fullmatch(name):
            raise InputError(
                f"not the name of an environment variable in every deploy file: {name!r}",
                hint="Use letters, digits and _, not starting with a digit.",
            )
        if not _is_plain_text(value):
            raise InputError(
                f"the environment variable {name} holds a control character or is not Unicode text: {value!r}",
                hint="Put the text into a file and pass the file's path.",
            )

    elsewhere = sorted(set(_HUB_ELSEWHERE) & set(dict(spec.env)))
    if elsewhere and isinstance(spec.model, HubModel):
        raise InputError(
            f"the launch moves the hub's cache away from the folder that the site gives it: {', '.join(elsewhere)}",
            hint="Take it out of the recipe's environment, and give the folder with --site cache=FOLDER.",
        )


def _require_service(spec: LaunchSpec) -> None:
    if not _NAME.fullmatch(spec.name):
        raise InputError(
            f"not a service name: {spec.name!r}",
            hint="Use up to 63 lower-case letters, digits and -, starting with a letter and not ending with -.",
        )
    if not _DISTRIBUTION.fullmatch(spec.distribution):
        raise InputError(f"not a pinned distribution: {spec.distribution!r}", hint="Give name==version.")
    for path in (spec.health_path, spec.ready_path):
        if not _HTTP_PATH.fullmatch(path):
            raise InputError(f"not a plain HTTP path: {path!r}", hint="Give a path such as /health.")
    if spec.image and not _IMAGE.fullmatch(spec.image):
        raise InputError(
            f"the image is not pinned by digest: {spec.image!r}",
            hint="Give repository@sha256:..., or leave it out to build from the Dockerfile.",
        )
    if not (spec.image or spec.wheels or spec.lock or spec.source):
        raise InputError(
            f"no digest names the engine {spec.distribution}",
            hint="Pin a wheel by its SHA-256, an image by its digest, or the commit that it is built from.",
        )
    if not _FIRST_PORT <= spec.port <= _LAST_PORT:
        raise InputError(
            f"not a TCP port for an engine without privileges: {spec.port}",
            hint=f"Give a number from {_FIRST_PORT} to {_LAST_PORT}.",
        )


def _require_sizes(spec: LaunchSpec) -> None:
    for name, least in (("memory_bytes", 1), ("accelerators", 0), ("shared_memory_bytes", 0)):
        if not least <= getattr(spec, name) <= _MOST[name]:
            raise InputError(
                f"{name} of the launch is {getattr(spec, name)}",
                hint=f"Give a whole number from {least} to {_MOST[name]}.",
            )
    sizes = [len(text.encode()) for text in (*spec.argv, *(f"{name}={value}" for name, value in spec.env))]
    if max(sizes) > _LONGEST_WORD or sum(sizes) > _MOST_BYTES:
        raise InputError(
            f"the longest of the launch's words has {max(sizes)} bytes, and all have {sum(sizes)}",
            hint=f"Put the text into a file: a word may have {_LONGEST_WORD} bytes, and all together {_MOST_BYTES}.",
        )


def _is_plain_text(text: str) -> bool:
    # Surrogates have no UTF-8 form; of the control characters only the tab survives every format.
    return all(letter == "\t" or unicodedata.category(letter) not in {"Cc", "Cs"} for letter in text)
