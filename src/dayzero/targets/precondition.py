"""What every deploy target asks of a launch before it writes one word."""

import re
import unicodedata

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PROGRAM = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEALTH_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+")
_LAST_PORT = 65535


def require_carriable(spec: LaunchSpec) -> None:
    """Refuse a launch that some deploy file would carry changed.

    Raises:
        InputError: Names what cannot be carried.
    """
    _require_words(spec)
    _require_environment(spec)
    _require_service(spec)
    for file in spec.model_files:
        if "\\" in file.path or not _is_plain_text(file.path):
            raise InputError(
                f"a checksum list cannot carry the path of a weights file: {file.path!r}",
                hint="Rename the file without backslashes and control characters.",
            )


def _require_words(spec: LaunchSpec) -> None:
    if not spec.argv or not _PROGRAM.fullmatch(spec.argv[0]):
        raise InputError(
            f"the launch does not start with a plain program: {spec.argv[:1]!r}",
            hint="Start it with a name or path of letters, digits and _ . / + -.",
        )
    for word in spec.argv:
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


def _require_service(spec: LaunchSpec) -> None:
    if not _NAME.fullmatch(spec.name):
        raise InputError(
            f"not a service name: {spec.name!r}",
            hint="Use up to 63 lower-case letters, digits and -, starting with a letter and not ending with -.",
        )
    if not _DISTRIBUTION.fullmatch(spec.distribution):
        raise InputError(f"not a pinned distribution: {spec.distribution!r}", hint="Give name==version.")
    if not _HEALTH_PATH.fullmatch(spec.health_path):
        raise InputError(f"not a plain health path: {spec.health_path!r}", hint="Give a path such as /health.")
    if spec.image and not _IMAGE.fullmatch(spec.image):
        raise InputError(
            f"the image is not pinned by digest: {spec.image!r}",
            hint="Give repository@sha256:..., or leave it out to build from the Dockerfile.",
        )
    if not 1 <= spec.port <= _LAST_PORT:
        raise InputError(f"not a TCP port: {spec.port}", hint=f"Give a number from 1 to {_LAST_PORT}.")
    for field in ("start_budget_s", "stop_budget_s", "memory_bytes"):
        if getattr(spec, field) < 1:
            raise InputError(
                f"{field} of the launch is {getattr(spec, field)}", hint="Give a whole number of at least 1."
            )


def _is_plain_text(text: str) -> bool:
    # Surrogates have no UTF-8 form; of the control characters only the tab survives every format.
    return all(letter == "\t" or unicodedata.category(letter) not in {"Cc", "Cs"} for letter in text)
