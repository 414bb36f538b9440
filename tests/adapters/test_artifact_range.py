"""A wheel at a URL, read in ranges, from servers that do as they please."""

import http.server
import re
import threading
import zipfile
from functools import partial

import pytest
from tests.simulators.wheels import make_wheel

from dayzero.adapters.artifact_range import open_url
from dayzero.audit.installed import Installed
from dayzero.audit.rules import Subject
from dayzero.core.errors import InputError, RemoteError
from dayzero.wiring.audit import rules


class Server(http.server.BaseHTTPRequestHandler):
    def __init__(self, content, manner, asked, *args: object) -> None:
        self.content, self.manner, self.asked = content, manner, asked
        super().__init__(*args)

    def do_GET(self):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        self.asked.append(self.headers.get("Range", ""))
        late = len(self.asked) > 1
        if self.manner == "gone":
            self.send_error(404)
        elif self.manner == "ignores" or wanted is None:
            self.answer(200, self.content[: len(self.content) // 2] if self.manner == "short" else self.content)
        else:
            start, end = int(wanted[1]), int(wanted[2])
            body = self.content[start : end + 1]
            tag = '"b"' if self.manner == "changes" and late else '"a"'
            first = start + (1 if self.manner == "shifts" and late else 0)
            body = body[:-1] if self.manner == "drops" and late else body
            self.answer(206, body, {"Content-Range": f"bytes {first}-{end}/{len(self.content)}", "ETag": tag})

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path):
    noise = bytes(range(256)) * 20_000
    library = {f"p/lib{number}.abi3.so": noise[number:] + b"%d" % number for number in range(3)}
    wheel = make_wheel(tmp_path, "vllm", "0.27.0", {"p/a.py": "x = 1\n", **library, "p/z.py": "y = 2\n"})
    # stored, so that its size is that of a real one beside its text
    stored = tmp_path / "stored" / wheel.name
    stored.parent.mkdir()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(stored, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    servers = []

    def serve(manner="") -> tuple[str, list[str], int]:
        asked = []
        handler = partial(Server, stored.read_bytes(), manner, asked)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/{wheel.name}", asked, stored.stat().st_size

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_only_the_directory_and_what_is_read_are_moved(served):
    url, asked, size = served()
    one, remote = open_url(url)
    assert str(one) == "vllm==0.27.0"
    assert (one.files.read("p/a.py"), one.files.read("p/z.py")) == (b"x = 1\n", b"y = 2\n")
    assert remote.moved < size * 0.05
    assert not any(range_.startswith("bytes=-") for range_ in asked)
    moved = remote.moved
    assert one.files.read("p/a.py") == b"x = 1\n"
    assert remote.moved == moved


def test_no_rule_reads_a_library_that_lies_far_away(served):
    url, _, size = served()
    one, remote = open_url(url)
    subject = Subject(installed=Installed(engine=one, others=()), engine="vllm", capability=(10, 3))
    before = remote.moved
    for rule in rules():
        list(rule.check(subject))
    assert before < remote.moved < size * 0.05


def test_a_server_that_ignores_ranges_is_read_whole_once(served):
    url, asked, size = served("ignores")
    one, remote = open_url(url)
    assert one.files.read("p/z.py") == b"y = 2\n"
    assert (remote.moved, len(asked)) == (size, 1)


@pytest.mark.parametrize("manner", ["gone", "changes", "shifts", "drops"])
def test_a_server_that_sends_something_else_is_named_and_nothing_passes(served, manner):
    url, _, _ = served(manner)
    with pytest.raises(RemoteError, match=re.escape(url)):
        open_url(url)


@pytest.mark.parametrize("url", ["ftp://x/vllm-1-py3-none-any.whl", "http://127.0.0.1/vllm.html", "file:///etc/passwd"])
def test_only_wheels_over_http_are_read(url):
    with pytest.raises(InputError):
        open_url(url)


def test_no_server_is_a_remote_failure():
    with pytest.raises(RemoteError):
        open_url("http://127.0.0.1:9/vllm-1-py3-none-any.whl")
