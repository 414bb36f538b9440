"""Capability probes of the engine that are false with the libraries installed: what they would open is not served."""

from collections.abc import Iterator

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.python.lanes import Lane
from dayzero.audit.python.study import at_own_pin, engine_study, wanted
from dayzero.audit.rules import Rule, Subject


class PythonLanes:
    """Implements ``Rule``. At the version that the engine itself asks for, a false probe loses nothing that it was tested with."""

    id = "python-lane"
    question = "Does each capability probe of the engine that its own pins satisfy hold with the libraries installed?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Give the probes that are false, and what they close."""
        study = engine_study(subject.installed)
        for lane in study.lanes:
            library = study.distribution_of(lane.lost.owner)
            if library is not None:
                pinned = at_own_pin(study.asker, library)
                asked = wanted(study.asker, library)
                yield Finding(
                    rule=self.id,
                    severity=Severity.GUARDED if pinned else Severity.DOWNGRADE,
                    message=_message(lane, str(library)),
                    engine=lane.probe.place(),
                    library=lane.lost.place,
                    resolution=f"Install {library.name}{asked}, which {study.asker} asks for."
                    if asked and not pinned
                    else f"Use a {library.name} that has {lane.lost.name}.",
                )


def _message(lane: Lane, library: str) -> str:
    lost = lane.lost
    what = lost.name if lost.kind == "module" else f"{lost.owner}.{lost.name}"
    text = f"{lane.probe.qualname}() is False: {library} has no {what}"
    asked = ", ".join(f"{around} ({module.file}:{line})" for module, around, line in lane.askers)
    return f"{text}; asked by {asked}" if asked else text


RULE: Rule = PythonLanes()
