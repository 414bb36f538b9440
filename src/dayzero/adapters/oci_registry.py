"""A container registry: blobs, manifests and referrers by the OCI distribution specification 1.1, everything held to its digest.

An adapter of its own: the ``oras`` library (0.2.43) takes blobs without comparing their digest and knows neither the referrers API
nor the tag that stands for it, which are what a kit's statements are found by.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode, urljoin, urlsplit

from dayzero.adapters.oci_manifest import (
    INDEX,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    Descriptor,
    Manifest,
    digest_of_bytes,
    index_of,
    read_index,
)
from dayzero.adapters.registry_login import Login
from dayzero.adapters.web_client import MAX_MESSAGE_BYTES, Answer, WebClient
from dayzero.core.errors import IntegrityError, RemoteError
from dayzero_verify.strict_json import StrictJsonError, loads

OK, CREATED, ACCEPTED, BAD_REQUEST, UNAUTHORIZED, NOT_FOUND = 200, 201, 202, 400, 401, 404
_REFUSED = (UNAUTHORIZED, 403)
_NO_REFERRERS_API = (BAD_REQUEST, NOT_FOUND, 405, 406, 501)  # 404 by the specification, the others as seen in the field
_MAX_PAGES = 16
_TAG_ATTEMPTS = 4
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_NEXT = re.compile(r'<([^>]*)>\s*;[^,]*rel="?next"?')


@dataclass(slots=True)
class Registry:
    """One repository in a registry.

    Args:
        web: Asks.
        base: ``https://HOST`` or ``http://HOST``.
        repository: Its name there.
        login: Gives what the user logs in with; called when the registry asks.
    """

    web: WebClient
    base: str
    repository: str
    login: Callable[[], Login]
    _authorization: str = field(default="", repr=False)

    def put_blob(self, content: bytes) -> bool:
        """Upload bytes unless the repository has them; false where it had.

        Raises:
            RemoteError: The registry refused.
        """
        digest = digest_of_bytes(content)
        if self._ask("HEAD", f"blobs/{digest}").status == OK:
            return False
        begun = self._need(self._ask("POST", "blobs/uploads/"), ACCEPTED, "begin an upload")
        location = urljoin(f"{self.base}/v2/{self.repository}/blobs/uploads/", begun.headers.get("location", ""))
        target = f"{location}{'&' if urlsplit(location).query else '?'}{urlencode({'digest': digest})}"
        sent = {"Content-Type": "application/octet-stream"}
        stored = self._need(self._ask_url("PUT", target, headers=sent, content=content), CREATED, "take a blob")
        _need_same(stored, digest)
        return True

    def put_manifest(self, manifest: Manifest, tag: str = "") -> bool:
        """Store a manifest by its digest or under a tag; true where the registry lists it as a referrer by itself.

        Raises:
            RemoteError: The registry refused.
            IntegrityError: It stored other bytes.
        """
        return self._put(tag or manifest.descriptor.digest, manifest.content, MANIFEST)

    def manifest(self, reference: str) -> bytes | None:
        """Fetch a manifest by digest or tag, ``None`` where there is none.

        Raises:
            IntegrityError: What came does not have the digest.
        """
        answer = self._ask(
            "GET", f"manifests/{reference}", limit=MAX_MANIFEST_BYTES, headers={"Accept": f"{MANIFEST}, {INDEX}"}
        )
        if answer.status == NOT_FOUND:
            return None
        content = self._need(answer, OK, f"give the manifest {reference}").body
        if reference.startswith("sha256:"):
            _need_digest(content, reference)
        return content

    def blob(self, descriptor: Descriptor) -> bytes:
        """Fetch a blob.

        Raises:
            IntegrityError: What came does not have size and digest of the descriptor.
        """
        answer = self._ask("GET", f"blobs/{descriptor.digest}", limit=descriptor.size)
        content = self._need(answer, OK, f"give the blob {descriptor.digest}").body
        _need_digest(content, descriptor.digest)
        return content

    def referrers(self, subject: str) -> tuple[Descriptor, ...]:
        """List what refers to a manifest: by the referrers API, and by the tag that stands for it where that lists nothing."""
        return tuple(entry for page in self._pages(subject) for entry in read_index(page)) or self._tagged(subject)

    def note_referrers(self, subject: str, referrers: Iterable[Descriptor]) -> None:
        """List referrers under the tag that stands for the referrers API ("Unavailable Referrers API").

        Raises:
            RemoteError: Others write the same list at the same time, and theirs came last.
        """
        wanted = tuple(referrers)
        for _ in range(_TAG_ATTEMPTS):
            there = self._tagged(subject)
            known = {entry.digest for entry in there}
            missing = [entry for entry in wanted if entry.digest not in known]
            if not missing:
                return
            self._put(_referrers_tag(subject), index_of([*there, *missing]), INDEX)
        raise RemoteError(f"{self.base}: the list of referrers does not keep what is put there", hint="Try again.")

    def _pages(self, subject: str) -> Iterator[bytes]:
        url = f"{self.base}/v2/{self.repository}/referrers/{subject}"
        for page in range(_MAX_PAGES):
            answer = self._ask_url("GET", url, limit=MAX_MANIFEST_BYTES, headers={"Accept": INDEX})
            if page == 0 and answer.status in _NO_REFERRERS_API:
                return
            yield self._need(answer, OK, "list the referrers").body
            further = _NEXT.search(answer.headers.get("link", ""))
            if further is None:
                return
            url = urljoin(url, further[1])
        raise RemoteError(f"{self.base}: the list of referrers does not end", hint="Ask who runs the registry.")

    def _tagged(self, subject: str) -> tuple[Descriptor, ...]:
        content = self.manifest(_referrers_tag(subject))
        return () if content is None else read_index(content)

    def _put(self, reference: str, content: bytes, media_type: str) -> bool:
        answer = self._ask("PUT", f"manifests/{reference}", headers={"Content-Type": media_type}, content=content)
        stored = self._need(answer, CREATED, f"take the manifest {reference}")
        _need_same(stored, digest_of_bytes(content))
        return "oci-subject" in stored.headers

    def _ask(
        self,
        method: str,
        path: str,
        *,
        limit: int = MAX_MESSAGE_BYTES,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        url = f"{self.base}/v2/{self.repository}/{path}"
        return self._ask_url(method, url, limit=limit, headers=headers, content=content)

    def _ask_url(
        self,
        method: str,
        url: str,
        *,
        limit: int = MAX_MESSAGE_BYTES,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        """Ask, and once more with what the registry wants to see; that is shown to no other host."""
        own = urlsplit(url)[:2] == urlsplit(self.base)[:2]

        def once() -> Answer:
            shown = {"Authorization": self._authorization} if own and self._authorization else {}
            return self.web.ask(method, url, limit=limit, headers={**(headers or {}), **shown}, content=content)

        answer = once()
        if answer.status == UNAUTHORIZED and own:
            self._authorization = self._authorize(answer.headers.get("www-authenticate", ""))
            answer = once() if self._authorization else answer
        return answer

    def _authorize(self, challenge: str) -> str:
        """Get what to show, by basic authentication or from the token server that the registry names; ``""`` for nothing."""
        scheme, _, rest = challenge.partition(" ")
        asked = dict(_PARAMETER.findall(rest))
        if scheme.lower() == "basic":
            return self.login().basic
        if scheme.lower() != "bearer" or "realm" not in asked:
            return ""
        realm = asked["realm"]
        if urlsplit(realm).scheme != "https" and self.base.startswith("https:"):
            raise RemoteError(
                f"{self.base} sends its users to {realm[:80]!a}, which is not https", hint="Do not log in."
            )
        query = {key: asked[key] for key in ("service", "scope") if key in asked}
        login = self.login()
        if login.identity_token:
            form = {
                **query,
                "grant_type": "refresh_token",
                "client_id": "dayzero",
                "refresh_token": login.identity_token,
            }
            sent = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = self.web.ask("POST", realm, headers=sent, content=urlencode(form).encode("ascii"))
        else:
            url = f"{realm}{'&' if urlsplit(realm).query else '?'}{urlencode(query)}"
            answer = self.web.ask("GET", url, headers={"Authorization": login.basic} if login.basic else {})
        return f"Bearer {_token(self._need(answer, OK, 'give a token'))}"

    def _need(self, answer: Answer, status: int, what: str) -> Answer:
        if answer.status == status:
            return answer
        message = f"{self.base}/v2/{self.repository} did not {what}: {answer.status}{_reason(answer)}"
        if answer.status in _REFUSED:
            host = urlsplit(self.base).netloc
            raise RemoteError(message, hint=f"Log in (docker login {host}), and check that the account may do this.")
        if answer.status == NOT_FOUND:
            raise RemoteError(message, hint="Check host, repository and tag.")
        raise RemoteError(message, hint="Try again later, or ask who runs the registry.")


def _referrers_tag(subject: str) -> str:
    """Name the tag that stands for the referrers API ("Referrers Tag Schema")."""
    return subject.replace(":", "-")


def _need_digest(content: bytes, digest: str) -> None:
    if (found := digest_of_bytes(content)) != digest:
        raise IntegrityError(
            f"the registry sent other bytes than were asked for: {found} instead of {digest}",
            hint="Do not use them; pull from another place.",
        )


def _need_same(stored: Answer, digest: str) -> None:
    """Compare the digest that the registry gives what it stored; giving one is optional."""
    found = stored.headers.get("docker-content-digest", digest)
    if found != digest:
        raise IntegrityError(
            f"the registry stored other bytes than were sent: {found[:80]} instead of {digest}",
            hint="Do not hand out that reference; try again, or use another registry.",
        )


def _token(answer: Answer) -> str:
    try:
        document = loads(answer.body)
    except StrictJsonError:
        document = None
    members = document if isinstance(document, dict) else {}
    token = members.get("token") or members.get("access_token")
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise RemoteError("the registry's token server gave no token", hint="Ask who runs the registry.")
    return token


def _reason(answer: Answer) -> str:
    """Quote the registry's own words, cut short and made harmless."""
    try:
        document = loads(answer.body)
    except StrictJsonError:
        return ""
    errors = document.get("errors") if isinstance(document, dict) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    if not isinstance(first, dict):
        return ""
    words = " ".join(str(first.get(key, "")) for key in ("code", "message"))
    return f" ({ascii(words[:200])[1:-1]})" if words.strip() else ""
