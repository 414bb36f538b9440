"""Repeated starts of the embedded engine, which really dies in some of them."""

import json
import socket

import pytest

from dayzero.adapters.processes import free_port
from dayzero.bringup.repeat import Attempt
from dayzero.core.errors import RemoteError
from dayzero.core.pins import Sha256
from dayzero.evidence.check import check
from dayzero.evidence.model import RawFile
from dayzero.evidence.state import Standing
from dayzero.wiring import definitions, plugins, store
from dayzero.wiring.laboratory import HOST
from dayzero.wiring.trials import Listener, repeat_package

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _builds(embedded_engine) -> None:
    assert embedded_engine


@pytest.fixture
def package():
    return definitions.package("demo-kimi-k3-tiny")


def failures(folder) -> tuple[str, int]:
    """Give the claimed count and how many raw files are filed; every claim has to come out of its raw file."""
    ledger = store.open_ledger(folder / "evidence")
    raw = store.raw_store(folder / "evidence")
    report = check(ledger, raw, plugins.extractors(), (), folder=str(folder / "evidence"))
    assert report.findings == ()
    state = ledger.standing("demo-kimi-k3-tiny/start-failures")
    assert isinstance(state, Standing)
    return state.claim.text, len(ledger.raw_files())


def test_five_healthy_starts_still_leave_room_for_a_failure_rate_of_one_half(package, tmp_path):
    told: list[Attempt] = []
    found = repeat_package(package, tmp_path / "run", 5, Listener(lambda *_: None, told.append), port=free_port(HOST))
    assert str(found.failures) == "0 of 5 (0.0 % to 52.2 %)"
    assert told == list(found.attempts)
    assert failures(tmp_path / "run") == ("0", 11)


def test_an_engine_that_dies_in_some_starts_gets_a_rate_and_its_logs_are_filed(package, tmp_path):
    """Between two starts the weights are taken away and put back, so that every second start dies."""
    folder = tmp_path / "run"
    weights, hidden = folder / "launch" / "model", folder / "launch" / "hidden"

    def flip(attempt: Attempt) -> None:
        if attempt.failed:
            weights.unlink()
            hidden.rename(weights)
        else:
            weights.rename(hidden)
            weights.symlink_to(tmp_path / "nowhere")

    found = repeat_package(package, folder, 4, Listener(lambda *_: None, flip), port=free_port(HOST))
    assert [attempt.failed for attempt in found.attempts] == [False, True, False, True]
    assert str(found.failures) == "2 of 4 (6.8 % to 93.2 %)"
    assert failures(folder) == ("2", 9)
    starts = json.loads(found.summary.content)["starts"]
    log = store.raw_store(folder / "evidence").read(Sha256(starts[1]["log"]))
    assert log == found.attempts[1].log.content
    assert b"Failed to init server" in log


def test_an_interruption_keeps_the_starts_that_were_made_and_claims_nothing(package, tmp_path):
    def stop(attempt: Attempt) -> None:
        if attempt.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repeat_package(package, tmp_path, 4, Listener(lambda *_: None, stop), port=free_port(HOST))
    entries = store.open_ledger(tmp_path / "evidence").entries
    assert [entry.record.name for entry in entries if isinstance(entry.record, RawFile)] == [
        "start-1.json",
        "start-1.log",
        "start-2.json",
        "start-2.log",
    ]
    assert len(entries) == 4


def test_a_port_that_is_taken_between_two_starts_is_no_failed_start(package, tmp_path):
    port = free_port(HOST)
    with socket.socket() as other:

        def take(_: Attempt) -> None:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind((HOST, port))
            other.listen()

        with pytest.raises(RemoteError, match="already taken"):
            repeat_package(package, tmp_path, 3, Listener(lambda *_: None, take), port=port)
    names = [raw.name for raw in store.open_ledger(tmp_path / "evidence").raw_files().values()]
    assert names == ["start-1.json", "start-1.log"]
