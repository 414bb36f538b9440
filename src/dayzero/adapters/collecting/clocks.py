"""Watch a GPU's clocks while a case is measured in another process, and say what they were in its window."""

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
    gpu: Gpu


class Clocks:
    """Looks at one GPU, a hundred times a second, from entering to leaving.

    Args:
        uuid: The GPU's own number, as torch tells it; the first GPU where it tells none.
    """

    def __init__(self, uuid: str = "") -> None:
        self._looks: list[_Look] = []
        self._stopped = threading.Event()
        self._gpus: Gpus | None = None
        self._index = 0
        self.card: Card | None = None
        try:
            self._gpus = Gpus()
        except GpusAbsentError:
            return
        cards = self._gpus.cards()
        self._index = next((i for i, card in enumerate(cards) if uuid and uuid in card.uuid), 0)
        self.card = cards[self._index]

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

        ``looks`` is how many fell into it; the clocks before and after are those of the nearest looks outside.
        """
        looks, self._looks = self._looks, []
        return summary(looks, began_ns, ended_ns)

    def _watch(self) -> None:
        while not self._stopped.wait(_PERIOD_S) and self._gpus is not None:
            self._looks.append(_Look(time.monotonic_ns(), self._gpus.look()[self._index]))


def summary(looks: Sequence[_Look], began_ns: int, ended_ns: int) -> dict[str, Any]:
    """Sum looks up; see :meth:`Clocks.seen`."""
    inside = [look.gpu for look in looks if began_ns <= look.at_ns <= ended_ns]
    if not inside:
        return {"looks": 0}
    before = [look.gpu for look in looks if look.at_ns < began_ns] or inside
    after = [look.gpu for look in looks if look.at_ns > ended_ns] or inside
    throttle = 0
    for gpu in inside:
        throttle |= gpu.throttle
    return {
        "looks": len(inside),
        "sm_mhz_before": before[-1].sm_mhz,
        "sm_mhz_after": after[0].sm_mhz,
        "sm_mhz_min": min(gpu.sm_mhz for gpu in inside),
        "sm_mhz_mean": round(sum(gpu.sm_mhz for gpu in inside) / len(inside), 1),
        "memory_mhz_min": min(gpu.memory_mhz for gpu in inside),
        "power_w_mean": round(sum(gpu.power_w for gpu in inside) / len(inside), 1),
        "temperature_c_start": inside[0].temperature_c,
        "temperature_c_end": inside[-1].temperature_c,
        "throttle": throttle,
    }
