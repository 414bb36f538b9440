"""The page of walls is the data of walls."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from dayzero.wiring.definitions import walls

TOOL = Path(__file__).parents[2] / "tools" / "wall_catalogue.py"


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wall_catalogue", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_data_says(tool):
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(walls()), "run tools/wall_catalogue.py --write"


def test_every_rule_stands_on_the_page_with_its_version_and_whether_it_is_confirmed(tool):
    written = tool.page(walls())
    for rule in walls():
        (entry,) = [part for part in written.split("**`") if part.startswith(f"{rule.id}`**")]
        assert f"version {rule.version}" in entry
        assert ("(unconfirmed" in entry) is not bool(rule.remedy.confirmed_by)


def test_every_key_that_a_rule_may_have_is_described(tool):
    table = tool.page(()).split("## The 0 walls")[0]
    for key in (
        "id",
        "version",
        "category",
        "title",
        "line",
        "on",
        "exception",
        "frame",
        "priority",
        "evidence",
        "when",
    ):
        assert f"`{key}`" in table
    for key in ("units", "explains", "refuses", "decisive", "engines", "resolution", "would_confirm"):
        assert f"`{key}`" in table
