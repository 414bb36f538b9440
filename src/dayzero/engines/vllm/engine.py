"""The plug-in: one object behind the entry point, each answer given by the module that knows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dayzero.audit.model import Facts
from dayzero.audit.ports import BuildFiles
from dayzero.core.launch import LaunchSpec
from dayzero.core.recipe import Recipe
from dayzero.engines.vllm import resolved as dispatch
from dayzero.engines.vllm.architectures import read_architectures
from dayzero.engines.vllm.changes import changes, spread_in
from dayzero.engines.vllm.dialect import VllmDialect
from dayzero.engines.vllm.launch import launch
from dayzero.engines.vllm.logs import looks_like_cause
from dayzero.engines.vllm.memory.budget import budget
from dayzero.engines.vllm.memory.host import memory_terms
from dayzero.engines.vllm.misuse import misused
from dayzero.engines.vllm.settings import read_settings, settings_in
from dayzero.fit.cheapest import Change
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import Budget, FitPlan, Term
from dayzero.serve.model import Asked, Resolved, StartPhase


@dataclass(frozen=True, slots=True)
class Vllm:
    """vLLM as an engine plug-in."""

    name: str = "vllm"
    dialect: VllmDialect = field(default_factory=VllmDialect)

    def read_architectures(self, files: BuildFiles) -> Facts:
        """Read the model registry."""
        return read_architectures(files)

    def read_settings(self, files: BuildFiles) -> Facts:
        """Read the flags of ``vllm serve``."""
        return read_settings(files)

    def settings_in(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Name the flags that a command line passes."""
        return settings_in(flags)

    def launch(self, recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
        """Write the ``vllm serve`` command of a recipe."""
        return launch(recipe, memory_bytes=memory_bytes)

    def misused(self, words: tuple[str, ...], files: BuildFiles | None) -> tuple[str, ...]:
        """Say what is wrong with how a command line uses its flags."""
        return misused(words, files)

    def launch_files(self) -> tuple[tuple[str, bytes], ...]:
        """Give nothing: the build carries its own launcher."""
        return ()

    def looks_like_cause(self, line: str) -> bool:
        """Say whether a log line names a cause."""
        return looks_like_cause(line)

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
        """Size what the CPU build allocates."""
        return memory_terms(recipe, weights)

    def budget(self, plan: FitPlan) -> Budget | Unknown:
        """Size what it allocates on each GPU."""
        return budget(plan)

    def spread_in(self, flags: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
        """Read how the flags spread the model, and give the others."""
        return spread_in(flags)

    def cheaper(self, plan: FitPlan) -> tuple[Change, ...]:
        """List what would take less memory."""
        return changes(plan)


ENGINE: Final = Vllm()
