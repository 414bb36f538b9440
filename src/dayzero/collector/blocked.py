"""A product in blocks on the processor: an operator with candidates, some of them wrong in ways that have to be noticed."""

import os
import time

from dayzero.collector.work import Check, Columns, Torch, Work

_LIMIT = 1e-4


def blocked_matmul(columns: Columns, options: Columns, torch: Torch | None) -> Work:  # noqa: ARG001  (as all lanes are called)
    """Multiply in blocks of so many rows; ``plant`` makes it wrong, crash, or never end."""
    import numpy as np  # noqa: PLC0415  (with the lane)

    m, n, k = (int(columns[name]) for name in "mnk")
    block, plant = int(options.get("candidate", {}).get("block", 1)), options.get("plant", "")
    made = np.random.default_rng(0)
    x, weight = made.standard_normal((m, k), dtype=np.float32), made.standard_normal((k, n), dtype=np.float32)

    def call() -> Torch:
        if plant == "crash":
            os.abort()
        if plant == "hang":
            time.sleep(3600)
        out = np.zeros((m, n), dtype=np.float32)
        for start in range(0, m // 2 if plant == "half_grid" else m, block):
            out[start : start + block] = x[start : start + block] @ weight
        return out

    def check() -> Check:
        expected = x.astype(np.float64) @ weight.astype(np.float64)
        error = float(np.abs(call() - expected).max() / np.abs(expected).max())
        state = "agrees" if error <= _LIMIT else "differs"
        return Check(state=state, against="the product, float64", error=error, limit=_LIMIT)

    return Work(call=call, check=check, device="cpu", package="numpy")
