import stat
from pathlib import Path

import pytest

from dayzero.adapters.new_folder import NewFile, write_new_folder
from dayzero.core.errors import InputError, RemoteError


def test_files_are_written_with_their_modes(tmp_path: Path):
    write_new_folder(tmp_path / "a/out", [("x/serve.sh", b"#!", True), ("y.txt", b"y", False)])
    assert (tmp_path / "a/out/y.txt").read_bytes() == b"y"
    assert stat.S_IMODE((tmp_path / "a/out/x/serve.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "a/out/y.txt").stat().st_mode) == 0o644
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["out"]


@pytest.mark.parametrize("kind", ["folder", "file", "dangling"])
def test_what_is_there_already_is_left_alone(tmp_path: Path, kind: str):
    target = tmp_path / "out"
    match kind:
        case "folder":
            target.mkdir()
        case "file":
            target.write_text("mine")
        case _:
            target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is there already"):
        write_new_folder(target, [("x", b"x", False)])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "files",
    [
        [("a", b"", False), ("../b", b"", False)],
        [("a", b"", False), ("/b", b"", False)],
        [("a", b"", False), ("", b"", False)],
        [("a", b"1", False), ("a", b"2", False)],
        [("a/b", b"1", False), ("a", b"2", False)],
        [("a", b"1", False), ("a/b", b"2", False)],
    ],
)
def test_a_path_out_of_the_folder_or_wanted_twice_leaves_nothing(tmp_path: Path, files: list[NewFile]):
    with pytest.raises(InputError, match=r"not a path inside|want the path"):
        write_new_folder(tmp_path / "out", files)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_a_remote_error(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RemoteError):
        write_new_folder(tmp_path / "file" / "out", [])
