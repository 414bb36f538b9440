"""``dayzero audit``: can this build serve this model, before it is started?"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero import __version__
from dayzero.audit.document import document as subject_document
from dayzero.audit.document import sarif
from dayzero.audit.model import Check, Report
from dayzero.bringup.laboratory import tell_audit
from dayzero.cli.audit_text import audit_lines
from dayzero.cli.console import stderr_console
from dayzero.cli.main import exit_code
from dayzero.cli.output import print_json
from dayzero.cli.story import ConsoleNarrator
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild
from dayzero.core.verdict import Place, verdict_word
from dayzero.wiring import audit as wiring
from dayzero.wiring import definitions, laboratory

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
    """

    engine: str = ""
    beside: Annotated[tuple[str, ...], cyclopts.Parameter(name="--with", negative="")] = ()
    system: str = ""
    freeze: Path | None = None
    cubins: Path | None = None
    env: Annotated[tuple[str, ...], cyclopts.Parameter(name="--env", negative="")] = ()
    offline: Annotated[bool, cyclopts.Parameter(negative="")] = False
    everything: Annotated[bool, cyclopts.Parameter(name="--all", negative="")] = False


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
        target: A model's config.json, its folder, or a package; without one, the engine and its libraries alone.
        flags: The engine's own flags.
        asked: What is installed, and on what it runs.
        output_format: How the result is written to stdout.
    """
    if target and _is_package(target):
        if replace(asked, engine="") != _NOTHING or flags or output_format == "sarif":
            raise InputError(
                f"{target} is a package, which pins what it runs on", hint="Give the model's config.json instead."
            )
        return _package(target, asked.engine, output_format)
    question = wiring.Question(
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
    console = stderr_console()
    with console.status("") as status:
        found, subject, rules = wiring.answered(question, status.update)
    name = _model_name(target)
    if output_format == "json":
        print_json(subject_document(found, subject, name))
    elif output_format == "sarif":
        print_json(sarif(found, rules, __version__))
    else:
        width = max(_NARROWEST, min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST))
        print("\n".join(audit_lines(found, subject, name, everything=asked.everything, width=width)))
    return exit_code(found.verdict)


def _is_package(target: str) -> bool:
    path = Path(target)
    if path.suffix == ".json":
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


def _package(package: str, engine: str, output_format: str) -> int:
    definition = definitions.package(package)
    report = laboratory.audit_build(definition.recipe, _build(definition, engine))
    if output_format == "json":
        print_json(document(report))
    else:
        narrator = ConsoleNarrator(steps=1)
        narrator.step("audit", f"{report.build} for {report.model}")
        tell_audit(report, narrator)
        for remedy in report.remedies:
            narrator.say("resolution", remedy.resolution)
        for check in report.checks:
            places = f" ({check.verdict.places[0]})" if check.verdict.places else ""
            narrator.say(verdict_word(check.verdict), f"{check.question}{places}")
    return exit_code(report.verdict)


def document(report: Report) -> Mapping[str, object]:
    """Write an audit as a JSON document."""
    return {
        "schema": "dayzero/audit/v1",
        "build": report.build,
        "model": report.model,
        "verdict": verdict_word(report.verdict),
        "reason": report.verdict.reason,
        "checks": [check_document(check) for check in report.checks],
        "remedies": [
            {"advisory": remedy.advisory, "first_build": remedy.first_build, "resolution": remedy.resolution}
            for remedy in report.remedies
        ],
    }


def check_document(check: Check) -> Mapping[str, object]:
    """Write one question and its answer as a JSON document."""
    return {
        "id": check.id,
        "question": check.question,
        "verdict": verdict_word(check.verdict),
        "reason": check.verdict.reason,
        "places": [_place(place) for place in check.verdict.places],
    }


def _place(place: Place) -> Mapping[str, str]:
    return {"artifact": place.artifact, "file": place.file, "position": place.position, "quote": place.quote}


def _build(definition: Package, asked: str) -> EngineBuild:
    pinned = (definition.recipe.engine, *(wall.build for wall in definition.walls))
    if not asked:
        return pinned[0]
    for build in pinned:
        if str(build) == asked:
            return build
    raise InputError(
        f"{definition.name} pins no build {asked!r}", hint=f"Use one of: {', '.join(str(build) for build in pinned)}."
    )
