"""Does SGLang know the checkpoint's quantization method, and does the method serve this GPU?"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.core.accelerators import accelerator
from dayzero.engines.command_line import given
from dayzero.engines.sglang.quantization import Methods, claimed, machine_for, methods
from dayzero.engines.vllm.capabilities.machine import Machine
from dayzero.engines.vllm.capabilities.quantization import answer
from dayzero.engines.vllm.capabilities.values import Unknown

_FLAG, _NONE = "--quantization", "unquant"
_KEYS = ("quantization_config", "compression_config")
# Settings of ModelOpt are renamed before they are looked up (0.5.18, configs/model_config.py:1183).
_RENAMED = "modelopt"


class SglangQuantizationMethod:
    """Implements ``audit.rules.Rule``."""

    id: str = "quantization-method"
    question: str = "Does the engine know the checkpoint's quantization method, and does that serve this GPU and type?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow SGLang's own check of the method (0.5.18, configs/model_config.py:1440), and ask its class."""
        if subject.engine != "sglang" or subject.model is None or _is_of_another_vendor(subject):
            return
        settings, asked = _stored(subject.model), _asked(subject.flags)
        name = str((settings or {}).get("quant_method", asked)).lower()
        if not name or name.startswith(_RENAMED) or "quant_algo" in (settings or {}):
            return
        machine = machine_for(subject)
        known = methods(machine)
        if isinstance(known, str):
            yield NotChecked(self.question, known, needed=False)
            return
        claim = claimed(machine, known, settings, asked, subject.model) if settings is not None else ""
        own = "" if isinstance(claim, str) else claim.name
        taken = own or asked or name
        wrong = self._refused(known, name, asked, taken, own=bool(own)) if settings is not None else None
        if wrong is not None and isinstance(claim, str):
            yield NotChecked(self.question, f"whether another method claims it: {claim}", needed=False)
        elif wrong is not None:
            yield wrong
        elif not isinstance(claim, str) or not claim:
            yield from self._unserved(subject, machine, known, taken)

    def _refused(self, known: Methods, name: str, asked: str, taken: str, *, own: bool) -> Finding | None:
        release = known.place.artifact
        fits = name == asked or asked in known.again or name in known.compatible.get(asked, ())
        if asked and not own and not fits:
            message = f"the checkpoint is stored as {name!r}, and {_FLAG} asks for {asked!r}: {release} refuses that"
            return self._start(message, known, f"Leave {_FLAG} away.")
        if taken in known.classes:
            return None
        near = difflib.get_close_matches(taken, known.classes, n=1)
        advice = f"Did you mean {near[0]}? " if near else ""
        message = f"{release} has no quantization method {taken!r}, but only {', '.join(known.classes)}"
        return self._start(message, known, f"{advice}Use a checkpoint or a version of SGLang that goes with it.")

    def _start(self, message: str, known: Methods, resolution: str) -> Finding:
        return Finding(self.id, Severity.START, message, known.place, None, resolution)

    def _unserved(self, subject: Subject, machine: Machine, known: Methods, taken: str) -> Iterator[Finding]:
        klass = known.classes.get(taken)
        least = _least(answer(machine, klass, "get_min_capability")) if klass is not None else 0
        if klass is None or subject.capability is None:
            return
        major, minor = subject.capability
        if major * 10 + minor < least:
            message = (
                f"the quantization method {taken} wants compute capability {least // 10}.{least % 10}, "
                f"and this GPU has {major}.{minor}"
            )
            advice = "Use a newer GPU, or a checkpoint that is stored in another way."
            place = klass.module.place(klass.node.lineno)
            yield Finding(self.id, Severity.PATH, message, place, None, advice, "", Applies.YES)


def _least(said: object) -> int:
    """Give the least capability that a method may want."""
    among = said.among if isinstance(said, Unknown) else (said,)
    wanted = [one for one in among if isinstance(one, int)]
    return min(wanted) if wanted and len(wanted) == len(among) else 0


def _is_of_another_vendor(subject: Subject) -> bool:
    return subject.system is not None and accelerator(subject.system.accelerator).vendor != "nvidia"


def _stored(model: Mapping[str, object]) -> Mapping[str, object] | None:
    """Give the settings that SGLang looks at, those of the whole model; ``None`` for none."""
    return next((one for key in _KEYS if isinstance(one := model.get(key), Mapping)), None)


def _asked(flags: tuple[str, ...]) -> str:
    words = [one.values[0].lower() for one in given(flags) if one.flag == _FLAG and one.values]
    return "" if not words or words[-1] == _NONE else words[-1]


RULE: Final = SglangQuantizationMethod()
