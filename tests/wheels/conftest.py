"""A table of which the subset has no row is left out: nothing of it could be run, so nothing of it is skipped."""

from collections.abc import Iterable

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    empty = [item for item in items if _has_no_row(item.iter_markers("skip"))]
    if empty:
        config.hook.pytest_deselected(items=empty)
        items[:] = [item for item in items if item not in empty]


def _has_no_row(marks: Iterable[pytest.Mark]) -> bool:
    return any("empty parameter set" in str(mark.kwargs.get("reason", "")) for mark in marks)
