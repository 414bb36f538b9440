"""What the tests of perfdb share: an import of a small tree, and the command line."""

import json
from typing import Any

import pytest
from tests.perfdb.tree_samples import write_tree

from dayzero.cli.main import run
from dayzero.wiring.perfdb import Database, open_database
from dayzero.wiring.perfdb_import import import_tree


@pytest.fixture
def imported(tmp_path):
    """Import a tree and open it."""

    def make(tables, texts=None, name="tree") -> Database:
        tree = write_tree(tmp_path / name, tables, texts)
        return open_database(tmp_path / "db", import_tree(tree, tmp_path / "db", None).made.id)

    return make


@pytest.fixture
def dayzero(capsys):
    """Run a command; give its exit code, what it printed, and what it said on stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def answer(dayzero):
    """Run a command for its JSON document."""

    def call(*words: object) -> tuple[int, dict[str, Any]]:
        code, out, err = dayzero(*words, "--output-format", "json")
        assert out, err
        return code, json.loads(out)

    return call
