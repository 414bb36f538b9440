"""Walk the releases that are newer than the one a package pins, audit each for it, and say what a change would bring."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from dayzero.adapters.artifact_index import IndexStore
from dayzero.adapters.package_files import load_package
from dayzero.audit.conditions import met
from dayzero.audit.finding import NotChecked
from dayzero.audit.installed import Installed
from dayzero.audit.model import Unread
from dayzero.audit.report import Audited
from dayzero.audit.requirements import asked_by
from dayzero.audit.rules import Rule
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.package import Package, ReleaseCondition
from dayzero.core.pins import HubRevision, KernelPin
from dayzero.core.verdict import Proven, Undecided, Verdict
from dayzero.evidence.ledger import LEDGER_NAME
from dayzero.evidence.model import Claim
from dayzero.evidence.state import Standing
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring.audit import ENGINES, Builds, Question, index, model_of, put_to, registry, rules
from dayzero.wiring.collector import uncollected
from dayzero.wiring.definitions import package_file
from dayzero.wiring.plugins import engine, engine_names
from dayzero.wiring.store import open_ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One release, and what audit says of the package on it.

    Attributes:
        version: The release.
        verdict: Can the package be served with it?
        audit: What was found; ``None`` where it could not be read.
        kernels: The package's kernel libraries in the versions that go with it.
        file: Name of its wheel.
        sha256: Digest of that wheel.
    """

    version: str
    verdict: Verdict
    audit: Audited | None = None
    kernels: tuple[KernelPin, ...] = ()
    file: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repin:
    """What newer pins there are for a package.

    Attributes:
        package: The package.
        candidates: The newer releases, newest first.
        conditions: What the package waits for, and whether the newest proven release holds it.
        invalidated: Claims that were measured with the pins as they are.
    """

    package: Package
    candidates: tuple[Candidate, ...]
    conditions: tuple[tuple[ReleaseCondition, Verdict], ...]
    invalidated: tuple[Claim, ...]

    @property
    def newest(self) -> Candidate | None:
        """Give the newest release that is proven."""
        return next((one for one in self.candidates if isinstance(one.verdict, Proven)), None)


def repin(name: str, config: str, *, offline: bool, progress: Callable[[str], None]) -> Repin:
    """Look for newer pins.

    Args:
        name: The package's name, folder or file.
        config: Its model's ``config.json``; ``""`` takes it from the hub that the package names.
        offline: Look only at the releases that are kept here.
        progress: Told what is being done.

    Raises:
        InputError: There is no such package, or its engine's releases cannot be audited.
        RemoteError: The index did not answer.
        IntegrityError: A wheel holds another file than it lists.
    """
    definition = package_file(name)
    package = load_package(definition)
    pinned = package.recipe.engine
    if pinned.engine not in ENGINES or pinned.source is not None:
        raise InputError(
            f"{package.name} pins {pinned}, whose releases are not audited from the index",
            hint=f"Packages on released versions of {' and '.join(ENGINES)} are.",
        )
    store = index(offline=offline)
    offered = store.kept_versions(pinned.distribution) if offline else store.versions(pinned.distribution)
    model, missing = _model(package, config, offline=offline)
    asked = rules()
    found: list[Candidate] = []
    conditions: tuple[tuple[ReleaseCondition, Verdict], ...] = ()
    for version in _newer(offered, pinned.version):
        progress(f"auditing {package.name} on {pinned.distribution} {version}")
        with uncollected(one_of_many=True):
            candidate, installed = _candidate(package, version, store, asked, (model, missing), offline=offline)
            first = not any(isinstance(one.verdict, Proven) for one in found)
            found.append(candidate)
            if isinstance(candidate.verdict, Proven) and first and installed is not None:
                conditions = _conditions(package, installed)
    unproven = tuple((one, Undecided("no newer release is proven")) for one in package.conditions)
    return Repin(
        package=package,
        candidates=tuple(found),
        conditions=conditions or unproven,
        invalidated=_measured(package, definition),
    )


def _newer(offered: tuple[str, ...], pinned: str) -> tuple[str, ...]:
    try:
        held = Version(pinned)
    except InvalidVersion as error:
        raise InputError(f"the package pins no version: {pinned!r}", hint="Pin a released version.") from error
    newer = (one for one in map(Version, offered) if one > held and not one.is_prerelease)
    return tuple(map(str, sorted(newer, reverse=True)))


def _model(package: Package, config: str, *, offline: bool) -> tuple[Mapping[str, object], tuple[NotChecked, ...]]:
    """Give the model's configuration; failing that its architecture alone, and what is then missing."""
    origin = package.recipe.model.origin
    if config:
        return model_of(config, offline=offline), ()
    try:
        if isinstance(origin, HubRevision):
            return model_of(f"{origin.repository}@{origin.revision}", offline=offline), ()
        why = "the package's weights are on no hub"
    except (InputError, RemoteError) as error:
        why = error.message
    missing = NotChecked(what="what depends on the model's config.json", why=f"{why}; give it with --config")
    return {"architectures": [package.recipe.model.architecture]}, (missing,)


def _candidate(  # noqa: PLR0913  (what one release is asked with)
    package: Package,
    version: str,
    store: IndexStore,
    asked: tuple[Rule, ...],
    model: tuple[Mapping[str, object], tuple[NotChecked, ...]],
    *,
    offline: bool,
) -> tuple[Candidate, Installed | None]:
    recipe = package.recipe
    spec = f"{recipe.engine.distribution}=={version}"
    try:
        kept = store.fetch(Requirement(spec))
        bare = Builds(Question(engine=spec, env=dict(recipe.env), offline=offline), _silent)
        kernels = _kernels(package, version, bare.subject(None, None, ()).installed)
        own = tuple(
            f"{one.distribution}=={one.version}" for one in kernels if one.distribution != recipe.engine.distribution
        )
        builds = Builds(Question(engine=spec, beside=own, env=dict(recipe.env), offline=offline), _silent)
        system = recipe.system if recipe.system.accelerators else None
        subject = builds.subject(model[0], system, recipe.flags)
        found = put_to(asked, subject, (*builds.missing, *model[1]))
    except (InputError, RemoteError) as error:
        return Candidate(version=version, verdict=Undecided(error.message)), None
    made = Candidate(
        version=version, verdict=found.verdict, audit=found, kernels=kernels, file=kept.file, sha256=kept.pack.stem
    )
    return made, subject.installed


def _silent(_: str) -> None:
    """Say nothing."""


def _kernels(package: Package, version: str, installed: Installed) -> tuple[KernelPin, ...]:
    """Give the package's kernel libraries as the release pins them; one that it does not pin stays as it is."""
    exact = {one.name: one.exact for one in asked_by(installed.engine) if one.exact}
    engine_name = package.recipe.engine.distribution
    return tuple(
        replace(one, version=version if one.distribution == engine_name else exact.get(one.distribution, one.version))
        for one in package.recipe.kernels
    )


def _conditions(package: Package, installed: Installed) -> tuple[tuple[ReleaseCondition, Verdict], ...]:
    name = package.recipe.engine.engine
    settings = (
        engine(name).read_settings(installed.engine.files)
        if name in engine_names() and any(one.kind == "flag" for one in package.conditions)
        else Unread(noun="setting", reason=f"the flags of {name} cannot be read")
    )
    return tuple((one, met(one, installed, registry(name), settings)) for one in package.conditions)


def _measured(package: Package, definition: Path) -> tuple[Claim, ...]:
    """Give the claims that stand and whose subject is the recipe as it is."""
    subject = recipe_digest(package.recipe)
    for folder in (definition.parent / "evidence", definition.resolve().parents[2] / "evidence"):
        if (folder / LEDGER_NAME).is_file():
            standing = (
                state.claim for state in open_ledger(folder).standings().values() if isinstance(state, Standing)
            )
            return tuple(one for one in standing if isinstance(one, Claim) and one.subject == subject)
    return ()
