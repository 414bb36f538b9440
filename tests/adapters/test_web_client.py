import httpx
import pytest
from tests.simulators.oci_registry import Asked, Reply, oci_registry
from tests.simulators.raw_server import Act, raw_server

from dayzero.adapters.web_client import WebClient, is_loopback
from dayzero.core.errors import InputError, RemoteError

FINE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"


def ask(url: str, method: str = "GET", **options: object):
    waits: list[float] = []
    with WebClient(wait=waits.append) as web:
        return web.ask(method, url, **options), waits


@pytest.mark.parametrize("fault", [[Act.CLOSE], [Act.RESET], [FINE[:-1], Act.CLOSE], [b"nonsense\r\n\r\n", Act.CLOSE]])
def test_a_broken_answer_is_asked_for_again_and_never_taken(fault):
    with raw_server(lambda number: fault if number < 2 else [FINE, Act.CLOSE]) as server:
        answer, waits = ask(server.url)
    assert (answer.body, waits) == (b"ok", [1.0, 2.0])
    with raw_server(fault) as server, pytest.raises(RemoteError, match=f"GET {server.url}"):
        ask(server.url)
    assert server.connections == 4


def test_a_post_is_sent_once():
    with raw_server([Act.CLOSE]) as server, pytest.raises(RemoteError):
        ask(server.url, "POST")
    assert server.connections == 1


def test_a_server_cannot_ask_for_more_patience_than_half_a_minute():
    busy = b"HTTP/1.1 429 Slow\r\nretry-after: 86400\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    with raw_server([busy, Act.CLOSE]) as server:
        answer, waits = ask(server.url)
    assert (answer.status, waits) == (429, [30.0, 30.0, 30.0])


def test_a_body_beyond_the_limit_is_not_taken_whether_announced_or_not():
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"3\r\nabc\r\n" * 9 + b"0\r\n\r\n"
    for steps in ([FINE, Act.CLOSE], [chunked, Act.CLOSE]):
        with raw_server(steps) as server, pytest.raises(RemoteError, match="longer than 1 bytes"):
            ask(server.url, limit=1)


def test_an_answer_that_never_ends_is_left_at_the_limit():
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"
    with raw_server([head, Act.HANG]) as server, pytest.raises(RemoteError, match="longer than 1 bytes"):
        ask(server.url, limit=1)
    assert server.connections == 1


def test_a_long_refusal_is_read_in_part():
    with oci_registry(spoil=lambda _asked, _reply: Reply(500, b"x" * 1_000_000)) as server:
        answer, _ = ask(f"http://{server.host}/")
    assert (answer.status, len(answer.body)) == (500, 65536)


@pytest.mark.parametrize("target", ["http://example.org/x", "ftp://example.org/x", "file:///etc/passwd"])
def test_a_redirect_leads_to_nothing_unsafe(target):
    def away(_asked: Asked, _reply: Reply) -> Reply:
        return Reply(302, headers=(("Location", target),))

    with oci_registry(spoil=away) as server, pytest.raises((InputError, RemoteError)):
        ask(f"http://{server.host}/")


def test_from_beyond_this_machine_nothing_leads_back_into_it():
    with WebClient() as web:
        for url in ("http://127.0.0.1:1/", "http://localhost/", "http://example.org/"):
            with pytest.raises(InputError, match="is not https"):
                web._need_safe(httpx.Request("GET", url))  # noqa: SLF001  (no TLS server stands beyond this machine here)
        web._need_safe(httpx.Request("GET", "https://example.org/"))  # noqa: SLF001


def test_redirects_end():
    with oci_registry(spoil=lambda asked, _: Reply(302, headers=(("Location", asked.path),))) as server:
        with pytest.raises(RemoteError, match="redirects"):
            ask(f"http://{server.host}/")
        assert len(server.asked) == 6


@pytest.mark.parametrize(
    ("host", "here"),
    [("localhost", True), ("127.0.0.1", True), ("[::1]", True), ("127.0.0.1.example.org", False), ("", False)],
)
def test_this_machine_is_known_by_name(host, here):
    assert is_loopback(host) is here


def test_a_url_that_is_none_is_the_callers_fault():
    with pytest.raises(InputError):
        ask("http://[nonsense/")
