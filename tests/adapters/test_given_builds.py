"""What somebody names as a build: wheels, folders of wheels, installed environments."""

import zipfile
from pathlib import Path

import pytest

from dayzero.adapters.given_builds import InstalledFiles, given_build
from dayzero.core.errors import InputError


def make_wheel(folder: Path, name: str, text: str = "x = 1\n") -> Path:
    path = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", text)
    return path


def test_a_wheel_is_named_by_its_distribution_and_version(tmp_path):
    (build,) = given_build(make_wheel(tmp_path, "vllm-0.32.0"))
    assert (build.artifact, build.names()) == ("vllm 0.32.0", ("package/__init__.py",))
    assert build.read("package/__init__.py") == b"x = 1\n"


def test_a_folder_of_wheels_is_each_of_them(tmp_path):
    make_wheel(tmp_path, "vllm-0.32.0")
    make_wheel(tmp_path, "torch-2.11.0")
    (tmp_path / "requirements.txt").write_text("vllm\n")
    assert [build.artifact for build in given_build(tmp_path)] == ["torch 2.11.0", "vllm 0.32.0"]


def test_an_environment_is_its_own_files_and_links_out_of_it_are_not_followed(tmp_path):
    (tmp_path / "site" / "package").mkdir(parents=True)
    (tmp_path / "site" / "package" / "m.py").write_text("x = 1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "n.py").write_text("y = 1\n")
    (tmp_path / "site" / "linked").symlink_to(tmp_path / "outside", target_is_directory=True)
    (build,) = given_build(tmp_path / "site")
    assert isinstance(build, InstalledFiles)
    assert "package/m.py" in build.names()
    assert "linked/n.py" not in build.names()


def test_a_file_that_cannot_be_read_is_refused_not_empty(tmp_path):
    (tmp_path / "m.py").symlink_to("/proc/self/mem")
    with pytest.raises(InputError, match=r"m\.py cannot be read"):
        InstalledFiles(tmp_path).read("m.py")


def test_a_damaged_member_of_a_wheel_is_refused_not_empty(tmp_path):
    path = make_wheel(tmp_path, "vllm-0.32.0", "MARK" * 20)
    path.write_bytes(path.read_bytes().replace(b"MARKMARK", b"MARKmark", 1))
    (build,) = given_build(path)
    with pytest.raises(InputError, match="cannot be read"):
        build.read("package/__init__.py")


@pytest.mark.parametrize(
    "name", ["missing", "empty", "notes", "notes/readme.md", "vllm-0.32.0-py3-none-any.whl", "x.whl"]
)
def test_what_is_no_build_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.md").write_text("text")
    (tmp_path / "vllm-0.32.0-py3-none-any.whl").write_text("no archive")
    with pytest.raises(InputError):
        given_build(tmp_path / name)
