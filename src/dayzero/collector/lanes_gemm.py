"""Matrix products: torch's own, on a GPU or on the processor, and numpy's where there is no torch."""

from dayzero.collector.work import Check, Columns, Torch, UnsupportedError, Work, compare

_CHECKED_ROWS = 32
LIMITS = {"bfloat16": 0.02, "float32": 1e-4, "fp8": 0.02}


def linear(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Multiply by a weight as a layer does: ``torch.nn.functional.linear``."""
    device, kind = str(options.get("device", "cuda")), str(columns["gemm_dtype"])
    dtype = getattr(torch, kind)
    m, n, k = (int(columns[name]) for name in "mnk")
    x = torch.randn(m, k, device=device).to(dtype)
    weight = torch.randn(n, k, device=device).to(dtype)

    def call() -> Torch:
        return torch.nn.functional.linear(x, weight)

    def check() -> Check:
        return _rows_agree(torch, call(), x, weight, kind)

    return Work(call=call, check=check, device=device, package="torch")


def scaled_fp8(columns: Columns, options: Columns, torch: Torch) -> Work:  # noqa: ARG001  (as all lanes are called)
    """Multiply in 8-bit floats with one scale a tensor: ``torch._scaled_mm``."""
    m, n, k = (int(columns[name]) for name in "mnk")
    multiply = getattr(torch, "_scaled_mm", None)
    if multiply is None:
        raise UnsupportedError("this torch has no _scaled_mm")
    x = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
    weight = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), dtype=torch.float32, device="cuda")

    def call() -> Torch:
        return multiply(x, weight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    def check() -> Check:
        return _rows_agree(torch, call(), x, weight, "fp8")

    return Work(call=call, check=check, package="torch")


def numpy_matmul(columns: Columns, options: Columns, torch: Torch | None) -> Work:  # noqa: ARG001
    """Multiply on the processor: ``numpy.matmul``."""
    try:
        import numpy as np  # noqa: PLC0415  (with the lane)
    except ImportError as error:
        raise UnsupportedError("numpy is not installed") from error
    m, n, k = (int(columns[name]) for name in "mnk")
    made = np.random.default_rng(0)
    x, weight = made.standard_normal((m, k), dtype=np.float32), made.standard_normal((k, n), dtype=np.float32)

    def call() -> Torch:
        return np.matmul(x, weight)

    def check() -> Check:
        expected = x.astype(np.float64) @ weight.astype(np.float64)
        error = float(np.abs(call() - expected).max() / np.abs(expected).max())
        state = "agrees" if error <= LIMITS["float32"] else "differs"
        return Check(state=state, against="the product, float64", error=error, limit=LIMITS["float32"])

    return Work(call=call, check=check, device="cpu", package="numpy")


def _rows_agree(torch: Torch, found: Torch, x: Torch, weight: Torch, kind: str) -> Check:  # the last rows, all columns
    expected = x[-_CHECKED_ROWS:].float() @ weight.float().T
    return compare(
        torch, found[-_CHECKED_ROWS:], expected, against="the last rows of the product, float32", limit=LIMITS[kind]
    )
