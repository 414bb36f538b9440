import subprocess
import sys
from pathlib import Path

import pytest

from dayzero.wiring import definitions

ROOT = Path(__file__).parents[2]
NAME = "kimi-k3-4of93-1xh200"
VERSION = definitions.package(str(ROOT / "packages" / NAME)).version


def dayzero(*words: object, module: str = "dayzero") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    for words in (
        ("keys", "new", "test", "-o", folder),
        ("kit", "build", f"packages/{NAME}", "-o", folder, "--target", "shell"),
        ("kit", "sign", folder / f"{NAME}-{VERSION}.kit.zip", "--key", folder / "test.key.pem"),
    ):
        done = dayzero(*words)
        assert done.returncode == 0, done.stderr
    return folder


def test_a_kit_of_a_proxy_holds_its_configuration_and_counts_no_weights(signed):
    done = dayzero(
        signed / f"{NAME}-{VERSION}.kit.zip",
        "--key",
        signed / "test.pub.pem",
        "--json",
        module="dayzero_verify",
    )
    assert done.returncode == 0, done.stdout
    assert "rendered again from launch.json" in done.stdout


def test_its_files_are_made_from_that_configuration_and_have_the_pinned_digests(signed, tmp_path):
    done = dayzero("weights", f"packages/{NAME}", "-o", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    checked = dayzero(
        *(signed / f"{NAME}-{VERSION}.kit.zip", "--key", signed / "test.pub.pem"),
        *("--weights", "full", "--model", tmp_path / "model"),
        module="dayzero_verify",
    )
    assert checked.returncode == 0, checked.stdout
    (tmp_path / "model" / "config.json").write_text("{}")
    spoilt = dayzero(
        *(signed / f"{NAME}-{VERSION}.kit.zip", "--key", signed / "test.pub.pem"),
        *("--weights", "full", "--model", tmp_path / "model"),
        module="dayzero_verify",
    )
    assert spoilt.returncode in {19, 20}, spoilt.stdout  # another size is told before its digest
