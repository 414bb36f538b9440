"""How many connections this process may have open."""

import resource
from typing import Final

from dayzero.core.errors import InputError

_OTHERS: Final = 64  # files, pipes, libraries, and questions to the server's metrics


def allow_connections(count: int) -> None:
    """Raise this process's own limit of open files where it is too low for so many connections.

    Raises:
        InputError: It may not be raised that far.
    """
    needed = count + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise InputError(
            f"{count} streams need {needed} open files, and this process may open {hard}",
            hint="Raise the limit (ulimit -n), or ask for fewer streams.",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
