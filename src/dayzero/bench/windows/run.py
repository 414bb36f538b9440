"""Run a design from its first window to its verdict; stop at the first thing that makes the rest worthless."""

from collections.abc import Sequence
from dataclasses import replace

from dayzero.bench.windows import design as layout
from dayzero.bench.windows.compare import certify, conclude, minimum_before
from dayzero.bench.windows.model import Compared, Design, DoesNotServe, InstrumentBad, Result, Silent, Taken, Window
from dayzero.bench.windows.ports import Arms, Listener
from dayzero.core.workload import Cell

_REHEARSAL_REQUESTS = 2


def run(design: Design, arms: Arms, listener: Listener) -> Result:
    """Rehearse both arms, certify the instrument on A against itself, compare, decide.

    Args:
        design: What was fixed beforehand, and is written down by now.
        arms: The arms.
        listener: Is told of each window as it begins, and of the certificate.
    """
    total = 2 + 2 * (design.certificate_pairs + design.pairs)
    course = _Course(design, arms, listener, total)
    rehearsed = course.take(layout.rehearsal(design))
    if not isinstance(rehearsed, tuple):
        return rehearsed
    certificate = course.take(layout.certificate(design))
    if not isinstance(certificate, tuple):
        return certificate
    certified = certify(design, certificate)
    if isinstance(certified, InstrumentBad):
        return certified
    listener.certified(certified, minimum_before(design, certified))
    compared = course.take(layout.comparison(design), certified)
    return conclude(design, certified, compared) if isinstance(compared, tuple) else compared


class _Course:
    """The windows one after another, counted over all stages."""

    def __init__(self, design: Design, arms: Arms, listener: Listener, total: int) -> None:
        self._design = design
        self._arms = arms
        self._listener = listener
        self._total = total
        self._begun = 0

    def take(
        self, windows: Sequence[Window], certificate: Compared | None = None
    ) -> tuple[Taken, ...] | DoesNotServe | InstrumentBad:
        """Measure the windows of a stage, until one shows that the others cannot help."""
        found = []
        for window in windows:
            self._begun += 1
            self._listener.begins(window, self._begun, self._total)
            taken = self._arms.measure(window, self._cell(window))
            if isinstance(taken, Taken) and taken.deserves_another and window.stage != "rehearsal":
                taken = self._arms.measure(window.second_try, self._cell(window))
            if isinstance(taken, Silent):
                return DoesNotServe(silent=taken)
            if taken.invalid_because and window.stage != "rehearsal":
                reasons = tuple(f"{taken.window.name} is not valid: {reason}" for reason in taken.invalid_because)
                return InstrumentBad(reasons=reasons, certificate=certificate)
            found.append(taken)
        return tuple(found)

    def _cell(self, window: Window) -> Cell:
        cell = self._design.cell
        if window.stage != "rehearsal":
            return cell
        few = max(_REHEARSAL_REQUESTS, cell.concurrency)
        return replace(cell, requests=few, warmup_requests=0)
