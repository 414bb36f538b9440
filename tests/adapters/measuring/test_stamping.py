"""The kernel stamps from before the first answer until after the last, whatever connections come and go."""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.adapters.measuring.driving import HOW, ListPlan, ask, drive
from tests.simulators.raw_server import ANSWER, raw_server

from dayzero.adapters.measuring import stamping
from dayzero.adapters.measuring.stamping import Stamping, stamps
from dayzero.adapters.measuring.wire import SO_TIMESTAMPNS
from dayzero.bench.model import Exhausted, Request, Wait


def asking() -> Iterator[int]:
    """Give the sockets of this process that ask for stamps."""
    for name in tuple(Path("/proc/self/fd").iterdir()):
        if not name.is_socket():
            continue
        with socket.socket(fileno=os.dup(int(name.name))) as held, contextlib.suppress(OSError):
            if held.getsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS):
                yield int(name.name)


def to_oneself() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        far = socket.create_connection(door.getsockname())
        near, _ = door.accept()
    return far, near


def test_a_stamp_is_waited_for_until_it_comes():
    far, near = to_oneself()
    sleep = time.sleep
    pauses: list[float] = []

    def ask_and_sleep(seconds: float) -> None:
        near.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        pauses.append(seconds)
        sleep(seconds)

    with far, near, pytest.MonkeyPatch.context() as patch:
        patch.setattr(stamping.time, "sleep", ask_and_sleep)
        assert stamps(far, near)
    assert pauses


def test_a_connection_that_is_never_stamped_is_given_up(monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []
    monkeypatch.setattr(stamping.time, "sleep", pauses.append)
    far, near = to_oneself()
    with far, near:
        assert not stamps(far, near)
    assert sum(pauses) == pytest.approx(0.2)


def test_stamps_are_asked_for_until_it_is_closed_whatever_else_is_open():
    before = set(asking())
    kept = Stamping()
    assert len(set(asking()) - before) == 1
    kept.close()
    assert set(asking()) == before


def none(*_: object, **__: object) -> socket.socket:
    raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")


def test_a_machine_without_a_loopback_is_measured_all_the_same(monkeypatch: pytest.MonkeyPatch):
    with raw_server([ANSWER]) as server:
        monkeypatch.setattr(stamping.socket, "create_server", none)
        driven = drive(server.url, [ask()])
    assert driven.rows[0].ok


def test_a_kernel_that_refuses_stamps_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stamping, "SO_TIMESTAMPNS", 9999)
    before = len(tuple(Path("/proc/self/fd").iterdir()))
    kept = Stamping()
    assert len(tuple(Path("/proc/self/fd").iterdir())) == before
    kept.close()


@dataclass
class Watched(ListPlan):
    """Counts the sockets that ask for stamps whenever a request is taken: then no connection stands."""

    counts: list[int] = field(default_factory=list)

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        self.counts.append(len(list(asking())))
        return super().take(elapsed_ns)


def test_the_kernel_is_asked_between_connections_too():
    plan = Watched([ask(number) for number in range(3)])
    before = len(list(asking()))
    with raw_server([ANSWER]) as server:
        driven = drive(server.url, plan, how=replace(HOW, keeps_connection=False))
    assert driven.connections == 3
    assert driven.parsed.stamped
    assert [count - before for count in plan.counts] == [1] * 4
