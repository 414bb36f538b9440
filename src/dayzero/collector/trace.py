"""Which kernels did one call launch? Asked of torch's profiler."""

from collections.abc import Callable
from typing import Any

from dayzero.collector.work import Torch


def launched(torch: Torch, call: Callable[[], object], device: str) -> dict[str, Any]:
    """Run a call once under the profiler.

    Returns:
        ``kernels``: name and calls, in the order of their first launch; ``busy_us``: time that they took together;
        ``tool``; or ``error``.
    """
    try:
        events = _events(torch, call, device)
    except Exception as error:  # noqa: BLE001  (a machine that does not let itself be profiled still measures)
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    order: dict[str, list[float]] = {}
    for name, took in events:
        seen = order.setdefault(name, [0, 0.0])
        seen[0] += 1
        seen[1] += took
    kernels = [[name, int(calls)] for name, (calls, _) in order.items()]
    busy = round(sum(took for _, took in order.values()), 3)
    return {"kernels": kernels, "busy_us": busy, "tool": f"torch.profiler {torch.__version__}"}


def _events(torch: Torch, call: Callable[[], object], device: str) -> list[tuple[str, float]]:
    activity = torch.profiler.ProfilerActivity
    on_gpu = device == "cuda"
    with torch.profiler.profile(activities=[activity.CUDA if on_gpu else activity.CPU]) as profile:
        call()
        if on_gpu:
            torch.cuda.synchronize()
    wanted = [event for event in profile.events() if str(event.device_type).endswith("CUDA") == on_gpu]
    wanted.sort(key=lambda event: event.time_range.start)
    return [(str(event.name), float(event.time_range.elapsed_us())) for event in wanted]
