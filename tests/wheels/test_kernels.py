"""Kernels of released builds held side by side: what was read by hand in both wheels, and that each declared file is there."""

import pytest
from tests.wheels.released import chosen, wheel

from dayzero.core.verdict import Undecided
from dayzero.perfdb.rebase.compare import Build, compare
from dayzero.perfdb.rebase.matrix import declared_kernels, kernel_of
from dayzero.perfdb.rebase.model import Aspect, Finding, Holding

pytestmark = pytest.mark.wheels

CONV, FLASH, PACKED = "causal_conv1d_fn_qkv3", "flashkda_fwd", "fused_recurrent_gated_delta_rule_packed_decode"
MARLIN = "vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts"
GONE = {"vllm_unquantizedfusedmoe_flashinfer_trtllm_trtllmbf16experts": "vllm==0.24.0"}
JUDGED = (
    ("vllm==0.27.0", "vllm==0.27.1", "kda_perf", CONV, Holding.KERNEL_EQUAL),
    ("vllm==0.27.0", "vllm==0.27.1", "kda_perf", FLASH, Holding.KERNEL_EQUAL),  # the library is the same file
    ("vllm==0.27.0", "vllm==0.27.1", "moe_perf", MARLIN, Holding.UNDECIDED),  # it was built anew
    ("vllm==0.24.0", "vllm==0.27.0", "kda_perf", CONV, Holding.RECOLLECT),
    ("vllm==0.24.0", "vllm==0.27.0", "gdn_perf", PACKED, Holding.UNDECIDED),  # moved, the same, another torch
    ("vllm==0.24.0", "vllm==0.27.0", "moe_perf", MARLIN, Holding.RECOLLECT),
)


def build(spec: str) -> Build:
    found = wheel(*spec.split("=="))
    pins = dict(line.split("==") for line in found.requires if line.startswith("torch=="))
    return Build(engine=found.name, version=found.version, texts={found.name: found.files}, pins=pins)


@pytest.mark.parametrize(("old", "new", "table", "label", "holding"), chosen(JUDGED, lambda row: row[:2]))
def test_what_was_read_by_hand_is_said(old, new, table, label, holding):
    kernel = kernel_of(declared_kernels(), "vllm", table, label)
    assert kernel is not None
    found = compare(kernel, build(old), build(new))
    assert found.holding is holding, found.reason
    if label == PACKED:
        assert next(one for one in found.evidence if one.aspect is Aspect.CODE).finding is Finding.EQUAL


@pytest.mark.parametrize(
    ("kernel", "spec"),
    chosen(((one, GONE.get(one.labels[0], "vllm==0.27.0")) for one in declared_kernels()), lambda row: [row[1]]),
    ids=lambda one: one if isinstance(one, str) else f"{one.tables[0]}-{one.labels[0]}",
)
def test_each_declared_kernel_is_in_a_release(kernel, spec):
    code = build(spec).code(kernel.code, kernel.within)
    assert not isinstance(code, Undecided), code
    for entry in kernel.dispatch:
        assert not isinstance(build(spec).code((entry,), ()), Undecided), entry
