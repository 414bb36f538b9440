import http.client
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.adapters.site.catalog_sample import TINY
from tests.adapters.site.pages import whole_site
from tests.catalog.sample import ROWS, digest

from dayzero.adapters.site.folder import write_site
from dayzero.adapters.site.server import serve
from dayzero.core.errors import InputError, RemoteError


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    write_site(whole_site().items(), tmp_path / "site")
    with serve(tmp_path / "site") as address:
        yield address


def fetch(address: str, path: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    try:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_every_file_of_the_site_is_served_as_it_was_written(served: str):
    for path, content in whole_site().items():
        status, _, body = fetch(served, path)
        assert (status, body) == (200, content)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("index.json", "application/json"),
        ("feeds/releases.atom", "application/atom+xml; charset=utf-8"),
        (f"packages/{TINY}/1.1.0/index.jsonld", "application/ld+json"),
        (f"packages/{TINY}/1.1.0/package.toml", "text/plain; charset=utf-8"),
        (f"packages/{TINY}/1.1.0/deploy/shell/serve.sh", "text/plain; charset=utf-8"),
        ("site.js", "text/javascript; charset=utf-8"),
        (f"evidence/raw/{digest(ROWS)}", "text/plain; charset=utf-8"),
    ],
)
def test_files_are_served_as_what_they_are_and_nothing_is_sniffed(served: str, path: str, kind: str):
    _, headers, _ = fetch(served, path)
    assert headers["Content-Type"] == kind
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "path", ["evidence/raw/x.html", "packages/a/1.0.0/deploy/shell/x.html", "packages/a/1.0.0/kit/x.svg"]
)
def test_what_a_package_brings_along_is_shown_and_never_run(served: str, tmp_path: Path, path: str):
    (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "site" / path).write_bytes(b"<script>alert(1)</script>")
    assert fetch(served, path)[1]["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["evidence/raw/", "packages/", "nowhere", "../secret", "%2e%2e/secret"])
def test_folders_are_not_listed_and_nothing_outside_is_served(served: str, tmp_path: Path, path: str):
    (tmp_path / "secret").write_text("mine")
    assert fetch(served, path)[0] == 404


def test_a_rebuilt_site_is_served_at_once(served: str, tmp_path: Path):
    assert fetch(served, "packages/kimi-k3-8xb300/index.html")[0] == 200
    index = (("index.html", b"new"), ("index.json", b'{"schema": "dayzero/catalog-index/v1"}'))
    write_site(index, tmp_path / "site")
    assert fetch(served, "packages/kimi-k3-8xb300/index.html")[0] == 404


def test_a_taken_port_is_a_remote_error_with_a_hint(tmp_path: Path):
    write_site(whole_site().items(), tmp_path / "site")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(RemoteError, match=f"cannot listen on 127.0.0.1:{port}") as caught,
            serve(tmp_path / "site", port=port),
        ):
            pass
    assert "--port 0" in caught.value.hint


def test_a_folder_without_a_site_is_not_served(tmp_path: Path):
    with pytest.raises(InputError, match=r"index\.html is missing"), serve(tmp_path):
        pass


def test_a_closed_server_gives_its_port_back(tmp_path: Path):
    write_site(whole_site().items(), tmp_path / "site")
    with serve(tmp_path / "site") as address:
        port = urlsplit(address).port
    with serve(tmp_path / "site", port=port or 0) as again:
        assert again == address


def test_a_reader_who_goes_away_is_no_news(served: str, capfd: pytest.CaptureFixture[str]):
    parts = urlsplit(served)
    for _ in range(3):
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            reader.sendall(b"GET /index.html HTTP/1.1\r\n")
    assert fetch(served, "")[0] == 200
    assert capfd.readouterr() == ("", "")
