"""Python's collector of cycles, out of the way of work that keeps nearly all that it makes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Do not look for cycles meanwhile: every look walks all syntax trees that are held, and finds nothing to free.

    What was made meanwhile is not looked at afterwards either; the first look alone would take half a second.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.freeze()
            gc.enable()
