"""Can the kernel that the prefill of linear attention takes be loaded?

Every start runs it: the engine warms up with a made-up prompt before it takes requests
(vllm 0.27.1, v1/worker/gpu_worker.py, compile_or_warm_up_model).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.extensions import extensions
from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.python.importers import import_sites
from dayzero.audit.rules import Subject
from dayzero.engines.vllm.capabilities.prefill import FLASHKDA, TRITON, prefill
from dayzero.engines.vllm.capabilities.situation import Situation, situation


class PrefillKernel:
    """Implements ``audit.rules.Rule``."""

    id: str = "prefill-kernel"
    question: str = "Can the kernel that the prefill of linear attention takes be loaded?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Ask vLLM's own choice, and the symbols of the extension that it leads to."""
        found = extensions(subject.installed)
        broken = found.modules.get(FLASHKDA) if subject.engine == "vllm" else None
        if broken is None or found.torch is None or subject.model is None:
            return
        made = situation(subject)
        linear = made.text.get("linear_attn_config") if isinstance(made, Situation) else None
        if (
            not isinstance(made, Situation)
            or not isinstance(linear, Mapping)
            or prefill(made, linear) in {None, TRITON}
        ):
            return
        site = next(import_sites(subject.installed.python, FLASHKDA), None)
        message = (
            f"the prefill takes FlashKDA, every start runs one, and {broken.path} cannot be loaded: "
            f"{broken.lacks(found.torch)}"
        )
        advice = "Serve with --kda-prefill-backend triton, or install the torch that the engine pins."
        asked = site.context.scope.module.place(site.line) if site else None
        when = "prefill of linear attention by FlashKDA"
        yield Finding(self.id, Severity.START, message, asked, broken.place, advice, when, Applies.YES)


RULE: Final = PrefillKernel()
