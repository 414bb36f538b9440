"""A stranger has the archive, the statements and a key, reads the README in the archive, and types what it says."""

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.kit.stranger import commands, typed

from dayzero.adapters.keys import make_key, save_key
from dayzero.cli.main import run
from dayzero_verify.canonical_zip import read

NAME = "demo-kimi-k3-tiny-1.0.0.kit"
# The engine itself is started by tests/e2e/test_kit_readme.py.
NOT_RUN = ("./serve.sh", "curl ")


@pytest.fixture
def new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert run(["kit", "build", "demo-kimi-k3-tiny", "-o", "made"]) == 0
    save_key(make_key("demo"), private=Path("owner.pem"), public=Path("owner.pub.pem"))
    assert run(["kit", "sign", f"made/{NAME}.zip", "--key", "owner.pem"]) == 0
    folder = tmp_path / "new"
    folder.mkdir()
    for end in ("zip", "intoto.jsonl"):
        shutil.copy(f"made/{NAME}.{end}", folder)
    shutil.copy("owner.pub.pem", folder / "KEY.pub.pem")
    return folder


def test_a_person_who_follows_only_the_readme_verifies_and_prepares_the_demo_kit(new_folder: Path):
    for program in ("unzip", "sha256sum", "bash"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    shown = typed(new_folder, [f"unzip -p {NAME}.zip README.md"])
    script = commands(shown.stdout)
    assert script[-3:-1] == ["./serve.sh", "curl --fail http://127.0.0.1:18480/health"]
    assert [line.split()[0] for line in script[:3]] == ["dayzero-verify"] * 3
    done = typed(new_folder, [line for line in script if not line.startswith(NOT_RUN)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("verified demo-kimi-k3-tiny 1.0.0") == 3
    assert re.search(r"^model/\S+: OK$", done.stdout, re.MULTILINE)
    assert os.access(new_folder / "demo-kimi-k3-tiny" / "serve.sh", os.X_OK)


def test_the_commands_stop_a_person_whose_kit_was_changed(new_folder: Path):
    kit = new_folder / f"{NAME}.zip"
    readme = next(file.content for file in read(kit.read_bytes()) if file.path == "README.md").decode()
    kit.write_bytes(kit.read_bytes() + b"x")
    script = commands(readme)
    done = typed(new_folder, [line for line in script if not line.startswith(NOT_RUN)])
    assert done.returncode == 14
    assert "REFUSED" in done.stdout
    assert not (new_folder / "demo-kimi-k3-tiny").exists()
