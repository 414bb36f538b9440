"""Is there a kernel for the model's experts on this GPU, and is it the one that vLLM would rather take?"""

from collections.abc import Iterator
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.engines.vllm.capabilities.moe import Experts, Lost, choose_experts, has_experts, lost_lanes
from dayzero.engines.vllm.capabilities.older_experts import has_selection, refused
from dayzero.engines.vllm.capabilities.situation import Situation, situation


class ExpertsBackend:
    """Implements ``audit.rules.Rule``."""

    id: str = "experts-backend"
    question: str = "Does vLLM find a kernel for the model's experts on this GPU, and which?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow vLLM's own selection for the model's quantisation, activation, routing and parallelism."""
        if subject.engine != "vllm" or subject.model is None:
            return
        made = situation(subject)
        if isinstance(made, str):
            yield NotChecked(self.question, made)
            return
        if not has_experts(made):
            return
        if not has_selection(made):
            yield from self._without_selection(made)
            return
        chosen = choose_experts(made)
        if isinstance(chosen, str):
            yield NotChecked(self.question, chosen)
            return
        yield from self._judge(made, chosen)

    def _without_selection(self, made: Situation) -> Iterator[Finding | NotChecked]:
        said = refused(made)
        if isinstance(said, str):
            if said:
                yield NotChecked(self.question, said)
            return
        why, place = said
        major, minor = made.subject.capability or (0, 0)
        message = f"vLLM takes no kernel for experts stored as fp8 on compute capability {major}.{minor}: {why}"
        advice = "Use a newer GPU, a newer release of vLLM, or a checkpoint that is stored in another way."
        yield Finding(self.id, Severity.PATH, message, place, None, advice, "", Applies.YES)

    def _judge(self, made: Situation, chosen: Experts) -> Iterator[Finding | NotChecked]:
        lanes = lost_lanes(made, chosen)
        when = _when(made, chosen)
        if chosen.error:
            advice = " ".join(map(_wanted, lanes)) or "Leave --moe-backend out, or use another release of vLLM."
            said = f"vLLM takes no kernel for {when}: {chosen.error}"
            library = lanes[0].place if lanes else None
            yield Finding(self.id, Severity.PATH, said, chosen.place, library, advice, when, Applies.YES)
            return
        if chosen.doubt:
            served = any(not one.reason and not one.doubt for one in chosen.asked)
            yield NotChecked(self.question, f"it depends on {chosen.doubt}", needed=not served)
        for lane in lanes if chosen.kernel else ():
            message = (
                f"the experts run on {chosen.backend} ({chosen.kernel}) and not on {lane.backend} ({lane.kernel}), "
                f"which vLLM prefers: {lane.owner} has no {lane.name}"
            )
            place = next((one.place for one in chosen.asked if one.name == lane.kernel), chosen.place)
            yield Finding(self.id, Severity.DOWNGRADE, message, place, lane.place, _wanted(lane), when, Applies.YES)
        for program in made.assumed:
            yield NotChecked(
                f"Is {program} on the engine's PATH?", "vLLM looks for it; it is taken to be", needed=False
            )


def _when(made: Situation, chosen: Experts) -> str:
    major, minor = made.subject.capability or (0, 0)
    stored = f"experts stored as {chosen.quantisation}" if chosen.quantisation else "experts that are not quantised"
    activation = made.text.get("hidden_act") or made.text.get("hidden_activation") or "silu"
    return f"{stored} with activation {activation} on compute capability {major}.{minor}"


def _wanted(lane: Lost) -> str:
    return f"Install a release of {lane.place.artifact.split()[0].split('==')[0]} whose {lane.owner} has {lane.name}."


RULE: Final = ExpertsBackend()
