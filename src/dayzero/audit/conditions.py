"""Does a build hold what a package waits for before its next version?"""

import re

from dayzero.audit.architectures import ModelRegistry
from dayzero.audit.installed import Installed
from dayzero.audit.lacks_name import lacks_name
from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.core.package import ReleaseCondition
from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict


def met(condition: ReleaseCondition, installed: Installed, registry: ModelRegistry | None, settings: Facts) -> Verdict:
    """Look a condition up in a build's files.

    Args:
        condition: What is waited for.
        installed: The build and its libraries.
        registry: Reads the engine's architectures; ``None`` where nothing does.
        settings: The engine's flags.
    """
    match condition.kind:
        case "module":
            return _module(condition.wanted, installed)
        case "symbol":
            return _symbol(condition.wanted, installed)
        case "architecture" if registry is not None:
            return _listed(condition.wanted, registry.read_architectures(installed.engine.files))
        case "architecture":
            return Undecided(f"the architectures of {installed.engine} cannot be read")
        case _:
            return _listed(condition.wanted, settings)


def _module(name: str, installed: Installed) -> Verdict:
    path = re.escape(name.replace(".", "/"))
    wanted = re.compile(rf"{path}(\.py|/__init__\.py|(\.[\w-]+)*\.so)")
    for one in installed.distributions:
        found = next((file for file in one.files.names() if wanted.fullmatch(file)), None)
        if found is not None:
            return Proven(f"{one} has the module {name}", (Place(artifact=one.files.artifact, file=found),))
    return Refuted(f"neither {installed.engine} nor its libraries that were read have a module {name}")


def _symbol(wanted: str, installed: Installed) -> Verdict:
    module, _, name = wanted.partition(":")
    builds = [one.files for one in installed.distributions]
    lacks = lacks_name(builds, module, name).verdict
    match lacks:
        case Proven():
            return Refuted(lacks.reason, lacks.places)
        case Refuted():
            return Proven(lacks.reason, lacks.places)
        case Undecided():
            return lacks


def _listed(wanted: str, facts: Facts) -> Verdict:
    match facts:
        case Unread():
            return Undecided(facts.reason)
        case FactTable():
            place = facts.find(wanted)
            if place is None:
                return Refuted(f"it has no {facts.noun} {wanted}", (facts.place,))
            return Proven(f"it has the {facts.noun} {wanted}", (place,))
