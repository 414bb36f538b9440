"""Python's collector of cycles, out of the way of work that keeps nearly all that it makes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, one_of_many: bool = False) -> Iterator[None]:
    """Do not look for cycles meanwhile: every look walks all syntax trees that are held, and finds nothing to free.

    What was made meanwhile is not looked at afterwards either; the first look alone would take half a second.

    Args:
        one_of_many: Whether the same is done for the next build. Then that half second is spent, and what this one leaves behind
            is freed: a build leaves some 200 MiB.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.collect() if one_of_many else gc.freeze()
            gc.enable()
