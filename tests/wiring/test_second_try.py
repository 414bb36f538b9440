"""A run that only the client spoiled is taken once more; one that the server spoiled never is."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.simulators.openai_server import Behaviour, OpenAiServer, serving_in_thread

from dayzero.adapters.openai_http import Connection
from dayzero.bench.validity import Judgement
from dayzero.core.verdict import Refuted
from dayzero.core.workload import Cell, Workload
from dayzero.wiring.endpoint import EndpointMeasurement, measure_endpoint
from dayzero.wiring.look import BenchTarget
from dayzero.wiring.run_files import write_receipt
from dayzero.wiring.second_try import with_second_try

CELL = Cell(name="c1", concurrency=1, requests=2, warmup_requests=0, input_tokens=40, output_tokens=4)
WORKLOAD = Workload(seed=3, cells=(CELL,))


def against(rule: str) -> Judgement:
    return Judgement(rule=rule, cell="c1", sentence="", bound="", measured="", verdict=Refuted(f"{rule} is broken"))


def measuring(
    server: OpenAiServer, folder: Path, faults: Sequence[tuple[str, ...]], sent: list[Workload]
) -> Callable[[Workload], EndpointMeasurement]:
    """Measure for real; then let each run in turn have broken these rules and no others."""

    def measure(workload: Workload) -> EndpointMeasurement:
        target = BenchTarget(connection=Connection(url=server.url), model="", folder=folder)
        measured = measure_endpoint(target, workload, lambda _progress: None)
        judgements = tuple(map(against, faults[len(sent)]))
        sent.append(workload)
        because = tuple(judgement.reason for judgement in judgements)
        return replace(measured, report=replace(measured.report, judgements=judgements, invalid_because=because))

    return measure


def test_a_late_client_gets_one_second_try_and_the_first_run_stays_beside(tmp_path: Path):
    sent: list[Workload] = []
    with serving_in_thread(Behaviour()) as server:
        measure = measuring(server, tmp_path, [("client-lag", "run-queue", "censored"), ()], sent)
        measured, again = with_second_try(measure, WORKLOAD, tmp_path)
    assert measured.report.valid
    assert [workload.nonce for workload in sent] == ["", "again"]
    assert "c1: client-lag is broken" in again
    for name in ("reads.bin", "requests.jsonl", "telemetry.jsonl"):
        first, second = ((folder / name).read_bytes() for folder in (tmp_path / "first-run", tmp_path))
        assert first != second
    write_receipt(measured, tmp_path)
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert again in receipt["notes"]
    assert receipt["workload"]["nonce"] == "again"


def test_there_is_no_third_try(tmp_path: Path):
    sent: list[Workload] = []
    with serving_in_thread(Behaviour()) as server:
        measure = measuring(server, tmp_path, [("client-lag",), ("client-lag",), ()], sent)
        measured, again = with_second_try(measure, WORKLOAD, tmp_path)
    assert (measured.report.valid, len(sent), bool(again)) == (False, 2, True)


@pytest.mark.parametrize(
    "rules",
    [
        (),
        ("failures",),
        ("client-lag", "steady-rate"),
        ("run-queue", "server-restarted"),
        ("censored",),
        ("ended", "client-lag"),
        ("in-flight", "client-lag"),
    ],
)
def test_what_the_server_can_have_caused_is_never_taken_again(rules: tuple[str, ...], tmp_path: Path):
    sent: list[Workload] = []
    with serving_in_thread(Behaviour()) as server:
        _, again = with_second_try(measuring(server, tmp_path, [rules, ()], sent), WORKLOAD, tmp_path)
    assert (len(sent), again) == (1, "")
    assert not (tmp_path / "first-run").exists()
