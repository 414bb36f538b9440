"""Matrix products that are faster than the tensor cores are sold to be."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule
from dayzero.perfdb.tables import systems

_MARGIN = 1.1  # clocks above the sold ones, calibrated on the rows of aiconfigurator-core 0.12.0
_TABLE = "gemm_perf"


def _matched(family: Family) -> str | None:
    if family.table != _TABLE:
        return None
    rates = " ".join(
        f"WHEN system = '{name}' AND ({kind}) THEN {rate}"
        for name, facts in systems().items()
        for kind, rate in (
            ("gemm_dtype IN ('bfloat16', 'float16')", facts.bf16_tflops),
            ("gemm_dtype LIKE 'fp8%'", facts.fp8_tflops),
            ("gemm_dtype LIKE 'nvfp4%'", facts.fp4_tflops),
        )
        if rate
    )
    bound = f"2::DOUBLE * m * n * k / (CASE {rates} END * 1000000)"
    return (
        f"SELECT *, {bound} / latency_us AS told FROM {family.table} "  # noqa: S608
        f"WHERE latency_us > 0 AND latency_us * {_MARGIN} < {bound}"
    )


RULE = Rule(
    name="below-bound@1",
    question="Is a matrix product faster than the sold rate of the tensor cores allows?",
    severity="error",
    threshold=f"{_MARGIN:g} times the dense rate in dayzero/perfdb/systems.toml",
    groups=("system", "engine", "dir_version", "gemm_dtype"),
    matched=_matched,
    unit="times the sold rate",
)
