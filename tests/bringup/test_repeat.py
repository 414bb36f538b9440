"""Repeated starts over a scripted workbench: what is counted, what is filed, and that every engine is stopped."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from tests.samples import package
from tests.simulators.evidence_store import MemoryRaw

from dayzero.audit.model import Report as AuditReport
from dayzero.bench.model import Progress
from dayzero.bringup.model import Captured, Run
from dayzero.bringup.repeat import (
    Attempt,
    attempt_records,
    failure_rate,
    repeat_starts,
    starts_records,
    starts_summary,
)
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.pins import EngineBuild, Sha256
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Workload
from dayzero.evidence.claims import Capture, file_raw
from dayzero.evidence.model import Claim
from dayzero.fit.model import HostReport as FitReport
from dayzero.serve.model import Died, Healthy, LogLine, Start, TimedOut
from dayzero.triage.model import Diagnosis
from dayzero.wiring import plugins

UP = Healthy(seconds=0.5)
CRASH = Died(seconds=2.0, exit_code=-6, root=LogLine(number=1, text="E illegal state"))
LATE = TimedOut(seconds=60.0, root=None)
AT = "2026-11-29T12:00:00Z"


@dataclass
class Bench:
    """Starts that end as scripted, one after another. Implements ``bringup.ports.Workbench``."""

    script: list[Start]
    log: bytes = b"E illegal state\n"
    running: int = 0
    started: list[str] = field(default_factory=list)
    taken_at: int = 0

    @contextlib.contextmanager
    def start(self, recipe: Recipe, build: EngineBuild, log_name: str) -> Iterator["Session"]:
        assert recipe.engine == build
        assert self.running == 0, "one engine at a time"
        if self.taken_at == len(self.started) + 1:
            raise RemoteError("port 18480 on 127.0.0.1 is already taken", hint="Stop what listens there.")
        self.started.append(log_name)
        self.running += 1
        try:
            yield Session(self, log_name)
        finally:
            self.running -= 1

    def audit(self, recipe: Recipe, build: EngineBuild) -> AuditReport:
        raise AssertionError((recipe, build))

    def fit(self, recipe: Recipe) -> FitReport:
        raise AssertionError(recipe)

    def environment(self) -> tuple[tuple[str, str], ...]:
        return (("cpu", "test"),)


@dataclass
class Session:
    bench: Bench
    log_name: str
    url: str = "http://127.0.0.1:1"
    rows_path: str = "requests.jsonl"

    @property
    def log_path(self) -> str:
        return self.log_name

    def wait(self, on_wait: Callable[[float, str], None]) -> Start:
        on_wait(0.0, "loading")
        return self.bench.script[len(self.bench.started) - 1]

    def measure(self, workload: Workload, on_progress: Callable[[Progress], None]) -> Run:
        raise AssertionError((workload, on_progress))

    def log(self) -> Captured:
        return Captured(name=self.log_name, content=self.bench.log, command="serve")

    def diagnose(self) -> Diagnosis:
        raise AssertionError(self)


def run(bench: Bench, count: int) -> tuple[tuple[Attempt, ...], list[Attempt]]:
    told: list[Attempt] = []
    waits: list[int] = []

    def tell(attempt: Attempt) -> None:
        assert bench.running == 0, "it is told when its engine has been stopped"
        told.append(attempt)

    attempts = repeat_starts(
        package(), bench, count, on_wait=lambda number, _seconds, _line: waits.append(number), on_attempt=tell
    )
    assert waits == list(range(1, count + 1))
    return attempts, told


def test_an_intermittent_crash_gets_a_rate_with_an_interval():
    bench = Bench([UP, CRASH, UP, UP, LATE])
    attempts, told = run(bench, 5)
    assert [attempt.failed for attempt in attempts] == [False, True, False, False, True]
    assert str(failure_rate(attempts)) == "2 of 5 (5.3 % to 85.3 %)"
    assert told == list(attempts)
    assert bench.started == [f"start-{number}.log" for number in range(1, 6)]


def test_each_start_is_recorded_with_how_it_ended_and_the_digest_of_its_log():
    attempts, _ = run(Bench([UP, CRASH]), 2)
    records = [json.loads(attempt.record.content) for attempt in attempts]
    assert [record["outcome"] for record in records] == ["healthy", "died"]
    assert records[1] == {
        "schema": "dayzero/start/v1",
        "build": "xllamacpp==2.0",
        "model": "tiny",
        "attempt": 2,
        "outcome": "died",
        "seconds": "2.0000",
        "exit_code": -6,
        "looks_like": {"line": 1, "text": "E illegal state"},
        "log": Sha256.of(b"E illegal state\n").hex,
    }


def test_a_start_is_filed_as_its_record_and_its_log_and_a_silent_engine_leaves_no_log():
    store = MemoryRaw()
    (attempt,), _ = run(Bench([CRASH]), 1)
    assert [raw.name for raw in attempt_records(attempt, store, captured_at=AT)] == ["start-1.json", "start-1.log"]
    (silent,), _ = run(Bench([CRASH], log=b""), 1)
    assert [raw.name for raw in attempt_records(silent, store, captured_at=AT)] == ["start-1.json"]
    assert json.loads(silent.record.content)["log"] == ""


def test_failures_and_starts_are_claims_on_the_summary_that_names_every_record():
    store, definition = MemoryRaw(), package()
    attempts, _ = run(Bench([UP, CRASH, LATE]), 3)
    summary = starts_summary(definition, attempts, (("cpu", "test"),))
    raw, *claims = starts_records(definition, summary, store, plugins.extractors(), captured_at=AT)
    assert raw == store_record(store, summary)
    assert [(claim.slug, claim.value) for claim in claims if isinstance(claim, Claim)] == [
        ("demo-tiny/start-failures", "2"),
        ("demo-tiny/start-attempts", "3"),
    ]
    document = json.loads(summary.content)
    assert document["schema"] == "dayzero/starts/v1"
    assert document["environment"] == {"cpu": "test"}
    assert [start["record"] for start in document["starts"]] == [
        Sha256.of(attempt.record.content).hex for attempt in attempts
    ]


def store_record(store: MemoryRaw, summary: Captured) -> object:
    return file_raw(store, summary.content, Capture(name="starts.json", captured_at=AT, command=summary.command))


def test_a_start_that_could_not_be_made_is_no_trial_and_what_came_before_was_told():
    bench = Bench([UP, UP, UP], taken_at=3)
    told: list[Attempt] = []
    with pytest.raises(RemoteError, match="already taken"):
        repeat_starts(package(), bench, 3, on_wait=lambda *_: None, on_attempt=told.append)
    assert [attempt.number for attempt in told] == [1, 2]


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_below_one_is_bad_input(count):
    with pytest.raises(InputError, match=f"cannot be started {count} times"):
        run(Bench([]), count)
