"""Read a recording, and sum it up over a window of the client."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping

from dayzero.bench.telemetry.exposition import GAUGES, KNOWN, pick
from dayzero.bench.telemetry.model import THROTTLES, Gauge, Gpu, Recording, Scrape, Unknown, Window


def read_recording(lines: Iterable[bytes]) -> Recording:
    """Read a recording: header, scrapes, and the trailer that says what recording cost."""
    header: Mapping[str, object] = {}
    scrapes: list[Scrape] = []
    cost_s, set_aside = 0.0, 0
    names: Mapping[str, tuple[str, ...]] = KNOWN
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            set_aside += 1
            continue
        if "schema" in entry:
            header = entry
            names = {series: tuple(spelt) for series, spelt in entry["series"].items()}
        elif "cost_s" in entry:
            cost_s += float(entry["cost_s"])
        else:
            scrapes.append(_scrape(entry, names))
    gpu_names = header.get("gpus", [])
    return Recording(
        scrapes=tuple(scrapes),
        gpu_names=tuple(str(name) for name in gpu_names) if isinstance(gpu_names, list) else (),
        gpus_absent=str(header.get("gpus_absent", "no recording")),
        cost_s=cost_s,
        set_aside=set_aside,
    )


def over(recording: Recording, from_ns: int, to_ns: int) -> Window | Unknown:
    """Sum up what was said over one window of the client.

    Counters are counted between the two scrapes that enclose the window, so that they hold it whole; gauges are taken from the
    scrapes within it.

    Args:
        recording: The recording.
        from_ns: Its begin, on the clock of the rows.
        to_ns: Its end.
    """
    answered = [scrape for scrape in recording.scrapes if scrape.values or scrape.gpus]
    before = max((s for s in answered if s.at_ns <= from_ns), key=_at, default=next(iter(answered), None))
    after = min((s for s in answered if s.at_ns >= to_ns), key=_at, default=next(reversed(answered), None))
    if before is None or after is None or before.at_ns >= after.at_ns:
        errors = [scrape.error for scrape in recording.scrapes if scrape.error]
        return Unknown(errors[0] if errors else "no two scrapes enclose this window")
    held = [scrape for scrape in answered if before.at_ns <= scrape.at_ns <= after.at_ns]
    inside = [scrape for scrape in held if from_ns <= scrape.at_ns <= to_ns]
    steps = {name: _steps([s.values[name] for s in held if name in s.values]) for name in KNOWN if name not in GAUGES}
    given = {name: [s.values[name] for s in inside if name in s.values] for name in GAUGES}
    return Window(
        from_ns=before.at_ns,
        to_ns=after.at_ns,
        scrapes=len(inside),
        counted={name: sum(max(0.0, step) for step in taken) for name, taken in steps.items() if taken},
        gauges={name: _gauge(values) for name, values in sorted(given.items()) if values},
        gpus=_gpu_figures(inside),
        throttled=_throttled(inside),
        restarted=any(step < 0 for taken in steps.values() for step in taken),
    )


def _at(scrape: Scrape) -> int:
    return scrape.at_ns


def _scrape(entry: Mapping[str, object], names: Mapping[str, tuple[str, ...]]) -> Scrape:
    gpus = entry.get("gpus", [])
    return Scrape(
        at_ns=int(str(entry["at_ns"])),
        took_ns=int(str(entry["took_ns"])),
        values=pick(str(entry.get("metrics", "")), names),
        gpus=tuple(Gpu(**gpu) for gpu in gpus) if isinstance(gpus, list) else (),
        error=str(entry.get("error", "")),
    )


def _steps(values: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(values)]


def _gauge(values: list[float]) -> Gauge:
    return Gauge(
        mean=math.fsum(values) / len(values), least=min(values), most=max(values), first=values[0], last=values[-1]
    )


def _gpu_figures(scrapes: list[Scrape]) -> Mapping[str, Gauge]:
    series: dict[str, list[float]] = {}
    for gpu in (gpu for scrape in scrapes for gpu in scrape.gpus):
        for figure in ("sm_mhz", "memory_mhz", "power_w", "temperature_c", "memory_used_bytes", "busy"):
            series.setdefault(f"{gpu.index}.{figure}", []).append(getattr(gpu, figure))
    return {name: _gauge(values) for name, values in series.items()}


def _throttled(scrapes: list[Scrape]) -> Mapping[str, float]:
    looks = [gpu.throttle for scrape in scrapes for gpu in scrape.gpus]
    shares = {name: sum(bool(look & bit) for look in looks) / len(looks) for bit, name in THROTTLES.items() if looks}
    return {name: share for name, share in shares.items() if share}
