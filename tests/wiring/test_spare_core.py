"""A core is kept for the client only where the launch says how many threads compute, and leaves one."""

import os

import pytest

from dayzero.adapters.measuring.cost import on_core
from dayzero.serve.model import Asked
from dayzero.wiring.laboratory import spare_core


@pytest.mark.parametrize(
    ("threads", "cores", "spare"),
    [("1", {0, 1}, 1), ("3", {4, 5, 6, 9}, 9), ("2", {0, 1}, None), ("1", {0}, None), ("-1", {0, 1}, None)],
)
def test_the_last_core_is_spared_where_the_threads_leave_one(threads, cores, spare):
    asked = (Asked(name="kv_unified", value="1", by="--kv-unified"), Asked(name="n_threads", value=threads, by="-t"))
    assert spare_core(asked, cores) == spare


def test_a_launch_that_does_not_say_keeps_every_core():
    assert spare_core((), {0, 1, 2, 3}) is None


def test_the_client_stays_on_its_core_for_the_block_only():
    before = os.sched_getaffinity(0)
    with on_core(max(before)):
        assert os.sched_getaffinity(0) == {max(before)}
    with on_core(None):
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before
