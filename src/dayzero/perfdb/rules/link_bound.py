"""Collectives that are faster than the link of a GPU is sold to be."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule
from dayzero.perfdb.tables import systems

_TABLE = "nccl_perf"
_BYTES = {"half": 2, "bfloat16": 2, "int8": 1}  # as nccl-tests calls them


def _matched(family: Family) -> str | None:
    if family.table != _TABLE:
        return None
    rates = " ".join(f"WHEN '{name}' THEN {facts.link_gb_s}" for name, facts in systems().items() if facts.link_gb_s)
    sizes = " ".join(f"WHEN '{name}' THEN {size}" for name, size in _BYTES.items())
    # What the others have of its result, each GPU has to be sent, also where a switch adds up on the way.
    received = f"message_size::DOUBLE * CASE nccl_dtype {sizes} END * (num_gpus - 1.0) / num_gpus"
    bound = f"{received} / (CASE system {rates} END * 1000)"
    return f"SELECT *, {bound} / latency_us AS told FROM {family.table} WHERE latency_us > 0 AND latency_us < {bound}"  # noqa: S608  (our own names)


RULE = Rule(
    name="faster-than-link@1",
    question="Is a collective faster than the sold rate of a GPU's link allows?",
    severity="error",
    threshold="the rate in one direction in dayzero/perfdb/systems.toml",
    groups=("system", "engine", "dir_version", "op_name"),
    matched=_matched,
    unit="times the sold rate",
)
