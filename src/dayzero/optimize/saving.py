"""What was not started, or ended early, and what it would have cost."""

from dataclasses import dataclass

from dayzero.optimize.model import Trial
from dayzero.optimize.plan import View

HOW = "a combination that was taken out would have cost the median of a whole trial; a trial that ended early the rest of that"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a search did not have to spend.

    Attributes:
        pruned: Combinations that were asked for and never started.
        stopped: Trials that ended early.
        seconds: What both would have taken besides.
        devices: How many devices would have been held.
    """

    pruned: int
    stopped: int
    seconds: float
    devices: int

    @classmethod
    def of(cls, now: View, devices: int) -> "Saved":
        """Count it; without a whole trial to go by nothing is claimed."""
        whole = now.expected_s
        stopped = [one for one in now.state.trials if one.kind == "stopped"]
        early = sum(max(whole - _seconds(one), 0.0) for one in stopped)
        pruned = len(now.state.pruned)
        return cls(pruned=pruned, stopped=len(stopped), seconds=pruned * whole + early, devices=devices)

    def document(self) -> dict[str, object]:
        """Write it."""
        return {
            "pruned_points": self.pruned,
            "stopped_trials": self.stopped,
            "seconds": round(self.seconds, 1),
            "device_seconds": round(self.seconds * self.devices, 1),
            "how": HOW,
        }


def _seconds(trial: Trial) -> float:
    return trial.outcome.seconds if trial.outcome else 0.0
