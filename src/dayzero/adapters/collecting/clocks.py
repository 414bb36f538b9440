"""Watch the clocks of GPUs while a case is measured in other processes, and say what they were in its window."""

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from dayzero.adapters.nvml import Card, Gpus, GpusAbsentError
from dayzero.bench.telemetry.model import Gpu

_PERIOD_S = 0.01


@dataclass(frozen=True, slots=True)
class _Look:
    at_ns: int
    gpus: tuple[Gpu, ...]


class Clocks:
    """Looks at the GPUs of a case, a hundred times a second, from entering to leaving.

    Args:
        uuids: The GPUs' own numbers, as torch tells them; for one that it does not tell, the GPU in its place.
    """

    def __init__(self, uuids: tuple[str, ...]) -> None:
        self.uuids = uuids
        self._looks: list[_Look] = []
        self._stopped = threading.Event()
        self._gpus: Gpus | None = None
        self._indices: tuple[int, ...] = ()
        self.card: Card | None = None
        try:
            self._gpus = Gpus()
        except GpusAbsentError:
            return
        cards = self._gpus.cards()
        named = [next((i for i, card in enumerate(cards) if uuid and uuid in card.uuid), None) for uuid in uuids]
        self._indices = tuple(
            min(place, len(cards) - 1) if found is None else found for place, found in enumerate(named)
        )
        self.card = cards[self._indices[0]]

    def __enter__(self) -> Self:
        if self._gpus is not None:
            self._thread = threading.Thread(target=self._watch, name="clocks", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._gpus is not None:
            self._thread.join()
            self._gpus.__exit__()

    def seen(self, began_ns: int, ended_ns: int) -> dict[str, Any]:
        """Say what was seen in a window of the monotonic clock, and forget what was before its end.

        ``looks`` is how many fell into it; the clocks before and after are those of the nearest looks outside. Of several
        GPUs the clocks are the lowest, the temperatures the highest, the means over all, and the reasons to throttle those of any.
        """
        looks, self._looks = self._looks, []
        return summary(looks, began_ns, ended_ns)

    def _watch(self) -> None:
        while not self._stopped.wait(_PERIOD_S) and self._gpus is not None:
            seen = self._gpus.look()
            self._looks.append(_Look(time.monotonic_ns(), tuple(seen[index] for index in self._indices)))


def summary(looks: Sequence[_Look], began_ns: int, ended_ns: int) -> dict[str, Any]:
    """Sum looks up; see :meth:`Clocks.seen`."""
    inside = [look for look in looks if began_ns <= look.at_ns <= ended_ns]
    if not inside:
        return {"looks": 0}
    before = [look for look in looks if look.at_ns < began_ns] or inside
    after = [look for look in looks if look.at_ns > ended_ns] or inside
    all_gpus = [gpu for look in inside for gpu in look.gpus]
    throttle = 0
    for gpu in all_gpus:
        throttle |= gpu.throttle
    return {
        "looks": len(inside),
        "sm_mhz_before": min(gpu.sm_mhz for gpu in before[-1].gpus),
        "sm_mhz_after": min(gpu.sm_mhz for gpu in after[0].gpus),
        "sm_mhz_min": min(gpu.sm_mhz for gpu in all_gpus),
        "sm_mhz_mean": round(statistics.fmean(gpu.sm_mhz for gpu in all_gpus), 1),
        "memory_mhz_min": min(gpu.memory_mhz for gpu in all_gpus),
        "power_w_mean": round(statistics.fmean(gpu.power_w for gpu in all_gpus), 1),
        "temperature_c_start": max(gpu.temperature_c for gpu in inside[0].gpus),
        "temperature_c_end": max(gpu.temperature_c for gpu in inside[-1].gpus),
        "throttle": throttle,
    }
