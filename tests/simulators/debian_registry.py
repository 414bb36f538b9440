"""The real registry of Debian's package docker-registry, which has no referrers API; on the loopback, on a port of its own."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

_CONFIG = """version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {store}}}}}
http: {{addr: "127.0.0.1:{port}"}}
{auth}"""
_STARTS_WITHIN_S = 20


@contextlib.contextmanager
def debian_registry(folder: Path, htpasswd: str = "") -> Iterator[str]:
    """Start it with a store of its own, and give ``HOST:PORT``; skips the test where it is not installed.

    Args:
        folder: For its files.
        htpasswd: A line ``USER:BCRYPT`` for basic authentication, ``""`` for none.
    """
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    users = folder / "htpasswd"
    users.write_text(f"{htpasswd}\n")
    auth = f"auth: {{htpasswd: {{realm: here, path: {users}}}}}\n" if htpasswd else ""
    config = folder / "registry.yml"
    config.write_text(_CONFIG.format(store=folder / "store", port=port, auth=auth))
    environment = {"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"}
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen((program, "serve", str(config)), stdout=log, stderr=log, env=environment)
    try:
        _wait(f"http://127.0.0.1:{port}/v2/", process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1).close()  # noqa: S310  (the loopback)
        except urllib.error.HTTPError as answer:
            answer.close()
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("docker-registry did not start")
