"""Launches, the deploy files that carry them, and the validators that look at those."""

from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.validator import ask_validator
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.launch import LaunchSpec, Site, at_site
from dayzero.core.verdict import Proven, Verdict
from dayzero.targets.interface import NotCarriedError, Target
from dayzero.targets.proof import prove_text
from dayzero.wiring.definitions import package
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import target, target_names


def launch_of(name: str) -> LaunchSpec:
    """Give the launch of a package, by its name, folder or file."""
    return launch_of_package(package(name))


def ask_validators(chosen: Target, file: Path) -> tuple[tuple[str, Verdict], ...]:
    """Ask each of a target's validators about one written file; one that is not installed leaves it undecided."""
    return tuple(
        (
            validator.name,
            ask_validator(
                validator.command,
                file.parent if validator.folder else file,
                folder_variable=validator.folder_variable,
                beside_the_point=validator.beside_the_point,
            ),
        )
        for validator in chosen.validators
    )


def inputs_read(chosen: Target, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
    """Give what a target's file for this launch reads of the site, as (name, value); what it could read and does not is none."""
    return tuple(
        (name, getattr(spec.site, name))
        for name in chosen.inputs
        if _files(chosen, spec) != _files(chosen, at_site(spec, _other(spec.site, name)))
    )


def _other(site: Site, name: str) -> Site:
    return replace(site, **{name: f"{getattr(site, name)}x"})


def _files(chosen: Target, spec: LaunchSpec) -> tuple[str, object]:
    return chosen.render(spec), chosen.companions(spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A launch as deploy files.

    Attributes:
        files: (path, text) of each, and of the files that stand beside them, by path.
        carried: The targets that have a file in it, as (name, path).
        not_carried: The targets that cannot carry the launch, as (name, why).
        left_out: The targets that could, and were not asked for.
    """

    files: tuple[tuple[str, str], ...]
    carried: tuple[tuple[str, str], ...]
    not_carried: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def deployment(spec: LaunchSpec, wanted: tuple[str, ...] = (), among: tuple[str, ...] = ()) -> Deployment:
    """Render a launch for deploy targets, each proven equal.

    Args:
        spec: The launch.
        wanted: The targets, each of which has to carry it; none for every one that can.
        among: Which targets there are; none for every installed one.

    Raises:
        InputError: A target is not installed, or none can carry the launch.
        NotCarriedError: A target that was asked for cannot carry the launch.
        IntegrityError: A deploy file does not carry the launch word for word, or two targets want other files of one path.
    """
    files: dict[str, str] = {}
    carried, not_carried, left_out = [], [], []
    for name in sorted({*(among or target_names()), *wanted}):
        chosen = target(name)
        try:
            text = chosen.render(spec)
        except NotCarriedError as error:
            if name in wanted:
                raise
            not_carried.append((name, error.message))
            continue
        if wanted and name not in wanted:
            left_out.append(name)
            continue
        verdict = prove_text(spec, chosen, text)
        if not isinstance(verdict, Proven):
            raise IntegrityError(f"{name}: {verdict.reason}", hint="Report this target; nothing was packed.")
        carried.append((name, chosen.file_name(spec)))
        for path, content in ((chosen.file_name(spec), text), *chosen.companions(spec)):
            if files.setdefault(path, content) != content:
                raise IntegrityError(f"{name} writes another {path} than the targets before it", hint="Report this.")
    if not carried:
        reasons = "; ".join(f"{name}: {why}" for name, why in not_carried)
        raise InputError(f"no deploy target can carry this launch: {reasons}", hint="Change the recipe.")
    return Deployment(
        files=tuple(sorted(files.items())),
        carried=tuple(carried),
        not_carried=tuple(not_carried),
        left_out=tuple(left_out),
    )
