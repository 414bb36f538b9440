"""A survey in a process of its own, where there is a core for it. Implements ``audit.ports.Aside``."""

import os
from collections.abc import Callable
from contextlib import suppress

import msgspec

from dayzero.audit.model import HalfSurvey

_CORES = 2


class ForkedSurvey:
    """Forks once a survey. The process holds what this one has read so far, and hands back in few words what it found."""

    def begin(self, work: Callable[[], HalfSurvey]) -> Callable[[], HalfSurvey] | None:
        """Begin; ``None`` where there is no second core.

        Threads of this process are left behind; a survey takes no lock that one of them might hold. Should the new process
        end without an answer, the work is done here when it is asked for.
        """
        if len(os.sched_getaffinity(0)) < _CORES:
            return None
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _answer(writing, work)
        os.close(writing)
        return lambda: _awaited(child, reading) or work()

    def ahead(self, work: Callable[[], object]) -> None:
        """Work in a new process, and wait: what it keeps is on disk then, and its memory is free."""
        child = os.fork()
        if not child:
            with suppress(BaseException):
                work()
            os._exit(0)
        os.waitpid(child, 0)


def _answer(writing: int, work: Callable[[], HalfSurvey]) -> None:
    """Work and answer in the new process, which ends here: nothing of its parent's is flushed or cleaned up twice."""
    with suppress(BaseException), os.fdopen(writing, "wb") as pipe:
        pipe.write(msgspec.json.encode(work()))
    os._exit(0)


def _awaited(child: int, reading: int) -> HalfSurvey | None:
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    try:
        return msgspec.json.decode(said, type=HalfSurvey)
    except msgspec.DecodeError:
        return None
