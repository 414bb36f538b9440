"""Definitions with other flags: the text is kept, but for those values."""

import tomllib
from pathlib import Path

import pytest

from dayzero.adapters.package_files.rewrite import added, with_flags, with_text, without_tables
from dayzero.core.errors import InputError

FILES = sorted(Path(__file__).parents[2].glob("packages/*/package.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_package_can_be_given_other_flags_and_nothing_else_changes(file):
    text = file.read_text()
    changed = with_flags(text, ("--a", 'quoted "word"', "--b", "é"))
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert after["serving"].pop("flags") == ["--a", 'quoted "word"', "--b", "é"]
    before["serving"].pop("flags", None)
    assert after == before
    comments = [line for line in text.split("\n") if line.startswith("#")]
    assert [line for line in changed.split("\n") if line.startswith("#")] == comments


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_a_name_and_lists_of_tables_can_be_replaced(file):
    text = file.read_text()
    changed = added(without_tables(with_text(text, "name", "other"), ("claims", "changes")), "changes", [{"text": "x"}])
    after, before = tomllib.loads(changed), tomllib.loads(text)
    assert (after.pop("name"), after.pop("changes")) == ("other", [{"text": "x"}])
    for gone in ("name", "changes", "claims"):
        before.pop(gone, None)
    assert after == before


def test_flags_are_put_where_there_were_none():
    assert tomllib.loads(with_flags('[serving]\nname = "x"\n', ("--a",))) == {
        "serving": {"name": "x", "flags": ["--a"]}
    }


@pytest.mark.parametrize("text", ["serving = { flags = ['--a'] }\n", "serving.flags = ['--a']\n"])
def test_a_definition_that_cannot_be_changed_as_text_is_refused(text):
    with pytest.raises(InputError):
        with_flags(text, ("--b",))
