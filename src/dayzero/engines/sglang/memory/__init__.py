"""What SGLang allocates on each GPU, and what of a plan its flags say; one object behind the entry point."""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.engines.sglang.memory.budget import budget
from dayzero.engines.sglang.memory.changes import changes
from dayzero.engines.sglang.memory.flags import spread_in
from dayzero.fit.cheapest import Change
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import Budget, FitPlan

__all__ = ["MODEL", "SglangMemory", "budget"]


@dataclass(frozen=True, slots=True)
class SglangMemory:
    """The memory model of SGLang."""

    def budget(self, plan: FitPlan) -> Budget | Unknown:
        """Size what it allocates on each GPU."""
        return budget(plan)

    def spread_in(self, flags: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
        """Read how the flags spread the model, and give the others."""
        return spread_in(flags)

    def cheaper(self, _plan: FitPlan) -> tuple[Change, ...]:
        """List what would take less memory."""
        return changes()


MODEL = SglangMemory()
