"""A real server on loopback, from its start to Ctrl-C."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from tests.web.conftest import Disk

from dayzero.adapters.http_server import address_of, listen, serving
from dayzero.core.errors import RemoteError

NAME = "demo-smollm2"


@pytest.fixture
def server(changing: Disk) -> Iterator[subprocess.Popen[str]]:
    places = ["--packages", str(changing.packages), "--evidence", str(changing.evidence)]
    words = [sys.executable, "-W", "error", "-m", "dayzero", "catalog", "serve", *places]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_it_starts_sees_a_retraction_at_the_next_request_and_stops_with_ctrl_c(
    changing: Disk, server: subprocess.Popen[str]
):
    assert server.stdout is not None
    said = server.stdout.readline()
    assert said.startswith("serving the catalog at http://127.0.0.1:")
    where = said.split()[-1]
    with httpx.Client(base_url=where, timeout=60) as client:
        document = client.get(f"api/v1/packages/{NAME}/1.0.0.json").json()
        slug = document["headline"]
        value = next(m["value"] for m in document["measurements"] if m["slug"] == slug)
        assert f'value="{value}"' in client.get(f"packages/{NAME}/").text
        changing.retract(slug, "the clock was stepped")
        page = client.get(f"packages/{NAME}/").text
        assert f'data-claim="{slug}" value="{value}"' not in page
        assert "the clock was stepped" in page
        answer = client.get("", headers={"Host": "evil.example"})
        assert "evil.example" not in answer.text + str(answer.headers)
        assert "server" not in answer.headers
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "Ctrl-C stops it.\nstopped\n")


def test_a_broken_request_is_refused_without_a_trace():
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(b"here\n")(scope, receive, send)

    with serving(app) as where:
        assert httpx.get(where).content == b"here\n"
        host, port = urlsplit(where).netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as raw:
            raw.sendall(b"GET / HTTP/9.9\r\nbroken\r\n\r\n")
            said = raw.recv(4096)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"Traceback" not in said


def test_a_port_that_is_taken_is_said_to_be():
    with listen("127.0.0.1", 0) as bound:
        port = int(bound.getsockname()[1])
        assert address_of(bound) == f"http://127.0.0.1:{port}/"
        with pytest.raises(RemoteError, match=f"cannot listen on 127.0.0.1:{port}"):
            listen("127.0.0.1", port)
    with pytest.raises(RemoteError, match="cannot listen"):
        listen("127.0.0.1", 70000)
