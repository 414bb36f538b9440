"""Look at a command line before it is started: launch, the build's files, audit, fit, and whether it is still the model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dayzero.adapters.builds import WheelFiles
from dayzero.adapters.machine import host_memory
from dayzero.adapters.package_files.rewrite import with_flags
from dayzero.audit.model import FactTable, Unread
from dayzero.audit.report import Audited, audited, refutes
from dayzero.core.errors import DayzeroError, InputError
from dayzero.core.package import Package
from dayzero.core.pins import HubRevision
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Refuted, Undecided, Verdict
from dayzero.engines.command_line import given
from dayzero.engines.construction import facts_of
from dayzero.fit.check import fit_host
from dayzero.gates.construction import Given, flag_changes
from dayzero.optimize.model import Refusal
from dayzero.wiring import fit
from dayzero.wiring.audit import ENGINES, Builds, Question, model_of, rules
from dayzero.wiring.collector import uncollected
from dayzero.wiring.laboratory import build_store, weights, weights_cache
from dayzero.wiring.launches import launch_of_recipe
from dayzero.wiring.optimize_files import put_definition
from dayzero.wiring.plugins import engine

_CONFIG = "config.json"


@dataclass(slots=True)
class Judge:
    """Says why a command line is not started.

    Args:
        package: The package as it is.
        definition: Its file.
        scratch: A folder for the definition of what is looked at.
        build: The engine's files for the audit, ``""`` for the package's own pin.
        offline: Whether no index is asked.
        lossy: Whether flags that change what is computed are let through.
        progress: Told what is being read.
    """

    package: Package
    definition: Path
    scratch: Path
    build: str = ""
    offline: bool = False
    lossy: bool = False
    progress: Callable[[str], None] = lambda _: None
    notes: dict[str, None] = field(default_factory=dict)
    _asked: dict[tuple[str, ...], Refusal | None] = field(default_factory=dict)
    _audit: "_Audit | None" = None
    _table: FactTable | Unread | None = None

    def look(self, flags: tuple[str, ...]) -> Refusal | None:
        """Ask everybody, the cheapest first; each command line once."""
        if flags not in self._asked:
            recipe = replace(self.package.recipe, flags=flags)
            self._asked[flags] = (
                self._launch(recipe)
                or self._built(recipe)
                or self._model(recipe)
                or self._audited(recipe)
                or self._fits(recipe)
            )
        return self._asked[flags]

    def _launch(self, recipe: Recipe) -> Refusal | None:
        try:
            launch_of_recipe(recipe)
            engine(recipe.engine.engine).settings_in(recipe.flags)
        except InputError as error:
            return Refusal("launch", error.message)
        return None

    def _built(self, recipe: Recipe) -> Refusal | None:
        """Hold the settings to the build's own table; engines with audit rules have them hold the flags."""
        plugin, build = engine(recipe.engine.engine), recipe.engine
        if build.engine in ENGINES:
            return None
        if self._table is None:
            try:
                self._table = plugin.read_settings(WheelFiles(artifact=str(build), wheel=build_store().wheel(build)))
            except DayzeroError as error:
                self._table = Unread(noun="setting", reason=error.message)
        if isinstance(self._table, Unread):
            self.notes[f"no flag was held to the build: {self._table.reason}"] = None
            return None
        own = set(plugin.settings_in(self.package.recipe.flags))
        lacking = [one for one in plugin.settings_in(recipe.flags) if one not in own and not self._table.find(one)]
        return Refusal("build", f"{build} has no setting {lacking[0]} ({self._table.place})") if lacking else None

    def _model(self, recipe: Recipe) -> Refusal | None:
        facts = facts_of(recipe.engine.engine)
        if facts is None:
            self.notes["nothing is known of which flags of this engine change what is computed"] = None
            return None
        before = flag_changes(recipe.model, _given(self.package.recipe.flags), facts)
        changes = [one for one in flag_changes(recipe.model, _given(recipe.flags), facts) if one not in before]
        if not changes or self.lossy:
            return None
        return Refusal("model", f"it would not be the same model: {changes[0]}")

    def _audited(self, recipe: Recipe) -> Refusal | None:
        if recipe.engine.engine not in ENGINES:
            return None
        if self._audit is None:
            self._audit = _Audit(self.package, self.definition, self.build, self.progress, offline=self.offline)
            self.notes |= dict.fromkeys(self._audit.notes)
        found = self._audit.new_findings(recipe)
        return Refusal("audit", found) if found else None

    def _fits(self, recipe: Recipe) -> Refusal | None:
        try:
            verdict = self._fit_gpus(recipe) if recipe.system.accelerators else _fit_host(recipe)
        except DayzeroError as error:
            verdict = Undecided(error.message)
        if isinstance(verdict, Refuted):
            return Refusal("fit", verdict.reason)
        if isinstance(verdict, Undecided):
            self.notes[f"fit: {verdict.reason}"] = None
        return None

    def _fit_gpus(self, recipe: Recipe) -> Verdict:
        text = with_flags(self.definition.read_text(encoding="utf-8"), recipe.flags)
        put_definition(text, self.definition, self.scratch)
        found = fit.answer(fit.Question(target=str(self.scratch)))
        return (found.predicted or found.report).verdict


class _Audit:
    """The audit rules, asked of one build; what they find of the package as it is is no reason against a change.

    Args:
        package: The package as it is.
        definition: Its file.
        build: The engine's files, ``""`` for the package's pin.
        progress: Told what is being read.
        offline: Whether no index is asked.
    """

    def __init__(
        self, package: Package, definition: Path, build: str, progress: Callable[[str], None], *, offline: bool
    ) -> None:
        recipe = package.recipe
        self.notes: tuple[str, ...] = ()
        self._system = recipe.system if recipe.system.accelerators else None
        self._builds: Builds | None = None
        self._known: frozenset[str] = frozenset()
        pin = build or f"{recipe.engine.distribution}=={recipe.engine.version}"
        try:
            self._builds = Builds(Question(engine=pin, env=dict(recipe.env), offline=offline), progress)
            self._model = _config(package, definition, offline=offline)
            self._rules = rules()
            before = self._ask(recipe.flags)
        except DayzeroError as error:
            self._builds = None
            self.notes = (f"no flag was audited: {error.message}",)
            return
        self._known = frozenset(one.message for one in before.findings)
        self.notes = tuple(f"audit: {one.what}: {one.why}" for one in before.not_checked if one.needed)

    def new_findings(self, recipe: Recipe) -> str:
        """Give what refutes these flags and does not refute the package as it is; ``""`` for nothing."""
        if self._builds is None:
            return ""
        found = self._ask(recipe.flags).findings
        return "; ".join(one.message for one in found if refutes(one) and one.message not in self._known)

    def _ask(self, flags: tuple[str, ...]) -> Audited:
        if self._builds is None:
            raise InputError("there is no build to ask", hint="Give --build.")
        with uncollected(one_of_many=True):
            return audited(self._rules, self._builds.subject(self._model, self._system, flags), self._builds.missing)


def _config(package: Package, definition: Path, *, offline: bool) -> Mapping[str, object]:
    beside, origin = definition.parent / _CONFIG, package.recipe.model.origin
    if beside.is_file():
        found: Mapping[str, object] = json.loads(beside.read_bytes())
        return found
    try:
        if isinstance(origin, HubRevision):
            return model_of(f"{origin.repository}@{origin.revision}", offline=offline)
    except DayzeroError:
        pass
    return {"architectures": [package.recipe.model.architecture]}


def _fit_host(recipe: Recipe) -> Verdict:
    files = weights(recipe.model, weights_cache(recipe.model))
    return fit_host(engine(recipe.engine.engine).memory_terms(recipe, files[0]), host_memory()).verdict


def _given(words: tuple[str, ...]) -> tuple[Given, ...]:
    return tuple(Given(name=one.name, values=one.values) for one in given(words))
