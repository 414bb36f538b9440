"""Can FlashInfer launch the experts' activation: the enumeration's member, the pinned artifact, and the kernels in it?"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.ports import BuildFiles
from dayzero.audit.rules import Subject
from dayzero.kernels.flashinfer.activations import Activation, activation
from dayzero.kernels.flashinfer.build import (
    BINARIES,
    DISTRIBUTION,
    Table,
    abi_members,
    activation_types,
    artifact_paths,
    listed_kernels,
)

_FAMILY = "TRTLLM_GEN_BMM"
_OFFLINE = "FLASHINFER_CUBIN_DIR"
_BLACKWELL = 10
_STEERING = ("--moe-backend", "--moe-runner-backend")


class ActivationKernels:
    """Implements ``audit.rules.Rule``."""

    id: str = "activation-kernels"
    question: str = "Has FlashInfer kernels for the activation of the model's experts?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look at the three that must agree, where the GPU is one that these kernels are for."""
        known = activation(_word(subject.model))
        if known is None or subject.capability is None or subject.capability[0] != _BLACKWELL or _steered_away(subject):
            return
        if subject.installed.find(DISTRIBUTION) is None:
            yield NotChecked(self.question, f"{DISTRIBUTION} is not among the files", needed=False)
            return
        types, paths = activation_types(subject.installed), artifact_paths(subject.installed)
        if types is None or paths is None:
            yield NotChecked(self.question, "its activation types or artifact pins were not found", needed=False)
            return
        when = f"experts with activation {known.word} on compute capability {subject.capability[0]}.{subject.capability[1]}"
        if known.member not in types.values:
            message = f"ActivationType has no {known.member}: FlashInfer cannot run the experts' activation"
            advice = f"Install flashinfer-python {known.first} or later."
            yield Finding(self.id, Severity.DOWNGRADE, message, None, types.place, advice, when, Applies.YES)
            return
        yield from self._artifact(subject, known, paths, when)

    def _artifact(self, subject: Subject, known: Activation, paths: Table, when: str) -> Iterator[Finding]:
        pin = str(paths.values.get(_FAMILY, ""))
        commit = pin.split("/", maxsplit=1)[0]
        members = abi_members(subject.installed)
        advice = f"Install flashinfer-python {known.first} or later, whose pin has these kernels."
        if commit in known.lacking:
            message = f"the pinned kernel binaries {pin} are older than {known.token}: there is nothing to launch"
            yield Finding(self.id, Severity.PATH, message, None, paths.place, advice, when, Applies.YES)
            return
        if members is not None and not any(one.lower() == known.token.lower() for one in members.values):
            message = (
                f"ActivationType has {known.member}, and the header that the kernels are compiled against "
                f"has no {known.token}"
            )
            yield Finding(self.id, Severity.PATH, message, None, members.place, advice, when, Applies.YES)
            return
        yield from self._binaries(subject, known, pin, paths, when)

    def _binaries(self, subject: Subject, known: Activation, pin: str, paths: Table, when: str) -> Iterator[Finding]:
        given = _given(subject)
        for files in given:
            kernels = listed_kernels(files, pin)
            if kernels is None:
                continue
            if not kernels.with_tokens(known.token, _architectures(subject)):
                message = f"none of the {kernels.total:,} kernels given for {pin} has {known.token} for this GPU"
                advice = "Give the binaries of the pin that this flashinfer-python names."
                yield Finding(self.id, Severity.PATH, message, paths.place, kernels.place, advice, when, Applies.YES)
            return
        trusted = pin.split("/", maxsplit=1)[0] in known.holding and not given and _OFFLINE not in subject.env
        message = f"the kernels for {known.word} come from a remote artifact, {pin}, that was not looked at"
        advice = "Give the folder of kernel binaries (--cubins), or let the GPU host reach NVIDIA's server at the first start."
        cause = "the binaries are given without this pin" if given else "the GPU host cannot fetch kernel binaries"
        applies = Applies.YES if given else Applies.NO if trusted else Applies.UNKNOWN
        yield Finding(self.id, Severity.UNVERIFIED, message, None, paths.place, advice, f"{when}, and {cause}", applies)


def _word(model: Mapping[str, object] | None) -> str:
    inner = model.get("text_config") if model else None
    text = inner if isinstance(inner, Mapping) else model or {}
    return str(text.get("hidden_act") or text.get("hidden_activation") or "")


def _steered_away(subject: Subject) -> bool:
    """Say whether the command line names a kernel for the experts that is not one of these."""
    words = tuple(part for word in subject.flags for part in word.replace("_", "-").split("=", 1))
    asked = [value for flag, value in pairwise(words) if flag in _STEERING]
    return bool(asked) and asked[-1] != "auto" and "trtllm" not in asked[-1]


def _given(subject: Subject) -> tuple[BuildFiles, ...]:
    binaries = subject.installed.find(BINARIES)
    return tuple(one for one in (subject.cubins, binaries.files if binaries else None) if one is not None)


def _architectures(subject: Subject) -> tuple[str, ...]:
    """Name the architectures in kernel names that this GPU runs: its family's, and its own."""
    major, minor = subject.capability or (0, 0)
    return (f"sm{major}0f", f"sm{major}{minor}a", f"sm{major}{minor}f")


RULE: Final = ActivationKernels()
