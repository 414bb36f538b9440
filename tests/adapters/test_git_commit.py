import shutil
import subprocess
from pathlib import Path

import pytest

from dayzero.adapters.git_commit import committed_at
from dayzero.core.pins import Commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *who, "-C", str(folder), *words], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "package.toml").write_text("name = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_a_committed_file_has_its_path_and_commit(checkout: Path):
    head = Commit(git(checkout, "rev-parse", "HEAD"))
    assert committed_at(checkout / "packages" / "package.toml") == ("packages/package.toml", head)


def test_another_file_that_was_changed_does_not_matter(checkout: Path):
    (checkout / "other").write_text("x")
    assert committed_at(checkout / "packages" / "package.toml") is not None


def test_a_file_that_differs_from_its_commit_or_was_never_committed_has_none(checkout: Path):
    (checkout / "packages" / "package.toml").write_text("name = 2\n")
    (checkout / "new.toml").write_text("x")
    assert committed_at(checkout / "packages" / "package.toml") is None
    assert committed_at(checkout / "new.toml") is None


def test_a_file_in_no_checkout_and_one_before_the_first_commit_have_none(tmp_path: Path):
    (tmp_path / "package.toml").write_text("x")
    assert committed_at(tmp_path / "package.toml") is None
    git(tmp_path, "init", "-q")
    assert committed_at(tmp_path / "package.toml") is None


def test_without_git_there_is_none(checkout: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert committed_at(checkout / "packages" / "package.toml") is None
