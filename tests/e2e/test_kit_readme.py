"""A stranger follows the README of the demo's kit to its end: the engine starts, answers, and is what the kit launches."""

import json
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import EmbeddedEngine
from tests.e2e.conftest import free_port
from tests.kit.stranger import commands, surroundings, typed

from dayzero.adapters.keys import make_key, save_key
from dayzero.cli.main import run

pytestmark = pytest.mark.engine

NAME = "demo-kimi-k3-tiny-1.0.0.kit"
DEFINITION = Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml"


@pytest.fixture
def new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the demo's kit, on a port that is free, and hand over what a buyer gets."""
    monkeypatch.chdir(tmp_path)
    text = DEFINITION.read_text(encoding="utf-8")
    assert "port = 18480" in text
    Path("package.toml").write_text(text.replace("port = 18480", f"port = {free_port()}"), encoding="utf-8")
    assert run(["kit", "build", "package.toml", "-o", "made"]) == 0
    save_key(make_key("demo"), private=Path("owner.pem"), public=Path("owner.pub.pem"))
    assert run(["kit", "sign", f"made/{NAME}.zip", "--key", "owner.pem"]) == 0
    folder = tmp_path / "new"
    folder.mkdir()
    for end in ("zip", "intoto.jsonl"):
        shutil.copy(f"made/{NAME}.{end}", folder)
    shutil.copy("owner.pub.pem", folder / "KEY.pub.pem")
    return folder


@contextmanager
def started(kit: Path, wheel: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Type ``./serve.sh`` in one terminal; the engine's wheel comes from where the tests keep it, not from the index."""
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel.parent)}
    with (kit / "engine.log").open("wb") as log:
        engine = subprocess.Popen(["./serve.sh"], cwd=kit, env={**surroundings(), **index}, stdout=log, stderr=log)
    try:
        yield engine
    finally:
        engine.send_signal(signal.SIGINT)
        engine.wait(timeout=30)


def wait_for(url: str, engine: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert engine.poll() is None, log.read_text(encoding="utf-8")
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310  (the loopback)
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text(encoding="utf-8"))


def test_a_person_who_follows_only_the_readme_gets_an_answer_from_the_engine(
    new_folder: Path, embedded_engine: EmbeddedEngine
):
    for program in ("unzip", "curl", "bash"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    readme = typed(new_folder, [f"unzip -p {NAME}.zip README.md"]).stdout
    script = commands(readme)
    start = script.index("./serve.sh")
    prepared = typed(new_folder, script[:start])
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    kit = new_folder / "demo-kimi-k3-tiny"
    url = re.findall(r"--live (http://127\.0\.0\.1:\d+)", readme)[0]
    with started(kit, embedded_engine.wheel) as engine:
        wait_for(f"{url}/health", engine, kit / "engine.log")
        asked = typed(new_folder, script[start + 1 :])
        assert asked.returncode == 0, asked.stderr
        answer = json.loads(asked.stdout[asked.stdout.index('{"choices"') :])
        assert answer["usage"]["completion_tokens"] >= 1
        live = typed(new_folder, [f"dayzero-verify {NAME}.zip --key KEY.pub.pem --live {url}"])
    assert (live.returncode, "says what the launch has" in live.stdout) == (0, True), live.stdout
    assert engine.returncode == 0
