"""Does vLLM know the checkpoint's quantization method, and does the method serve this GPU and type?"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.engines.vllm.capabilities.quantization import Method, answer, method, settings_of
from dayzero.engines.vllm.capabilities.schemes import refused_schemes
from dayzero.engines.vllm.capabilities.situation import Situation, dtype, situation
from dayzero.engines.vllm.capabilities.values import External, Klass

_SAME = {"half": "float16", "float": "float32"}
_BY_SCHEME = "compressed-tensors"
_ALLOW = "allow-deprecated-quantization"
# Below it vLLM serves float16 where bfloat16 is stored (0.27.0, platforms/cuda.py, supported_dtypes).
_BFLOAT16 = (8, 0)


class QuantizationMethod:
    """Implements ``audit.rules.Rule``."""

    id: str = "quantization-method"
    question: str = "Does the engine know the checkpoint's quantization method, and does that serve this GPU and type?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow vLLM's own resolution of the method, and ask the method's class what it serves."""
        if subject.engine != "vllm" or subject.model is None:
            return
        settings = settings_of(subject.model)
        if settings is None and not any(word.startswith(("-q", "--quantization")) for word in subject.flags):
            return
        made = situation(subject)
        if isinstance(made, str):
            yield NotChecked(self.question, made)
            return
        asked = made.flags.text("quantization", "")
        found = method(made, settings, asked)
        if isinstance(found, str):
            yield NotChecked(self.question, found, needed=False)
            return
        yield from self._judge(made, found, asked, stored=settings is not None)

    def _judge(self, made: Situation, found: Method, asked: str, *, stored: bool) -> Iterator[Finding | NotChecked]:
        wrong = self._refused(made, found, asked, stored=stored)
        if wrong is not None and found.doubt:
            yield NotChecked(self.question, f"whether another method claims the checkpoint: {found.doubt}")
        elif wrong is not None:
            yield wrong
        elif found.klass is not None:
            yield from self._unserved(made, found, found.klass)

    def _refused(self, made: Situation, found: Method, asked: str, *, stored: bool) -> Finding | None:
        """Say why the method is refused, whatever the GPU; ``None`` where it is not."""
        artifact = found.place.artifact
        if "" in found.known or (found.nameless and not (found.name or asked)):
            return None  # a method is registered whose name is not written out, or nothing is asked for
        if stored and asked and asked != found.name and not found.claimed:
            kept = found.name or "nothing"
            message = (
                f"the checkpoint is stored as {kept!r}, and --quantization asks for {asked!r}: {artifact} refuses that"
            )
            return self._start(message, found, "Leave --quantization away.")
        if found.name not in found.known:
            near = difflib.get_close_matches(found.name, found.known, n=1)
            advice = f"Did you mean {near[0]}? " if near else ""
            message = f"{artifact} has no quantization method {found.name!r}, but only {', '.join(found.known)}"
            return self._start(message, found, f"{advice}Use a checkpoint or a version of vLLM that goes with it.")
        if found.name in found.deprecated and not made.flags.on(_ALLOW):
            message = f"{artifact} refuses the quantization method {found.name!r}: it is deprecated there"
            return self._start(message, found, f"Give --{_ALLOW}.")
        return None

    def _start(self, message: str, found: Method, resolution: str) -> Finding:
        return Finding(self.id, Severity.START, message, found.place, None, resolution)

    def _unserved(self, made: Situation, found: Method, klass: Klass) -> Iterator[Finding]:
        place = klass.module.place(klass.node.lineno)
        major, minor = made.subject.capability or (0, 0)
        least, own = answer(made.machine, klass, "get_min_capability"), major * 10 + minor
        if isinstance(least, int) and own < least:
            message = (
                f"the quantization method {found.name} wants compute capability {least // 10}.{least % 10}, "
                f"and this GPU has {major}.{minor}"
            )
            advice = "Use a newer GPU, or a checkpoint that is stored in another way."
            yield Finding(self.id, Severity.PATH, message, place, None, advice, "", Applies.YES)
            return
        if found.name == _BY_SCHEME:
            yield from self._without_scheme(made, found)
        taken = answer(made.machine, klass, "get_supported_act_dtypes")
        types = {_type(one) for one in taken} if isinstance(taken, list) else set()
        wanted = _type(dtype(made))
        explicit = made.flags.text("dtype", "auto") != "auto"
        if types and "" not in types and wanted not in types and (explicit or _is_served_as_stored(made, wanted)):
            message = f"the quantization method {found.name} takes no {wanted}, but only {', '.join(sorted(types))}"
            yield Finding(self.id, Severity.PATH, message, place, None, f"Give --dtype {min(types)}.", "", Applies.YES)

    def _without_scheme(self, made: Situation, found: Method) -> Iterator[Finding]:
        if found.settings is None or made.subject.capability is None or _has_experts(made.text):
            return
        for said, place in refused_schemes(made.machine, found.settings, made.subject.capability):
            major, minor = made.subject.capability
            message = (
                f"{found.place.artifact} takes no {found.name} like this on compute capability {major}.{minor}: {said}"
            )
            advice = "Use a newer GPU, or a checkpoint that is stored in another way."
            yield Finding(self.id, Severity.PATH, message, place, None, advice, "", Applies.YES)


def _has_experts(text: Mapping[str, object]) -> bool:
    """Say whether a model has experts, whose layers choose in another way, and perhaps no other layer that is quantized."""
    return any("expert" in key for key in text)


def _is_served_as_stored(made: Situation, wanted: str) -> bool:
    """Say whether vLLM takes the checkpoint's type where no type is asked for."""
    capability = made.subject.capability
    return wanted == "float16" or (wanted == "bfloat16" and capability is not None and capability >= _BFLOAT16)


def _type(value: object) -> str:
    name = value.name.removeprefix("torch.") if isinstance(value, External) else ""
    return _SAME.get(name, name)


RULE: Final = QuantizationMethod()
