"""Is there an attention backend for this model on this GPU, and is it the one that vLLM would rather take?"""

from collections.abc import Iterator
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.vllm.capabilities.attention import (
    Candidate,
    Choice,
    cache_type,
    choose,
    chooses_by_order,
    layers,
)
from dayzero.engines.vllm.capabilities.implementation import refusal
from dayzero.engines.vllm.capabilities.older_attention import choose_in_one
from dayzero.engines.vllm.capabilities.situation import Situation, situation
from dayzero.engines.vllm.capabilities.values import Klass

_BLOCK = "block_size not supported"
_IMPORT = "ImportError"
_CACHE = ("kv_cache_dtype not supported",)


class AttentionBackend:
    """Implements ``audit.rules.Rule``."""

    id: str = "attention-backend"
    question: str = "Does vLLM find an attention backend for the model's layers on this GPU, and which?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Put vLLM's own order of backends and their own checks to every kind of layer that the model has."""
        if subject.engine != "vllm" or subject.model is None:
            return
        made = situation(subject)
        if isinstance(made, str):
            yield NotChecked(self.question, made)
            return
        kinds = layers(made)
        if not kinds:
            yield NotChecked(self.question, "the configuration does not tell the size of an attention head")
        for layer in kinds:
            choice = (choose if chooses_by_order(made) else choose_in_one)(made, layer)
            if isinstance(choice, str):
                yield NotChecked(self.question, f"{layer.name}: {choice}")
            else:
                yield from self._judge(made, choice)

    def _judge(self, made: Situation, choice: Choice) -> Iterator[Finding | NotChecked]:
        when = _when(made, choice)
        if choice.is_impossible:
            yield self._refused(made, choice, when)
            return
        open_to = [one for one in choice.order if not one.reasons] if choice.forced is None else [choice.forced]
        if choice.chosen is None:
            why = f"{open_to[0].name} depends on {open_to[0].doubt}"
            yield NotChecked(f"{self.question} ({choice.layer.name})", why, needed=not choice.is_served)
        elif said := _fails(made, choice.chosen, choice):
            message = f"vLLM takes the attention backend {choice.chosen.name} for {when}, which fails: {said}"
            advice = (
                f"{_leave(made)}Name another one with --attention-backend, or use a release where it goes with this."
            )
            yield Finding(self.id, Severity.PATH, message, choice.chosen.place, None, advice, when, Applies.YES)
        if choice.forced is None:
            yield from self._lost(choice, open_to[0], when)
            yield from self._unloaded(made, choice, open_to[0], when)

    def _refused(self, made: Situation, choice: Choice, when: str) -> Finding:
        place: Place = choice.place
        if choice.forced is not None:
            said = ", ".join(choice.forced.reasons)
            message = f"vLLM refuses the attention backend {choice.forced.name} for {when}: {said}"
            valid = [one.name for one in choice.order if one.is_valid]
            advice = f"Leave --attention-backend out; vLLM then takes {valid[0]}." if valid else _advice(made, choice)
            place = choice.forced.place
        else:
            said = "; ".join(f"{one.name}: {', '.join(one.reasons)}" for one in choice.order)
            message, advice = f"vLLM has no valid attention backend for {when}: {said}", _advice(made, choice)
        return Finding(self.id, Severity.PATH, message, place, None, advice, when, Applies.YES)

    def _unloaded(self, made: Situation, choice: Choice, taken: Candidate, when: str) -> Iterator[Finding]:
        """Ask again as if every native extension could be loaded: what is valid then and comes first is lost to them."""
        whole = situation(made.subject, loads=False) if made.machine.program.unloadable else ""
        again = choose(whole, choice.layer) if isinstance(whole, Situation) else ""
        before = choice.order[: choice.order.index(taken)]
        for one in again.order if isinstance(again, Choice) else ():
            if one.is_valid and one.name in {each.name for each in before}:
                why = "a native extension that it runs on cannot be loaded beside this torch"
                message = f"attention runs on {taken.name} and not on {one.name}, which vLLM prefers: {why}"
                advice = "Install the torch that the engine pins."
                yield Finding(self.id, Severity.DOWNGRADE, message, one.place, None, advice, when, Applies.YES)

    def _lost(self, choice: Choice, taken: Candidate, when: str) -> Iterator[Finding]:
        for one in choice.order[: choice.order.index(taken)]:
            others = tuple(reason for reason in one.reasons if not reason.startswith(_IMPORT))
            if one.missing and not others:
                why, advice = one.missing, "Install a release of the library that has it."
            elif one.reasons == (_BLOCK,):
                why, advice = "it does not take this --block-size", "Leave --block-size out: vLLM then chooses it."
            else:
                continue
            message = f"attention runs on {taken.name} and not on {one.name}, which vLLM prefers: {why}"
            yield Finding(self.id, Severity.DOWNGRADE, message, one.place, None, advice, when, Applies.YES)


def _fails(made: Situation, taken: Candidate, choice: Choice) -> str:
    """Say why the backend that is taken fails when its layer is made; ``""`` where nothing is known against it."""
    klass = made.machine.program.top_class(taken.path) if taken.path else ""
    return refusal(made, choice.layer, klass) if isinstance(klass, Klass) else ""


def _leave(made: Situation) -> str:
    return "" if cache_type(made) == "auto" else "Serve with --kv-cache-dtype auto. "


def _when(made: Situation, choice: Choice) -> str:
    major, minor = made.subject.capability or (0, 0)
    layer = choice.layer
    cache = "" if (kind := cache_type(made)) == "auto" else f", KV cache {kind}"
    return f"{layer.name} with heads of {layer.head_size} on compute capability {major}.{minor}{cache}"


def _advice(made: Situation, choice: Choice) -> str:
    # What a flag mends is nearer than what takes another GPU.
    nearest = min(choice.order, key=lambda one: (len(one.reasons), one.reasons != _CACHE), default=None)
    if nearest is None:
        return "Use another release of vLLM."
    reason = ", ".join(nearest.reasons)
    if nearest.reasons == _CACHE:
        return f"Serve with --kv-cache-dtype auto, or use a release whose {nearest.name} takes {cache_type(made)}."
    return f"{_leave(made)}Use a release or a GPU where one of them is valid; {nearest.name} lacks only this: {reason}."


RULE: Final = AttentionBackend()
