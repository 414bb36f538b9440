"""The console for progress and diagnostics; apart from the output of results, which must not wait for it to load."""

from rich.console import Console


def stderr_console() -> Console:
    """Give the console for progress and diagnostics: stderr, without colour where it is not a terminal."""
    return Console(stderr=True, highlight=False, soft_wrap=True)
