"""The collector of cycles is left as it was found."""

import gc
from contextlib import suppress

import pytest

from dayzero.wiring.collector import uncollected


@pytest.fixture
def collector():
    yield
    gc.enable()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("work", [lambda: None, lambda: {}["fails"]])
def test_it_is_off_meanwhile_and_afterwards_as_before_also_after_an_error(before, work):
    (gc.enable if before else gc.disable)()
    with suppress(KeyError), uncollected():
        assert not gc.isenabled()
        work()
    assert gc.isenabled() == before
