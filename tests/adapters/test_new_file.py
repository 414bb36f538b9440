import errno
from pathlib import Path

import pytest

from dayzero.adapters.new_file import write_new
from dayzero.core.errors import InputError, RemoteError


def test_a_new_file_is_written_with_its_folder_and_nothing_else_is_left(tmp_path: Path):
    target = tmp_path / "a" / "b.txt"
    write_new(target, b"content")
    assert target.read_bytes() == b"content"
    assert [path.name for path in target.parent.iterdir()] == ["b.txt"]
    assert target.stat().st_mode & 0o777 == 0o644


def test_the_same_bytes_again_are_no_matter_and_others_are_refused(tmp_path: Path):
    target = tmp_path / "b.txt"
    write_new(target, b"content")
    before = target.stat()
    write_new(target, b"content")
    assert (target.stat().st_ino, target.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    with pytest.raises(InputError, match="there already, with other bytes"):
        write_new(target, b"other")
    assert target.read_bytes() == b"content"
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_a_link_that_leads_to_nothing_and_a_folder_are_not_written_over(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    for name in ("link", "folder"):
        with pytest.raises(InputError, match="there already"):
            write_new(tmp_path / name, b"content")
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is not a folder"):
        write_new(tmp_path / "file" / "b.txt", b"content")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.link", full)
    with pytest.raises(RemoteError, match="the disk is full"):
        write_new(tmp_path / "b.txt", b"content")
    assert list(tmp_path.iterdir()) == []
