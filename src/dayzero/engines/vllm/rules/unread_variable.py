"""Is a variable set that chooses between kernels, and that the choice which is made never reads?"""

from collections.abc import Iterator
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.engines.vllm.capabilities.attention import choose, layers
from dayzero.engines.vllm.capabilities.moe import Experts, choose_experts, has_experts
from dayzero.engines.vllm.capabilities.situation import situation

_CHOICES = ("vllm.model_executor.layers.fused_moe.oracle.", "vllm.model_executor.layers.quantization.")
_DECLARED = "vllm.envs"


class UnreadVariable:
    """Implements ``audit.rules.Rule``."""

    id: str = "unread-variable"
    question: str = "Does the choice of kernels read every variable that is set to steer it?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow the choices, and look where else the build reads a variable that they did not."""
        names = [name for name in subject.env if name.startswith("VLLM_")]
        if subject.engine != "vllm" or subject.model is None or not names:
            return
        made = situation(subject)
        if isinstance(made, str) or not has_experts(made):
            return
        for layer in layers(made):
            choose(made, layer)
        chosen = choose_experts(made)
        if not isinstance(chosen, Experts) or not chosen.kernel:
            return
        for name in names:
            readers = [one for one in subject.installed.python.holding(name.encode(), below="vllm") if one != _DECLARED]
            if name in made.asked or not readers or not all(one.startswith(_CHOICES) for one in readers):
                continue
            message = (
                f"{name} is set, and the choice of {chosen.backend} for the experts never reads it: "
                f"only {', '.join(readers)} does"
            )
            module = made.machine.program.module(readers[0])
            place = module.whole() if module else chosen.place
            advice = f"Unset {name}, and choose the kernel with --moe-backend."
            when = f"experts stored as {chosen.quantisation or 'they are'}"
            yield Finding(self.id, Severity.GUARDED, message, place, None, advice, when, Applies.YES)


RULE: Final = UnreadVariable()
