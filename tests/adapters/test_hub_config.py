"""Configurations of models from a hub on this machine."""

import http.server
import threading

import pytest

from dayzero.adapters.hub_config import HubConfigs, hub_name
from dayzero.core.errors import InputError, RemoteError

COMMIT, TOKEN = "a" * 40, "t"


class Hub(http.server.BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]
    answers: dict[str, tuple[int, bytes]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        status, body = self.answers.get(self.path, (404, b""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub():
    handler = type("OneHub", (Hub,), {"asked": [], "answers": {}})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("org/name", "org/name@main"),
        ("org/na-me.1@v1.0", "org/na-me.1@v1.0"),
        (f"org/name@{COMMIT}", f"org/name@{COMMIT}"),
        ("name", None),
        ("a/b/c", None),
        ("../b", None),
        ("org/name@../../x", None),
        ("org/", None),
    ],
)
def test_a_model_is_named_by_owner_and_name(text, name):
    found = hub_name(text)
    assert (str(found) if found else None) == name


def test_a_branch_is_asked_each_time_a_commit_once_and_both_are_kept_for_offline(tmp_path, hub):
    handler, url = hub
    for revision in ("main", COMMIT):
        handler.answers[f"/org/name/resolve/{revision}/config.json"] = (200, b"{}")
    for revision in ("main", COMMIT):
        for _ in range(2):
            assert HubConfigs(tmp_path, url, token=TOKEN).fetch(hub_name(f"org/name@{revision}")) == b"{}"
        assert HubConfigs(tmp_path, "http://127.0.0.1:9", offline=True).fetch(hub_name(f"org/name@{revision}")) == b"{}"
    assert [path.split("/")[4] for path, _ in handler.asked] == ["main", "main", COMMIT]
    assert {token for _, token in handler.asked} == {"Bearer t"}


@pytest.mark.parametrize(
    ("status", "error"), [(404, InputError), (401, InputError), (403, InputError), (500, RemoteError)]
)
def test_a_hub_that_refuses_is_an_error_with_a_hint(tmp_path, hub, status, error):
    handler, url = hub
    handler.answers["/org/name/resolve/main/config.json"] = (status, b"no")
    with pytest.raises(error, match="org/name@main") as raised:
        HubConfigs(tmp_path, url).fetch(hub_name("org/name"))
    assert "config.json" in raised.value.hint
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(("url", "offline"), [("http://127.0.0.1:9", False), ("http://127.0.0.1:9", True)])
def test_no_hub_is_a_remote_failure(tmp_path, url, offline):
    with pytest.raises(RemoteError, match="org/name@main"):
        HubConfigs(tmp_path, url, offline=offline).fetch(hub_name("org/name"))


def test_only_http_is_asked(tmp_path):
    with pytest.raises(InputError, match="not the address of a hub"):
        HubConfigs(tmp_path, "file:///etc").fetch(hub_name("org/name"))
