r"""Docker image: ``Dockerfile``, the image of one launch, from a pinned commit, a pinned image or the hash-locked wheels.

The same text stands beside every container target whose launch names no image, and is a target of its own: the image, run
alone, starts the launch flag for flag.

Escape rules: ``ENTRYPOINT`` and ``CMD`` are JSON (exec form), in which nothing is expanded; ``ENV`` values stand in double
quotes with ``"`` and ``$`` escaped, and each ``\`` escaped outside them (moby/buildkit, frontend/dockerfile/shell/lex.go).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, LaunchSpec, LocalModel, Nodes, Unchecked, apply_deltas
from dayzero.core.pins import Commit, SourceBuild
from dayzero.targets.container import USER_ID, WORK_FOLDER, container_deltas, header, literal
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.probe import health_probe

FILE_NAME = "Dockerfile"
# moby/buildkit, frontend/dockerfile/parser: bufio.Scanner's own, bufio.MaxScanTokenSize.
_LONGEST_LINE = 65_535

_PYTHON = "python:3.11-slim-bookworm"
# A source build for GPUs compiles CUDA code, and Triton and FlashInfer compile more of it while they serve.
_CUDA = "nvidia/cuda:13.0.2-devel-ubuntu24.04"
_PINNED = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_REPOSITORY = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~-]+)+")
_FETCH = re.compile(rf"    && git fetch --quiet --depth 1 ({_REPOSITORY.pattern}) ([0-9a-f]{{40}}) \\")
_VERSION = re.compile(r"    && SETUPTOOLS_SCM_PRETEND_VERSION=([A-Za-z0-9.!+_-]+) .*")
_FROM = re.compile(r"FROM (\S+)")
_PIP = "python3 -m pip install --no-cache-dir --disable-pip-version-check"
_FROM_LOCK = " --no-deps --require-hashes -r requirements.lock"
_SOURCE_FOLDER = "/usr/src/engine"

# A value in double quotes, which are closed around each backslash: hadolint takes \\" for an open quote.
_ESCAPES = {'"': r"\"", "$": r"\$", "\\": r'"\\"'}
_ENV = re.compile(r'ENV ([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\$]|\\["$]|"\\\\")*)"')
_ESCAPED = re.compile(r'\\(["$])|"\\(\\)"')
_DIRECTIVE = re.compile(r"#\s*[A-Za-z]+\s*=.*")
_STARTS = "# What the image starts: the launch, word for word. The weights are mounted."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Build:
    """What decides how the engine comes into the image.

    Attributes:
        base: Image that it is built on.
        source: The commit that it is built from, where it is; else the base holds it, or the lock does.
        version: Version that a source build takes for its own.
        locked: Whether everything else comes from the hash-locked requirements.
    """

    base: str
    source: SourceBuild | None
    version: str
    locked: bool


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The image as a target of its own: ``docker run`` of it, without a word more, starts the launch."""

    name: str = "dockerfile"
    inputs: tuple[str, ...] = ()
    validators: tuple[Validator, ...] = (Validator(command=("hadolint", "--no-color")),)

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return FILE_NAME

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:  # noqa: ARG002  (no launch needs one)
        """Give nothing: the kit's own files suffice."""
        return ()

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare what every container differs in, and that an image alone cannot check what is mounted later."""
        unchecked = Unchecked(
            "an image is built before the weights are mounted; a deploy file that runs it checks them"
        )
        of_the_kit = (unchecked,) if isinstance(spec.model, LocalModel) else ()
        return (*container_deltas(spec, who="a published port"), *of_the_kit)

    def render(self, spec: LaunchSpec) -> str:
        """Write the ``Dockerfile``.

        Raises:
            InputError: The file cannot carry the launch word for word, or the source is at no address that git fetches from.
        """
        require_one_node(spec)
        require_carriable(spec)
        if spec.source and not _REPOSITORY.fullmatch(spec.source.repository):
            raise InputError(
                f"not an address that git fetches a commit from: {spec.source.repository!r}",
                hint="Give an https address without user, query or fragment.",
            )
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        lines = (*_build_lines(_build_of(spec)), "", _STARTS, *_start_lines(spec, command))
        if max(len(line.encode()) for line in lines) > _LONGEST_LINE:
            raise NotCarriedError(
                f"a line of the Dockerfile would have more than the {_LONGEST_LINE} bytes that BuildKit reads",
                hint="Put the longest text of the launch into a file and pass the file's path.",
            )
        return header(spec, deltas) + "\n".join(lines) + "\n"

    def parse(self, text: str) -> Commands:
        """Read the ``Dockerfile`` back: what it builds and what it starts.

        Raises:
            InputError: The text is not a Dockerfile of this target.
        """
        build, mark, start = text.partition(f"\n\n{_STARTS}\n")
        _require_build(build.split("\n"))
        match start.split("\n"):
            case [*variables, port, health, "STOPSIGNAL SIGTERM", user, entrypoint, command, ""] if (
                mark and port.startswith("EXPOSE ") and health.startswith("HEALTHCHECK ") and user == _USER
            ):
                argv = (*_exec_form(entrypoint, "ENTRYPOINT "), *_exec_form(command, "CMD "))
                return Commands(leader=Command(argv=argv, env=tuple(map(_variable, variables))))
            case _:
                raise InputError("the Dockerfile does not end in one launch", hint="Render the file again.")


TARGET = Dockerfile()

_USER = f"USER {USER_ID}:{USER_ID}"


def companions_of(spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
    """Give the Dockerfile as a companion, where the launch names no image.

    Nodes that share one launch share one image; each gets its own words from the deploy file.
    """
    return () if spec.image else ((FILE_NAME, TARGET.render(replace(spec, nodes=Nodes()))),)


def _build_of(spec: LaunchSpec) -> _Build:
    base = spec.image or (_CUDA if spec.source and spec.accelerators else _PYTHON)
    _, _, version = spec.distribution.partition("==")
    locked = bool(spec.lock) if spec.source else not spec.image
    return _Build(base=base, source=spec.source, version=version if spec.source else "", locked=locked)


def _build_lines(build: _Build) -> Iterator[str]:
    if not _PINNED.fullmatch(build.base):
        yield "# The base is named by its tag: no digest was resolved when this was written. To pin it, put the digest after it."
    yield f"FROM {build.base}"
    yield ""
    if build.source or build.locked:
        yield from _system_lines(build)
        yield f"RUN useradd --no-log-init --uid {USER_ID} --create-home engine"
    yield f"WORKDIR {WORK_FOLDER}"
    if build.locked:
        yield "COPY requirements.lock ./"
        yield f"RUN {_pip(build)}{_FROM_LOCK}"
    if build.source:
        yield from _source_lines(build, build.source)
    yield "# Named with a file that always exists, because a launch may bring no Python file of its own."
    yield "COPY requirements.lock *.py ./"


def _system_lines(build: _Build) -> Iterator[str]:
    packages = "libgomp1"
    if build.source:
        packages = "build-essential ca-certificates git"
    if build.base == _CUDA:
        packages += " python3-dev python3-pip"
    yield "# What engines load or compile with from the system; the versions are the base image's."
    yield "# hadolint ignore=DL3008"
    yield "RUN apt-get update \\"
    yield f"    && apt-get install --yes --no-install-recommends {packages} \\"
    yield "    && rm -rf /var/lib/apt/lists/*"


def _source_lines(build: _Build, source: SourceBuild) -> Iterator[str]:
    # What the lock holds is not resolved again; without one, the commit's own requirements decide.
    how = " --no-deps --no-build-isolation" if build.locked else ""
    if not build.locked:
        yield "# No lock was given: pip chooses the versions of what the commit requires when the image is built."
    yield "# Build argument: how many compilers run at once. It changes nothing in what is built."
    yield "ARG MAX_JOBS=8"
    yield f"WORKDIR {_SOURCE_FOLDER}"
    yield "# Exactly one commit, compared with its name once it is here; fetched alone, it has no tag to tell its version from."
    yield "RUN git init --quiet . \\"
    yield f"    && git fetch --quiet --depth 1 {source.repository} {source.commit} \\"
    yield "    && git checkout --quiet --detach FETCH_HEAD \\"
    yield f'    && test "$(git rev-parse HEAD)" = {source.commit} \\'
    yield "    && git submodule --quiet update --init --recursive --depth 1 \\"
    yield f"    && SETUPTOOLS_SCM_PRETEND_VERSION={build.version} {_pip(build)}{how} . \\"
    yield f"    && rm -rf {_SOURCE_FOLDER}/build"
    yield f"WORKDIR {WORK_FOLDER}"


def _pip(build: _Build) -> str:
    # Distributions let pip into their own Python only when told to; a pip that does not know the variable needs none.
    return _PIP if build.base == _PYTHON else f"PIP_BREAK_SYSTEM_PACKAGES=1 {_PIP}"


def _start_lines(spec: LaunchSpec, command: Command) -> Iterator[str]:
    program, *arguments = literal(command.argv)
    for name, value in command.env:
        yield f'ENV {name}="{"".join(_ESCAPES.get(letter, letter) for letter in value)}"'
    yield f"EXPOSE {spec.port}"
    limits = f"--interval=10s --timeout=10s --start-period={spec.budgets.start_s}s --retries=3"
    yield f"HEALTHCHECK {limits} CMD {_words(health_probe(spec))}"
    yield "STOPSIGNAL SIGTERM"
    yield _USER
    yield f"ENTRYPOINT {_words((program,))}"
    yield f"CMD {_words(tuple(arguments))}"


def _words(words: tuple[str, ...]) -> str:
    return json.dumps(words).replace(r"\\", r"\u005c")


def _require_build(lines: list[str]) -> None:
    """Refuse a build that is not, line for line, the one that its base, commit and version give."""
    comments = [line for line in lines if line.startswith("#")]
    base, source, version = (_first(pattern, lines) for pattern in (_FROM, _FETCH, _VERSION))
    if not base or any(_DIRECTIVE.fullmatch(line) for line in comments):
        raise InputError("the Dockerfile names no base image, or has a directive", hint="Render the file again.")
    build = _Build(
        base=base[1],
        source=SourceBuild(repository=source[1], commit=Commit(source[2])) if source else None,
        version=version[1] if version else "",
        locked=any(line.endswith(_FROM_LOCK) for line in lines),
    )
    expected = list(_build_lines(build))
    if build.base not in {_PYTHON, _CUDA} and not _PINNED.fullmatch(build.base):
        raise InputError(f"the base image is not pinned by digest: {build.base!r}", hint="Render the file again.")
    head = lines[: -len(expected)]
    if not head or lines[len(head) :] != expected or any(not line.startswith("# ") for line in head):
        raise InputError("the Dockerfile does not build what a rendered one builds", hint="Render the file again.")


def _first(pattern: re.Pattern[str], lines: list[str]) -> re.Match[str] | None:
    return next((match for match in map(pattern.fullmatch, lines) if match), None)


def _exec_form(line: str, instruction: str) -> tuple[str, ...]:
    try:
        words = json.loads(line.removeprefix(instruction))
    except ValueError:
        words = None
    if not line.startswith(instruction) or not isinstance(words, list) or any(type(word) is not str for word in words):
        raise InputError(f"not {instruction}as a list of words: {line!r}", hint="Render the file again.")
    return tuple(words)


def _variable(line: str) -> tuple[str, str]:
    match = _ENV.fullmatch(line)
    if not match:
        raise InputError(
            f"not one variable, quoted so that nothing is expanded: {line!r}", hint="Render the file again."
        )
    return match[1], _ESCAPED.sub(lambda found: found[1] or found[2], match[2])
