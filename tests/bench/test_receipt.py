"""A receipt is written of a valid run only, and holds what a reader needs to believe a figure, or not."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.bench.sample_rows import CELL, CHEAP, QUIET, rows

from dayzero.bench.metrics import METRICS, RATES
from dayzero.bench.model import Completed, Outcome, Row
from dayzero.bench.receipt import Arm, Dispatched, StartPhase, Subject, receipt
from dayzero.bench.report import Report, report
from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.core.workload import Arrival, Cell, Replay, Slo, Workload

FILES = (("reads.bin", Sha256("1" * 64)), ("requests.jsonl", Sha256("2" * 64)))
SUBJECT = Subject(
    model="k3",
    engine="vllm",
    route="/v1/completions",
    files=FILES,
    dispatched=(
        Dispatched(what="block size", asked="16", resolved="64", source_line="engine.log:412"),
        Dispatched(what="attention backend", asked="", resolved="FLASHINFER", source_line="engine.log:400"),
    ),
    start_phases=(StartPhase("weights", 31.5),),
    arms=(Arm("stock", {"valid": True}),),
    notes=("a note",),
)
WORKLOAD = Workload(seed=7, cells=(replace(CELL, slos=(Slo("ttft_ms", 60.0),)),))


def made(measured: tuple[Row, ...] = rows(20), workload: Workload = WORKLOAD) -> Report:
    return report(Outcome(rows=measured, ending=Completed(), client=CHEAP), workload, QUIET)


def test_it_names_files_definitions_client_rules_and_figures():
    written: Any = json.loads(json.dumps(receipt(made(), WORKLOAD, SUBJECT)))
    assert written["schema"] == "dayzero/bench-receipt/v1"
    assert written["raw"] == [{"file": name, "sha256": digest.hex} for name, digest in FILES]
    assert [entry["name"] for entry in written["definitions"]["metrics"]] == [
        entry.name for entry in (*METRICS, *RATES)
    ]
    assert written["client"]["sha256"] == QUIET.client_sha256
    assert written["workload"]["cells"][0]["slos"] == [{"metric": "ttft_ms", "limit_ms": 60.0}]
    assert written["cells"][0]["metrics"]["attainment"] == 1.0
    kept = {entry["rule"]: (entry["measured"], entry["bound"]) for entry in written["validity"]}
    assert kept["client-lag"] == ("0.100 ms", "at most 2.500 ms")


def test_it_says_whether_the_client_was_kept_on_a_core_apart_from_the_engine():
    apart = report(Outcome(rows=rows(20), ending=Completed(), client=CHEAP), WORKLOAD, replace(QUIET, core=3))
    for measured, core in ((apart, 3), (made(), None)):
        written = receipt(measured, WORKLOAD, SUBJECT)
        assert isinstance(written["client"], dict)
        assert written["client"]["kept_on_core"] == core


def test_it_holds_what_was_really_dispatched_beside_what_was_asked():
    written: Any = receipt(made(), WORKLOAD, SUBJECT)
    assert [(entry["what"], entry["differs"]) for entry in written["dispatched"]] == [
        ("block size", True),
        ("attention backend", False),
    ]
    assert written["start_phases"] == [{"name": "weights", "seconds": 31.5}]
    assert written["arms"] == [{"name": "stock", "valid": True}]


def test_there_is_none_of_a_run_that_is_not_valid_or_has_no_raw_file():
    with pytest.raises(EvidenceError, match="no receipt of a run that is not valid: c1: only 19 of 20"):
        receipt(made(rows(19)), WORKLOAD, SUBJECT)
    with pytest.raises(EvidenceError, match="no receipt without a raw file"):
        receipt(made(), WORKLOAD, replace(SUBJECT, files=()))


def test_a_trace_is_not_written_out_in_full():
    arrivals = tuple(Arrival(at_s=float(at), input_tokens=8, output_tokens=3) for at in range(20))
    cell = Cell(
        name="c1", concurrency=1, requests=20, warmup_requests=0, input_tokens=8, output_tokens=3, load=Replay(arrivals)
    )
    workload = Workload(seed=7, cells=(cell,))
    written: Any = receipt(made(workload=workload), workload, SUBJECT)
    assert written["workload"]["cells"][0]["load"] == {"kind": "Replay", "requests": 20, "speed": 1.0}
