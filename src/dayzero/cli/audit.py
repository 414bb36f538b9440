"""``dayzero audit``: can this build serve this model, before it is started?"""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero import __version__
from dayzero.audit.document import document, sarif
from dayzero.cli.audit_text import audit_lines
from dayzero.cli.console import stderr_console
from dayzero.cli.main import exit_code
from dayzero.cli.output import print_json
from dayzero.core.errors import InputError
from dayzero.wiring import audit as wiring

_NARROWEST, _WIDEST = 60, 120


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is installed, and on what it runs.

    Attributes:
        engine: The engine: NAME==VERSION, a wheel, an sdist, a folder of wheels, an environment, a source checkout or a URL.
        beside: What is installed beside it, written as the engine is; may be given several times.
        system: The GPUs, 8xb300, or 2x8xh200 for two nodes of eight.
        freeze: The output of pip freeze: which versions are installed.
        cubins: A folder of kernel binaries.
        env: An environment variable of the engine, NAME=VALUE; may be given several times.
        offline: Use what is kept here, and do not ask the package index.
        everything: List also what does not concern this model, GPU and flags.
        against: A folder of recipes, each of which is audited; then engine stands for what names no release.
    """

    engine: str = ""
    beside: Annotated[tuple[str, ...], cyclopts.Parameter(name="--with", negative="")] = ()
    system: str = ""
    freeze: Path | None = None
    cubins: Path | None = None
    env: Annotated[tuple[str, ...], cyclopts.Parameter(name="--env", negative="")] = ()
    offline: Annotated[bool, cyclopts.Parameter(negative="")] = False
    everything: Annotated[bool, cyclopts.Parameter(name="--all", negative="")] = False
    against: Path | None = None


_NOTHING = Asked()


def audit(
    target: str = "",
    /,
    *flags: Annotated[
        str, cyclopts.Parameter(help="After --: the engine's own flags, as its command line takes them.")
    ],
    asked: Asked = _NOTHING,
    output_format: Annotated[
        Literal["text", "json", "sarif"],
        cyclopts.Parameter(name="--output-format", help="How the result is written to stdout."),
    ] = "text",
) -> int:
    """Prove from released files alone whether a build can serve a model, before a GPU is booked.

    Exit code 0: nothing stops it. 1: something does. 3: undecided. A package is audited against the build that it pins.

    Args:
        target: A model's config.json, its folder, its name on the hub (owner/name@revision), or a package; may be left out.
        flags: The engine's own flags.
        asked: What is installed, and on what it runs.
        output_format: How the result is written to stdout.
    """
    if asked.against is not None:
        from dayzero.cli.audit_folder import audit_recipes  # noqa: PLC0415  (what reads recipes is not loaded for one model)

        return audit_recipes(asked.against, _question(target, flags, asked), output_format)
    if target and _is_package(target):
        if replace(asked, engine="") != _NOTHING or flags or output_format == "sarif":
            raise InputError(
                f"{target} is a package, which pins what it runs on", hint="Give the model's config.json instead."
            )
        from dayzero.cli.audit_package import audit_package  # noqa: PLC0415  (what starts engines takes long to load)

        return audit_package(target, asked.engine, output_format)
    question = _question(target, flags, asked)
    console = stderr_console()
    with console.status("") as status:
        found, subject, rules = wiring.answered(question, status.update)
    name = _model_name(target)
    if output_format == "json":
        print_json(document(found, subject, name))
    elif output_format == "sarif":
        print_json(sarif(found, rules, __version__))
    else:
        width = max(_NARROWEST, min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST))
        print("\n".join(audit_lines(found, subject, name, everything=asked.everything, width=width)))
    return exit_code(found.verdict)


def _question(target: str, flags: tuple[str, ...], asked: Asked) -> wiring.Question:
    return wiring.Question(
        target=target,
        engine=asked.engine,
        beside=asked.beside,
        system=asked.system,
        freeze=asked.freeze,
        cubins=asked.cubins,
        flags=flags,
        env=dict(map(_variable, asked.env)),
        offline=asked.offline,
    )


def _is_package(target: str) -> bool:
    path = Path(target)
    if path.suffix == ".json" or wiring.on_hub(target) is not None:
        return False
    return not path.is_dir() or (path / "package.toml").is_file()


def _model_name(target: str) -> str:
    path = Path(target)
    return path.resolve().parent.name if path.name == "config.json" else path.stem


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"not an environment variable: {text!r}", hint="Write NAME=VALUE.")
    return name, value
