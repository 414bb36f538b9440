"""A container registry with the referrers API, strict by the OCI distribution specification 1.1; it lies and fails as told.

It takes a blob or manifest only under its own digest, a manifest only after its blobs, an upload once; it answers a manifest that
has a subject with OCI-Subject, lists referrers in pages, and challenges who is not logged in.
"""

import base64
import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

INDEX = "application/vnd.oci.image.index.v1+json"
_BLOB = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/blobs/(?P<digest>sha256:[0-9a-f]{64})")
_BEGIN = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/blobs/uploads/")
_UPLOAD = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/blobs/uploads/(?P<session>[0-9]+)")
_MANIFEST = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/manifests/(?P<reference>[A-Za-z0-9._:-]+)")
_REFERRERS = re.compile(r"/v2/(?P<name>[a-z0-9/._-]+)/referrers/(?P<digest>sha256:[0-9a-f]{64})")


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: int = 0  # bytes of the body that are announced and never sent


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


Spoil = Callable[[Asked, Reply], Reply]


def named(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"


def refused(status: int, code: str) -> Reply:
    return Reply(status, json.dumps({"errors": [{"code": code, "message": "no"}]}).encode())


@dataclass
class Registry:
    """Attributes:
    referrers_api: Whether it has it.
    page: The most referrers that one answer lists.
    login: ``user:password`` that it wants to see, ``""`` for none.
    bearer: Whether it wants a token, from its own token server, instead of the log-in itself.
    spoil: Changes an answer before it is sent.
    asked: What came.
    """

    referrers_api: bool = True
    page: int = 100
    login: str = ""
    bearer: bool = False
    spoil: Spoil = lambda _asked, reply: reply
    asked: list[Asked] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)
    port: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def answer(self, asked: Asked) -> Reply:
        url = urlsplit(asked.path)
        if url.path == "/token":
            return self._token(asked)
        if self.login and not self._may(asked):
            return self._challenge(url.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        for pattern, serve in (
            (_BLOB, self._blob),
            (_BEGIN, self._begin),
            (_UPLOAD, self._upload),
            (_MANIFEST, self._manifest),
            (_REFERRERS, self._referrers),
        ):
            if match := pattern.fullmatch(url.path):
                return serve(asked, match.groupdict(), query)
        return refused(404, "NAME_UNKNOWN")

    def _may(self, asked: Asked) -> bool:
        wanted = "Bearer t0ken" if self.bearer else f"Basic {base64.b64encode(self.login.encode()).decode()}"
        return asked.headers.get("authorization") == wanted

    def _challenge(self, path: str) -> Reply:
        name = path.removeprefix("/v2/").split("/blobs/")[0].split("/manifests/")[0]
        realm = f'Bearer realm="http://{self.host}/token",service="here",scope="repository:{name}:pull,push"'
        challenge = realm if self.bearer else 'Basic realm="here"'
        return replace(refused(401, "UNAUTHORIZED"), headers=(("WWW-Authenticate", challenge),))

    def _token(self, asked: Asked) -> Reply:
        basic = f"Basic {base64.b64encode(self.login.encode()).decode()}"
        form = parse_qs(asked.body.decode())
        known = asked.headers.get("authorization") == basic or form.get("refresh_token") == ["refresh"]
        return Reply(200, b'{"token":"t0ken","expires_in":300}') if known else refused(401, "UNAUTHORIZED")

    def _blob(self, asked: Asked, names: dict[str, str], _query: dict[str, str]) -> Reply:
        content = self.blobs.get(names["digest"])
        if content is None or asked.method not in {"GET", "HEAD"}:
            return refused(404, "BLOB_UNKNOWN")
        return Reply(200, content, (("Docker-Content-Digest", names["digest"]),))

    def _begin(self, asked: Asked, names: dict[str, str], _query: dict[str, str]) -> Reply:
        if asked.method != "POST":
            return refused(405, "UNSUPPORTED")
        session = str(len(self.asked))
        self.sessions.add(session)
        return Reply(202, headers=(("Location", f"/v2/{names['name']}/blobs/uploads/{session}?state=x"),))

    def _upload(self, asked: Asked, names: dict[str, str], query: dict[str, str]) -> Reply:
        if asked.method != "PUT" or names["session"] not in self.sessions:
            return refused(404, "BLOB_UPLOAD_UNKNOWN")
        self.sessions.discard(names["session"])
        if query.get("digest") != named(asked.body) or query.get("state") != "x":
            return refused(400, "DIGEST_INVALID")
        self.blobs[named(asked.body)] = asked.body
        return Reply(201, headers=(("Docker-Content-Digest", named(asked.body)),))

    def _manifest(self, asked: Asked, names: dict[str, str], _query: dict[str, str]) -> Reply:
        reference = names["reference"]
        if asked.method == "PUT":
            return self._put_manifest(asked, reference)
        digest = reference if ":" in reference else self.tags.get(reference, "")
        if digest not in self.manifests:
            return refused(404, "MANIFEST_UNKNOWN")
        kind, content = self.manifests[digest]
        return Reply(200, content, (("Content-Type", kind), ("Docker-Content-Digest", digest)))

    def _put_manifest(self, asked: Asked, reference: str) -> Reply:
        digest, members = named(asked.body), json.loads(asked.body)
        if asked.headers.get("content-type") != members["mediaType"] or members["schemaVersion"] != 2:
            return refused(400, "MANIFEST_INVALID")
        needed = [entry["digest"] for entry in [*members.get("layers", []), members.get("config")] if entry]
        if any(one not in self.blobs for one in needed):
            return refused(400, "MANIFEST_BLOB_UNKNOWN")
        if any(entry["digest"] not in self.manifests for entry in members.get("manifests", [])):
            return refused(400, "MANIFEST_UNKNOWN")
        if ":" in reference and reference != digest:
            return refused(400, "DIGEST_INVALID")
        if ":" not in reference:
            self.tags[reference] = digest
        self.manifests[digest] = (members["mediaType"], asked.body)
        headers = [("Docker-Content-Digest", digest)]
        if "subject" in members and self.referrers_api:
            headers.append(("OCI-Subject", members["subject"]["digest"]))
        return Reply(201, headers=tuple(headers))

    def _referrers(self, _asked: Asked, names: dict[str, str], query: dict[str, str]) -> Reply:
        if not self.referrers_api:
            return refused(404, "NOT_FOUND")
        listed = []
        for digest, (kind, content) in sorted(self.manifests.items()):
            members = json.loads(content)
            if members.get("subject", {}).get("digest") == names["digest"]:
                about = {key: members[key] for key in ("artifactType", "annotations") if key in members}
                listed.append({"mediaType": kind, "digest": digest, "size": len(content), **about})
        first = int(query.get("n", "0"))
        shown = listed[first : first + self.page]
        body = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": shown}).encode()
        following = first + self.page
        link = (("Link", f'</v2/{names["name"]}/referrers/{names["digest"]}?n={following}>; rel="next"'),)
        return Reply(200, body, (("Content-Type", INDEX), *(link if following < len(listed) else ())))


def _handler(registry: Registry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 20  # head and body leave together, so that no acknowledgement is waited for

        def serve(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            headers = {key.lower(): value for key, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(length))
            registry.asked.append(asked)
            reply = registry.spoil(asked, registry.answer(asked))
            self.send_response(reply.status)
            for key, value in reply.headers:
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body[: len(reply.body) - reply.cut])
            self.close_connection = self.close_connection or bool(reply.cut)

        do_GET = do_HEAD = do_POST = do_PUT = serve  # noqa: N815  (the names that http.server calls)

        def log_message(self, *_words: object) -> None:
            pass

    return Handler


@contextlib.contextmanager
def oci_registry(**options: object) -> Iterator[Registry]:
    """Serve on the loopback until the context ends."""
    registry = Registry(**options)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(registry))
    registry.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
