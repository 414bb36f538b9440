"""``dayzero audit PACKAGE``: a package against a build that it pins."""

from collections.abc import Mapping

from dayzero.audit.model import Check, Report
from dayzero.bringup.laboratory import tell_audit
from dayzero.cli.main import exit_code
from dayzero.cli.output import print_json
from dayzero.cli.story import ConsoleNarrator
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild
from dayzero.core.verdict import Place, verdict_word
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import definitions, laboratory


def audit_package(package: str, engine: str, output_format: str) -> int:
    """Audit a package against the build that it pins, or against one of a wall, and print the answer.

    Args:
        package: Its name, folder or file.
        engine: ``NAME==VERSION`` of the build, ``""`` for the recipe's own.
        output_format: ``text`` or ``json``.
    """
    definition = definitions.package(package)
    report = laboratory.audit_build(definition.recipe, _build(definition, engine))
    if output_format == "json":
        print_json({**document(report), "recipe": recipe_digest(definition.recipe).hex})
    else:
        narrator = ConsoleNarrator(steps=1)
        narrator.step("audit", f"{report.build} for {report.model}")
        if report.beside:
            narrator.say("beside", report.beside)
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
        "beside": report.beside,
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
