from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dayzero.serve.model import Died, Healthy, LogLine, TimedOut
from dayzero.serve.start import last_cause, wait_until_healthy


@dataclass
class ScriptedEngine:
    """Ends or answers at a given second of its own clock."""

    dies_at: float = float("inf")
    ready_at: float = float("inf")
    text: bytes = b"loading\n"
    now: float = 0.0
    heard: list[tuple[float, str]] = field(default_factory=list)

    def exit_code(self) -> int | None:
        return 1 if self.now >= self.dies_at else None

    def ready(self) -> bool:
        return self.now >= self.ready_at

    def log(self) -> bytes:
        return self.text

    def log_path(self) -> Path:
        return Path("engine.log")

    def stop(self, budget_s: float) -> int:
        return int(budget_s)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def start(self, budget_s: float = 5.0):
        return wait_until_healthy(
            self,
            self,
            budget_s=budget_s,
            looks_like_cause=lambda line: line.startswith("E "),
            clock=self.clock,
            sleep=self.sleep,
            on_wait=lambda seconds, line: self.heard.append((seconds, line)),
        )


def test_an_engine_that_answers_is_healthy_and_its_waiting_was_told():
    engine = ScriptedEngine(ready_at=1.0)
    result = engine.start()
    assert isinstance(result, Healthy)
    assert 1.0 <= result.seconds < 1.2
    assert engine.heard[0] == (0.0, "loading")


def test_an_engine_that_ended_is_dead_even_when_something_else_answers_on_its_port():
    engine = ScriptedEngine(dies_at=0.5, ready_at=0.5, text=b"I ok\nE cause\nE later cause\nI bye\n")
    result = engine.start()
    assert isinstance(result, Died)
    assert (result.exit_code, result.root) == (1, LogLine(number=3, text="E later cause"))


def test_a_start_that_outlasts_its_budget_is_timed_out():
    result = ScriptedEngine().start(budget_s=2.0)
    assert isinstance(result, TimedOut)
    assert 2.0 <= result.seconds < 2.2
    assert result.root is None


def lines() -> Iterator[tuple[bytes, LogLine | None]]:
    yield b"", None
    yield b"I fine", None
    yield b"E one\r\nI two\r\n", LogLine(number=1, text="E one")
    yield b"\xff\xfe\nE caf\xc3\xa9\n", LogLine(number=2, text="E café")


def test_the_last_line_that_looks_like_a_cause_is_found_in_any_bytes():
    for log, expected in lines():
        assert last_cause(log, lambda line: line.startswith("E ")) == expected
