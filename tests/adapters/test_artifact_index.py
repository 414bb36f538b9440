"""Distributions through pip, from a folder instead of an index."""

import json
import sys

import pytest
from packaging.requirements import Requirement
from tests.simulators.wheels import make_sdist, make_wheel

from dayzero.adapters.artifact_index import IndexStore
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.core.errors import InputError, RemoteError


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    folder = tmp_path / "shelf"
    make_wheel(folder, "vllm", "0.26.0", {"vllm/a.py": "x = 1\n"}, tag="1-cp38-abi3-manylinux_2_31_x86_64")
    make_wheel(folder, "vllm", "0.27.0", {"vllm/a.py": "x = 2\n"}, tag="cp38-abi3-manylinux_2_31_aarch64")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def test_a_version_is_fetched_once_and_then_needs_no_index(tmp_path, shelf):
    store = IndexStore(tmp_path / "cache", sys.executable)
    kept = store.fetch(Requirement("VLLM==0.26.0"))
    assert (kept.name, kept.version, kept.pack.is_file()) == ("vllm", "0.26.0", True)
    for wheel in shelf.glob("*.whl"):
        wheel.unlink()
    offline = IndexStore(tmp_path / "cache", sys.executable, offline=True)
    again = offline.fetch(Requirement("vllm==0.26.0"))
    assert (again, again.fetched, kept.fetched) == (kept, False, True)
    assert offline.kept_versions("vllm") == ("0.26.0",)


@pytest.mark.usefixtures("shelf")
def test_a_version_that_has_no_wheel_for_this_platform_names_those_that_there_are(tmp_path):
    with pytest.raises(InputError, match=r"no wheel of vllm==0\.27\.0 for Linux") as raised:
        IndexStore(tmp_path / "cache", sys.executable).fetch(Requirement("vllm==0.27.0"))
    assert "0.26.0" in raised.value.hint


def test_what_has_no_wheel_is_read_from_its_sdist_whose_code_is_not_run(tmp_path, shelf):
    ran = tmp_path / "ran"
    files = {"flashinfer/__init__.py": "x = 1\n", "setup.py": f"open({str(ran)!r}, 'w')\n"}
    make_sdist(shelf, "flashinfer-python", "0.2.8", files)
    kept = IndexStore(tmp_path / "cache", sys.executable).fetch(Requirement("flashinfer-python==0.2.8"))
    assert (kept.version, kept.file) == ("0.2.8", "flashinfer_python-0.2.8.tar.gz")
    assert PackedFiles("f", kept.pack).read("flashinfer/__init__.py") == b"x = 1\n"
    assert not ran.exists()


def test_a_wheel_is_preferred_to_an_sdist_of_the_same_version(tmp_path, shelf):
    make_sdist(shelf, "vllm", "0.26.0", {"vllm/a.py": "x = 3\n"})
    assert IndexStore(tmp_path / "cache", sys.executable).fetch(Requirement("vllm==0.26.0")).file.endswith(".whl")


def test_offline_nothing_is_asked(tmp_path):
    with pytest.raises(RemoteError, match="the index may not be asked"):
        IndexStore(tmp_path / "cache", "/nowhere/python", offline=True).fetch(Requirement("vllm==0.26.0"))


def test_an_index_that_does_not_answer_is_a_remote_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(RemoteError, match="could not fetch"):
        IndexStore(tmp_path / "cache", sys.executable).fetch(Requirement("vllm==0.26.0"))


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"name": "vllm", "version": "0.26.0", "pack": "gone.zip"})])
def test_a_note_that_is_no_use_is_not_believed(tmp_path, text):
    note = tmp_path / "kept" / "by-name" / "vllm==0.26.0.json"
    note.parent.mkdir(parents=True)
    note.write_text(text)
    with pytest.raises(RemoteError):
        IndexStore(tmp_path, "/nowhere/python", offline=True).fetch(Requirement("vllm==0.26.0"))
