"""The store runs the real pip against a folder of small wheels; no index is asked."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from dayzero.adapters.builds import BuildStore, WheelFiles, wheel_for_this_machine
from dayzero.adapters.file_digest import digest_of
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import EngineBuild, Sha256, WheelPin

ZERO = Sha256("0" * 64)


def make_wheel(folder: Path, *, tag: str = "py3-none-any", text: str = "ANSWER = 42\n") -> Path:
    info = "tinyengine-1.0.dist-info"
    files = {
        "tinyengine/__init__.py": text,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tinyengine\nVersion: 1.0\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(body.encode()).digest()).rstrip(b'=').decode()},{len(body)}\n"
        for name, body in files.items()
    )
    wheel = folder / f"tinyengine-1.0-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, body in {**files, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            archive.writestr(name, body)
    return wheel


@pytest.fixture
def index(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def pinned(wheel: Path, digest: Sha256 | None = None) -> EngineBuild:
    pin = WheelPin(filename=wheel.name, sha256=digest or digest_of(wheel))
    return EngineBuild(engine="tiny", distribution="tinyengine", version="1.0", wheels=(pin,))


def test_a_pinned_wheel_is_fetched_once_installed_apart_and_then_needs_no_index(tmp_path, index):
    build = pinned(make_wheel(index))
    store = BuildStore(tmp_path / "cache", sys.executable)
    site = store.site(build)
    assert (site / "tinyengine" / "__init__.py").read_text() == "ANSWER = 42\n"
    for wheel in index.iterdir():
        wheel.unlink()
    again = BuildStore(tmp_path / "cache", sys.executable)
    assert again.site(build) == site
    assert digest_of(again.wheel(build)) == build.wheels[0].sha256


def test_the_files_of_a_wheel_are_read_without_installing_it(tmp_path):
    files = WheelFiles(artifact="tinyengine 1.0", wheel=make_wheel(tmp_path))
    assert "tinyengine/__init__.py" in files.names()
    assert files.read("tinyengine/__init__.py") == b"ANSWER = 42\n"


def test_bytes_other_than_the_pinned_ones_are_refused_by_the_download(tmp_path, index):
    build = pinned(make_wheel(index), ZERO)
    with pytest.raises(RemoteError, match="pip download failed"):
        BuildStore(tmp_path / "cache", sys.executable).wheel(build)
    assert not list((tmp_path / "cache").rglob("*.whl"))


def test_a_kept_wheel_that_was_changed_is_refused(tmp_path, index):
    build = pinned(make_wheel(index))
    store = BuildStore(tmp_path / "cache", sys.executable)
    kept = store.wheel(build)
    kept.write_bytes(kept.read_bytes() + b"x")
    with pytest.raises(IntegrityError, match="does not have the pinned sha256"):
        store.wheel(build)


def test_an_index_that_does_not_have_it_is_said_with_pips_own_words(tmp_path, index):
    build = pinned(make_wheel(tmp_path))
    assert not list(index.iterdir())
    with pytest.raises(RemoteError, match=r"No matching distribution found for tinyengine==1\.0"):
        BuildStore(tmp_path / "cache", sys.executable).wheel(build)


def test_a_build_without_a_wheel_for_this_platform_is_bad_input():
    foreign = WheelPin(filename="tinyengine-1.0-cp39-cp39-win_arm64.whl", sha256=ZERO)
    build = EngineBuild(engine="tiny", distribution="tinyengine", version="1.0", wheels=(foreign,))
    with pytest.raises(InputError, match="pins no wheel for this platform"):
        wheel_for_this_machine(build)


def test_a_wheel_name_with_a_build_tag_is_understood():
    pin = WheelPin(filename="tinyengine-1.0-2-py3-none-any.whl", sha256=ZERO)
    build = EngineBuild(engine="tiny", distribution="tinyengine", version="1.0", wheels=(pin,))
    assert wheel_for_this_machine(build) == pin
