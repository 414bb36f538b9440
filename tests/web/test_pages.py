"""The pages and documents of a live catalog, asked as a browser and a program ask."""

import asyncio
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

import pytest
from starlette.types import Message
from tests.web.client import Client
from tests.web.conftest import Disk

from dayzero.wiring.catalog_source import CatalogSource
from dayzero.wiring.site import site_files

RELEASED = "qwen3-32b-1xh200-00000"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
KINDS = {
    "/": 200,
    f"/packages/{RELEASED}/": 200,
    f"/packages/{RELEASED}": 308,
    "/api/v1/packages": 200,
    f"/api/v1/releases/{RELEASED}/1.0.0.json": 200,
    "/style.css": 200,
    "/nothing": 404,
    "/api/v1/nothing": 404,
    "/find?unknown=1": 422,
    "/api/v1/packages?limit=0": 422,
    "/healthz": 200,
}


@pytest.mark.parametrize(("path", "status"), KINDS.items())
def test_every_answer_carries_the_headers_and_none_a_cookie_or_the_name_of_the_host(
    client: Client, path: str, status: int
):
    answer = client.get(path, host="evil.example")
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "set-cookie" not in answer.headers
    assert "evil.example" not in answer.text + str(answer.headers)
    assert "server" not in answer.headers


@pytest.mark.parametrize(("path", "status"), KINDS.items())
def test_head_is_get_without_the_body(client: Client, path: str, status: int):
    got, head = client.get(path), client.ask("HEAD", path)
    assert head.status_code == status
    assert head.content == b""
    assert dict(head.headers) == dict(got.headers)


def test_head_sends_no_byte_of_the_body(client: Client):
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "HEAD", "path": "/style.css", "query_string": b"", "headers": []}
    asyncio.run(client.app(scope, receive, send))
    assert dict(sent[0]["headers"])[b"content-length"] != b"0"
    assert b"".join(message.get("body", b"") for message in sent[1:]) == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/api/v1/packages", "/nothing"])
def test_a_catalog_is_only_read(client: Client, method: str, path: str):
    answer = client.ask(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


def test_what_is_kept_by_a_reader_is_asked_about_again_and_answered_without_a_body(client: Client):
    for path in ("/", "/api/v1/packages.json", "/feeds/releases.atom", "/api/v1/packages?gpu=h200", "/find?q=qwen3"):
        first = client.get(path)
        assert first.headers["cache-control"] == "no-cache"
        tag = first.headers["etag"]
        for asked in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = client.get(path, if_none_match=asked)
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get(path, if_none_match='"other"').status_code == 200


def test_what_was_published_may_be_kept_for_good_and_what_can_change_may_not(client: Client):
    forever = "public, max-age=31536000, immutable"
    for path, kept in {
        f"/api/v1/releases/{RELEASED}/1.0.0.json": forever,
        f"/packages/{RELEASED}/1.0.0/package.toml": forever,
        f"/api/v1/packages/{RELEASED}/1.0.0.json": "no-cache",
        "/packages/demo-smollm2/draft/package.toml": "no-cache",
        "/api/v1/releases/demo-smollm2/draft.json": "no-store",  # there is none
    }.items():
        assert client.get(path).headers["cache-control"] == kept, path


def test_the_documents_are_those_of_the_static_site_byte_for_byte(client: Client, disk: Disk):
    compared = 0
    for path, content in site_files(CatalogSource(disk.places()).read()):
        if path.startswith(("api/", "feeds/", "evidence/", "packages/")) and not path.endswith(".html"):
            assert client.get(f"/{path}").content == content, path
            compared += 1
    assert compared > 40


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in {"href", "src"} and value]


def links(path: str, text: str) -> Iterator[str]:
    for href in Links(text).found:
        target = urljoin(f"http://catalog.test{path}", urldefrag(href).url)
        if target.startswith("http://catalog.test/"):
            yield target.removeprefix("http://catalog.test")


def test_every_link_within_two_steps_of_the_front_page_leads_somewhere(client: Client):
    seen, queue = {"/"}, ["/"]
    for path in queue:
        answer = client.get(path)
        assert answer.status_code in {200, 308}, path
        if answer.headers.get("content-type", "").startswith("text/html") and len(seen) < 250:
            new = [link for link in links(path, answer.text) if link not in seen]
            seen.update(new)
            queue += new
    assert f"/packages/{RELEASED}/1.0.0/index.html" in seen
    assert any("/deploy/" in path for path in seen)
    assert any("/evidence/raw/" in path for path in seen)


def test_a_folder_without_its_slash_leads_to_the_folder_and_nowhere_else(client: Client):
    for path in (f"/packages/{RELEASED}", f"/packages/{RELEASED}/1.0.0", "/how-to-read", "/find/gpu"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"]) == (308, f"./{path.rpartition('/')[2]}/")
    for path in ("/%2Fevil.example", "/%2Fevil.example/", "/evil.example%2f..", "/packages/%2e%2e"):
        assert client.get(path).status_code == 404, path


def test_a_name_that_is_not_there_is_answered_with_what_is_near(client: Client):
    page = client.get("/packages/qwen3-32b-1xh200-0000/")
    assert page.status_code == 404
    assert f'href="../../packages/{RELEASED}/index.html"' in page.text
    said = client.get("/api/v1/packages/qwen3-32b-1xh200-0000.json").json()
    assert said == {
        "error": "there is no such package",
        "hint": "Near it: qwen3-32b-1xh200-00000.",
    } or said["hint"].startswith("Near it: qwen3-32b-1xh200-00000, ")
    said = client.get(f"/api/v1/packages/{RELEASED}/9.9.9.json").json()
    assert said == {"error": f"{RELEASED} has no such version", "hint": f"Near it: {RELEASED} 1.0.0."}


@pytest.mark.parametrize(
    "path",
    [
        "/packages/../../etc/passwd",
        "/packages/%2e%2e/%2e%2e/etc/passwd",
        "/evidence/raw/..%2f..%2fledger.jsonl",
        "/evidence/raw/" + "0" * 64,
        "/claims/%00/",
        "/compare/a@1...b@2/",
        "/compare/............/",
        "/listing/1/",
        "/listing/-1/",
        "/listing/99999999999999999999/",
        "/find/q/x/",
        "/find/gpu/h200/0/",
        "/find/gpu/h200/2/",
        "/find/gpu/h200/2/3/",
        "/api/v1/claims/.json",
        "/api/v2/packages.json",
        "/" + "a" * 3000,
        "/%f0%9f%98%80/",
        "/packages/%ed%a0%80/",
    ],
)
def test_an_address_that_nothing_stands_at_is_a_404_with_a_hint(client: Client, path: str):
    answer = client.get(path)
    assert answer.status_code in {404, 422}
    assert "hint" in answer.json() if "json" in answer.headers["content-type"] else "What to do" in answer.text


def test_what_an_address_says_is_escaped_on_the_page(client: Client):
    for path in ("/<script>alert(1)</script>", "/find?%3Cscript%3E=1", "/find?q=%3Cscript%3Ealert(1)%3C/script%3E"):
        assert "<script>" not in client.get(path).text


def test_an_error_that_nobody_foresaw_shows_no_code(client: Client, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("secret of the implementation")

    monkeypatch.setattr("dayzero.web.questions.render_find", fail)
    answer = Client(client.app, strict=False).get("/find")
    assert answer.status_code == 500
    assert "of the implementation" not in answer.text
    assert "Traceback" not in answer.text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_every_page_says_the_same_as_its_document(client: Client):
    page = client.get(f"/packages/{RELEASED}/1.0.0/").text
    document = client.get(f"/api/v1/packages/{RELEASED}/1.0.0.json").json()
    shown = [m for m in document["measurements"] if m["state"] == "shown"]
    assert shown
    for number in shown:
        pattern = rf'data-claim="{re.escape(number["slug"])}" value="{re.escape(number["value"])}"'
        assert re.search(pattern, page), number["slug"]
    assert json.dumps(document)
