"""Every engine's list of settings reads, names its sources, and agrees with the build that it was written for."""

import tomllib
from pathlib import Path

import pytest

from dayzero.adapters.builds import WheelFiles
from dayzero.audit.model import FactTable
from dayzero.engines.construction import facts_of
from dayzero.engines.llamacpp.facts import read_settings, settings_in
from dayzero.gates.construction import Given, flag_changes
from dayzero.optimize import parse
from dayzero.wiring import definitions

FOLDER = Path(__file__).parents[2] / "src" / "dayzero" / "engines"
FILES = sorted(FOLDER.glob("*/tunables.toml"))


def read(file: Path):
    document = tomllib.loads(file.read_text())
    return parse.settings(document, str(file)), parse.relations(document, str(file))


def test_there_are_lists():
    assert [file.parent.name for file in FILES] == ["llamacpp", "vllm"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_setting_says_what_it_affects_and_where_that_stands(file):
    settings, relations = read(file)
    document = tomllib.loads(file.read_text())
    assert all(entry.keys() >= {"affects", "source"} for entry in document["setting"])
    assert all("source" in entry for entry in document["relation"])
    flags = {one.flag for one in settings} | {one.switch for one in settings}
    own = {clause.left for one in relations for clause in one.when}
    assert own & flags


@pytest.mark.parametrize(("name", "package"), [("llamacpp", "demo-smollm2"), ("vllm", "qwen3-8b-shape-1xh200")])
def test_only_a_cache_in_another_type_changes_what_is_computed(name, package):
    """What else does is taken out at each search; a list that is full of it would waste the reader's time."""
    settings, _ = read(FOLDER / name / "tunables.toml")
    facts = facts_of(name)
    model = definitions.package(package).recipe.model
    assert facts is not None
    lossy = {
        one.flag
        for one in settings
        for level in one.levels
        if flag_changes(model, (Given(name=one.words(level)[0], values=one.words(level)[1:]),), facts)
    }
    assert lossy == {"llamacpp": {"--cache-type-k"}, "vllm": {"--kv-cache-dtype"}}[name]


@pytest.mark.engine
def test_every_setting_of_the_embedded_engine_is_in_its_build(embedded_engine):
    table = read_settings(WheelFiles(artifact="xllamacpp", wheel=embedded_engine.wheel))
    assert isinstance(table, FactTable)
    settings, _ = read(FOLDER / "llamacpp" / "tunables.toml")
    names = [settings_in(one.words(one.levels[0]))[0] for one in settings]
    assert [name for name in names if table.find(name) is None] == []
