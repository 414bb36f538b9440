"""The sequence over a scripted workbench: what stops it, what it tells, and that every engine is stopped."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
from tests.samples import build, package
from tests.triage.samples import LOG, root_found

from dayzero.audit.model import Report as AuditReport
from dayzero.bench.model import Aborted, ClientLoad, Completed, Ending, Environment, Outcome, Progress
from dayzero.bench.report import Report as BenchReport
from dayzero.bringup.laboratory import investigate
from dayzero.bringup.model import Captured, Measured, Run, Stopped
from dayzero.bringup.record import bringup_record
from dayzero.core.hardware import HostMemory
from dayzero.core.package import Package, Wall
from dayzero.core.pins import EngineBuild
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.core.workload import Workload
from dayzero.fit.model import HostReport as FitReport
from dayzero.serve.model import Died, Healthy, LogLine, Start, TimedOut
from dayzero.triage.model import CauseNotInLog, Diagnosis, Link, Role, Started, UnknownWall

OLD = build("1.0")
CAUSE = LogLine(number=3, text="E unknown model architecture")


NO_LOAD = ClientLoad(
    lag_ms=(),
    window_s=0.0,
    cpu_s=0.0,
    waited_s=0.0,
    total_cpu_s=0.0,
    memory_bytes=0,
    connections=0,
    clock_moved_ns=0,
)


@dataclass
class Bench:
    """Answers as told, and notes which engines run."""

    audits: dict[str, Verdict] = field(
        default_factory=lambda: {"1.0": Refuted("no kimi-k3"), "2.0": Proven("all there")}
    )
    starts: dict[str, Start] = field(
        default_factory=lambda: {"1.0": Died(seconds=0.1, exit_code=1, root=CAUSE), "2.0": Healthy(seconds=0.5)}
    )
    fitting: Verdict = field(default_factory=lambda: Proven("fits"))
    ending: Ending = field(default_factory=Completed)
    invalid: tuple[str, ...] = ()
    diagnosis: Diagnosis = field(default_factory=root_found)
    again: str = ""
    running: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)

    def audit(self, recipe: Recipe, build: EngineBuild) -> AuditReport:
        verdict = self.audits[build.version]
        return AuditReport(build=str(build), model=recipe.model.name, checks=(), remedies=(), verdict=verdict)

    def fit(self, recipe: Recipe) -> FitReport:
        assert recipe
        memory = HostMemory(total=Bytes(2), available=Bytes(1), source="/proc/meminfo")
        return FitReport(terms=(), memory=memory, verdict=self.fitting)

    @contextlib.contextmanager
    def start(self, recipe: Recipe, build: EngineBuild, log_name: str) -> Iterator["Session"]:
        assert recipe
        self.running.append(build.version)
        self.started.append(build.version)
        try:
            yield Session(self, build, log_name)
        finally:
            self.running.remove(build.version)

    def environment(self) -> tuple[tuple[str, str], ...]:
        return (("cpu", "test"),)


@dataclass
class Session:
    bench: Bench
    build: EngineBuild
    log_name: str
    url: str = "http://127.0.0.1:1"
    rows_path: str = "requests.jsonl"

    @property
    def log_path(self) -> str:
        return self.log_name

    def wait(self, on_wait: Callable[[float, str], None]) -> Start:
        on_wait(0.0, "loading")
        return self.bench.starts[self.build.version]

    def measure(self, workload: Workload, on_progress: Callable[[Progress], None]) -> Run:
        on_progress(Progress(cell="c1", phase="measured", done=1, planned=1, failed=0))
        environment = Environment(client="test", client_sha256="", stamps="", cores=1, load_before=0.0, load_after=0.0)
        report = BenchReport(
            seed=workload.seed,
            cells=(),
            environment=environment,
            client=NO_LOAD,
            tokens=0,
            judgements=(),
            invalid_because=self.bench.invalid,
            notes=(),
        )
        return Run(
            outcome=Outcome(rows=(), ending=self.bench.ending, client=NO_LOAD),
            report=report,
            captured=(Captured(name="requests.jsonl", content=b"{}\n", command="bench"),),
            again=self.bench.again,
        )

    def log(self) -> Captured:
        return Captured(name=self.log_name, content=b"log\n", command="serve")

    def diagnose(self) -> Diagnosis:
        return self.bench.diagnosis


@dataclass
class Listener:
    """Keeps what it was told."""

    told: list[str] = field(default_factory=list)

    def step(self, title: str, subject: str) -> None:
        self.told.append(f"{title}: {subject}")

    def say(self, label: str, text: str) -> None:
        self.told.append(f"{label} {text}")

    def waiting(self, seconds: float, line: str) -> None:
        self.told.append(f"waiting {seconds} {line}")

    def measuring(self, progress: Progress) -> None:
        self.told.append(f"measuring {progress.cell}")


def with_wall() -> Package:
    return package(walls=(Wall(advisory="DZA-2026-001", build=OLD, resolution="Re-pin."),))


def test_a_bring_up_shows_the_wall_first_and_leaves_every_file_it_captured():
    bench, listener = Bench(), Listener()
    found = investigate(with_wall(), bench, listener)
    assert isinstance(found, Measured)
    assert [file.name for file in found.captured] == ["requests.jsonl", "start.json", "engine.log", "DZA-2026-001.log"]
    assert (bench.started, bench.running) == (["1.0", "2.0"], [])
    assert [line.split(":")[0] for line in listener.told if ": " in line and " " not in line.split(":")[0]] == [
        "audit", "start", "audit", "fit", "serve", "measure",
    ]  # fmt: skip
    assert listener.told[listener.told.index("died after 0.10 s with exit code 1") + 1 :][:3] == [
        "root cause DZA-2026-001.log:3: E unknown model architecture",
        "wall model-unrecognized: This build does not know the architecture.",
        "resolution Re-pin.",
    ]


@pytest.mark.parametrize(
    ("diagnosis", "told"),
    [
        (
            root_found(confirmed_by=""),
            "resolution Re-pin. (unconfirmed)",
        ),
        (replace(root_found(), wall=UnknownWall()), "wall none that is known"),
        (
            CauseNotInLog(last=None, chain=(), reason="Killed.", collect=("dmesg",), wall=UnknownWall(), log=LOG),
            "not in log DZA-2026-001.log: Killed.",
        ),
        (
            CauseNotInLog(last=None, chain=(), reason="Killed.", collect=("dmesg",), wall=UnknownWall(), log=LOG),
            "collect dmesg",
        ),
        (
            Started(marker=Link(role=Role.SERVER, line=9, text="listening"), later=None, log=LOG),
            "log says DZA-2026-001.log:9: listening",
        ),
    ],
)
def test_what_a_log_says_of_a_failed_start_is_told_and_nothing_more(diagnosis, told):
    listener = Listener()
    investigate(with_wall(), Bench(diagnosis=diagnosis), listener)
    assert told in listener.told


def test_the_record_of_a_bring_up_says_what_was_reached_and_where_it_ran():
    measured = investigate(with_wall(), Bench(), Listener())
    assert isinstance(measured, Measured)
    record = bringup_record(with_wall(), measured)
    text = record.content.decode()
    for words in ('"measured": "reached"', '"fit": "measured-fits"', '"exit_code": 1', '"cpu": "test"'):
        assert words in text
    assert "quality-gated" not in text


@pytest.mark.parametrize(
    ("bench", "step", "kind", "words"),
    [
        (Bench(audits={"1.0": Proven("x"), "2.0": Proven("x")}), "audit", Refuted, "does not refute xllamacpp==1.0"),
        (Bench(audits={"1.0": Undecided("x"), "2.0": Proven("x")}), "audit", Refuted, "does not refute"),
        (Bench(starts={"1.0": Healthy(seconds=1), "2.0": Healthy(seconds=1)}), "start", Refuted, "and yet it serves"),
        (Bench(audits={"1.0": Refuted("x"), "2.0": Refuted("gone")}), "audit", Refuted, "gone"),
        (Bench(audits={"1.0": Refuted("x"), "2.0": Undecided("unread")}), "audit", Undecided, "unread"),
        (Bench(fitting=Refuted("too small")), "fit", Refuted, "too small"),
        (Bench(fitting=Undecided("no model")), "fit", Undecided, "no model"),
        (
            Bench(starts={"1.0": Died(seconds=1, exit_code=1, root=None), "2.0": Died(seconds=1, exit_code=9, root=CAUSE)}),
            "serve", Refuted, "exit code 9 before it was healthy: E unknown model architecture",
        ),
        (
            Bench(starts={"1.0": TimedOut(seconds=1, root=None), "2.0": TimedOut(seconds=60, root=None)}),
            "serve", Undecided, "not healthy after 60 s",
        ),
        (Bench(ending=Aborted(reason="server gone")), "measure", Undecided, "server gone"),
        (Bench(invalid=("c1: cached",)), "measure", Undecided, "not valid: c1: cached"),
    ],
)  # fmt: skip
def test_whatever_is_not_proven_stops_it_there_with_the_reason_and_no_engine_left(bench, step, kind, words):
    found = investigate(with_wall(), bench, Listener())
    assert isinstance(found, Stopped)
    assert (found.step, type(found.verdict)) == (step, kind)
    assert words in found.verdict.reason
    assert bench.running == []


def test_a_measurement_that_ends_early_keeps_its_rows_and_its_log():
    found = investigate(package(), Bench(ending=Aborted(reason="x")), Listener())
    assert isinstance(found, Stopped)
    assert found.kept == ("requests.jsonl", "engine.log")


def test_an_engine_is_stopped_when_the_reader_interrupts():
    bench = Bench()

    class Interrupting(Listener):
        def measuring(self, progress: Progress) -> None:
            assert progress
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        investigate(package(), bench, Interrupting())
    assert (bench.started, bench.running) == (["2.0"], [])


def test_without_walls_the_first_audit_is_of_the_pinned_build():
    listener = Listener()
    investigate(replace(package()), Bench(), listener)
    assert listener.told[0] == "audit: xllamacpp==2.0, before it is started"


def test_a_measurement_that_was_run_again_is_told_as_that():
    listener = Listener()
    assert isinstance(investigate(package(), Bench(again="measured twice: the client was late"), listener), Measured)
    assert "again measured twice: the client was late" in listener.told
    quiet = Listener()
    investigate(package(), Bench(), quiet)
    assert not [told for told in quiet.told if told.startswith("again")]
