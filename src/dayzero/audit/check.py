"""Put a recipe's questions to the facts of a build."""

import difflib

from dayzero.advisories.model import Advisory
from dayzero.advisories.parse import applies
from dayzero.audit.model import BuildFacts, Check, Facts, FactTable, Remedy, Report, Unread
from dayzero.core.pins import EngineBuild
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict, conjunction

_RESEMBLANCE = 0.5
ARCHITECTURE, SETTING, TENSOR_TYPE = "architecture", "setting", "tensor-type"


def audit(
    recipe: Recipe, build: EngineBuild, facts: BuildFacts, settings: tuple[str, ...], advisories: tuple[Advisory, ...]
) -> Report:
    """Say whether a build can serve a recipe, from the build's own tables.

    Args:
        recipe: What is to be served.
        build: The build in question; it need not be the one that the recipe pins.
        facts: What was read from that build.
        settings: The settings that the recipe's flags set, named as the build names them.
        advisories: Known walls, to name what resolves a refuted check.
    """
    model = recipe.model
    asked = [(ARCHITECTURE, model.architecture, facts.architectures)]
    asked += [(TENSOR_TYPE, name, facts.tensor_types) for name in model.tensor_types]
    asked += [(SETTING, name, facts.settings) for name in settings]
    checks = tuple(
        Check(id=f"{kind}:{name}", question=_question(kind, name), verdict=_look_up(name, table))
        for kind, name, table in asked
    )
    remedies = tuple(
        Remedy(advisory=advisory.id, first_build=advisory.first_build, resolution=advisory.resolution)
        for (kind, name, _), check in zip(asked, checks, strict=True)
        if isinstance(check.verdict, Refuted)
        for advisory in advisories
        if applies(advisory, distribution=build.distribution, version=build.version, check=kind, value=name)
    )
    return Report(
        build=str(build),
        model=model.name,
        checks=checks,
        remedies=remedies,
        beside=facts.beside,
        verdict=conjunction((check.verdict for check in checks), proven=_summary(asked)),
    )


def _question(kind: str, name: str) -> str:
    match kind:
        case "architecture":
            return f"Does the build compute the architecture {name}?"
        case "tensor-type":
            return f"Can its kernels read tensors stored as {name}?"
        case _:
            return f"Does the build take the setting {name}?"


def _look_up(name: str, table: Facts) -> Verdict:
    match table:
        case Unread(noun=noun, reason=reason):
            return Undecided(f"the build's {noun} table was not read: {reason}")
        case FactTable(noun=noun, place=whole):
            place = table.find(name)
            if place is not None:
                return Proven(f"{noun} {name} is in the build", (place,))
            near = difflib.get_close_matches(name, table.names(), n=1, cutoff=_RESEMBLANCE)
            closest = f"; the closest is {near[0]}" if near else ""
            return Refuted(
                f"{noun} {name} is not among the {len(table.entries)} that the build knows{closest}", (whole,)
            )


def _summary(asked: list[tuple[str, str, Facts]]) -> str:
    kinds = [kind for kind, _, _ in asked]
    types, settings = kinds.count(TENSOR_TYPE), kinds.count(SETTING)
    return f"the build has the architecture, all {types} tensor types and all {settings} settings that the recipe uses"
