"""As many connections as streams, or a word about it before anything is measured."""

import resource
from collections.abc import Iterator

import pytest
from tests.adapters.measuring.driving import ask, drive
from tests.simulators.raw_server import ANSWER, raw_server

from dayzero.adapters.measuring.descriptors import allow_connections
from dayzero.core.errors import InputError


@pytest.fixture
def few() -> Iterator[None]:
    """A process that may open 100 files, and may raise that itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("few")
def test_the_limit_of_open_files_is_raised_as_far_as_the_streams_need():
    with raw_server([ANSWER]) as server:
        drive(server.url, [ask()], streams=90)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 154


@pytest.mark.usefixtures("few")
def test_a_limit_that_is_high_enough_stays():
    allow_connections(10)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 100


def test_more_streams_than_files_may_be_open_are_refused_before_anything_is_sent():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this machine sets no limit")
    with raw_server([ANSWER]) as server:
        with pytest.raises(InputError, match=f"this process may open {hard}") as caught:
            drive(server.url, [ask()], streams=hard)
        assert not server.connections
    assert "ulimit -n" in caught.value.hint
