"""Which GPU a plan runs on."""

from dayzero.core.accelerators import Accelerator, accelerator
from dayzero.core.errors import InputError
from dayzero.fit.model import FitPlan


def gpu_of(plan: FitPlan) -> Accelerator:
    """Give the kind of GPU of a plan's system.

    Raises:
        InputError: It has none, fewer than the plan has ranks, or one that is not known.
    """
    if not plan.system.accelerator:
        raise InputError(f"{plan.system.name} has no GPU", hint="Name a system with GPUs, as 8xb300.")
    if plan.parallelism.ranks > plan.system.gpus:
        raise InputError(
            f"{plan.parallelism.ranks} ranks on the {plan.system.gpus} GPUs of {plan.system.name}",
            hint="Take a larger system, or smaller tp, pp and dp.",
        )
    return accelerator(plan.system.accelerator)
