"""Fetch a model's pinned files from a hub, hashing what arrives, so that nothing has to be read a second time."""

import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

import httpx

from dayzero.adapters.disk import disk_errors
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import FilePin, HubRevision
from dayzero_verify.hashing import progress
from dayzero_verify.model_files import Identity
from dayzero_verify.resume import ResumeFile

PUBLIC_ENDPOINT: Final = "https://huggingface.co"
_CHUNK: Final = 1 << 20
_TIMES: Final = httpx.Timeout(60.0, connect=15.0)
_REDIRECTS: Final = 5
_LONGEST_PAUSE_S: Final = 60.0
_OK, _PARTIAL, _NOT_SATISFIABLE, _TOO_MANY, _SERVER = 200, 206, 416, 429, 500
_REFUSED: Final = {401: "asks for a token", 403: "denies access", 404: "does not have it"}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """A hub, and how it is asked.

    Attributes:
        endpoint: Base URL.
        token: Bearer token; sent to the endpoint's own host only, and only over TLS or on the loopback. ``""`` for none.
        at_once: Files that are fetched at the same time.
        attempts: How often a file is asked for in a row without a byte arriving.
        sleep: Waits so many seconds between attempts.
        say: Takes a line about the progress.
    """

    endpoint: str = PUBLIC_ENDPOINT
    token: str = ""
    at_once: int = 4
    attempts: int = 6
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = field(default=lambda _: None)

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.endpoint)
        except httpx.InvalidURL:
            url = httpx.URL()
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
            raise InputError(
                f"not a hub's address: {self.endpoint!r}", hint="Give --endpoint or HF_ENDPOINT as https://HOST."
            )

    def address(self, origin: HubRevision, pin: FilePin) -> str:
        """Say where a file is: at the commit, never at a branch."""
        path = f"{quote(origin.repository)}/resolve/{origin.revision}/{quote(pin.path)}"
        return f"{self.endpoint.rstrip('/')}/{path}"

    def headers(self, url: httpx.URL) -> dict[str, str]:
        """Give the headers for a request to this address, which may be that of a redirect."""
        own = httpx.URL(self.endpoint)
        private = url.scheme == "https" or url.host in _LOOPBACK
        headers = {"Accept-Encoding": "identity", "User-Agent": "dayzero"}
        if self.token and private and (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port):
            headers["Authorization"] = f"Bearer {self.token}"
        return headers


class _AgainError(Exception):
    """It may work when it is tried again.

    Args:
        reason: What happened.
        pause_s: How long the server asks to wait; 0 where it does not say.
    """

    def __init__(self, reason: str, *, pause_s: float = 0.0) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


def fetch(hub: Hub, origin: HubRevision, pins: Sequence[FilePin], folder: Path, resume: ResumeFile | None) -> None:
    """Bring pinned files into a folder, several at once, each whole or not at all; what was begun earlier is taken up.

    Args:
        hub: Where they come from.
        origin: Which revision.
        pins: The files; those that are there already are not asked for.
        folder: Where they go.
        resume: Remembers the digest of each finished file, where there is one.

    Raises:
        IntegrityError: A file has not its pinned digest; what arrived is kept under another name.
        InputError: The hub does not have the file, or does not give it to this token.
        RemoteError: The hub did not deliver in so many attempts, or the disk is full.
    """
    todo = sorted((pin for pin in pins if not (folder / pin.path).exists()), key=lambda pin: -pin.size.count)
    downloads = [_Download(hub, origin, pin, folder / pin.path, resume) for pin in todo]
    if not downloads:
        return
    _require_space(folder, sum(download.missing_bytes() for download in downloads))
    stop = threading.Event()
    with httpx.Client(timeout=_TIMES) as client, ThreadPoolExecutor(hub.at_once) as pool:
        running = {pool.submit(download.run, client, stop) for download in downloads}
        began, total = time.monotonic(), sum(download.missing_bytes() for download in downloads)
        try:
            while running:
                ended, running = wait(running, timeout=1.0, return_when=FIRST_EXCEPTION)
                for one in ended:
                    one.result()
                if running:
                    done = sum(download.arrived for download in downloads)
                    files = f"{len(downloads) - len(running)} of {len(downloads)} files"
                    hub.say(progress(done, total, time.monotonic() - began, files))
        finally:
            stop.set()
            for one in running:
                one.cancel()


def _require_space(folder: Path, needed: int) -> None:
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RemoteError(
            f"{folder} has {free} bytes free, and {needed} are still to come",
            hint="Free some space, or choose another folder.",
        )


@dataclass(slots=True)
class _Download:
    """One file on its way."""

    hub: Hub
    origin: HubRevision
    pin: FilePin
    target: Path
    resume: ResumeFile | None
    arrived: int = 0
    state: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def part(self) -> Path:
        """Where the bytes lie until they are all there."""
        return self.target.with_name(f".{self.target.name}.part")

    def missing_bytes(self) -> int:
        """Count what is still to come."""
        return max(0, self.pin.size.count - (self.part.stat().st_size if self.part.exists() else 0))

    def run(self, client: httpx.Client, stop: threading.Event) -> None:
        """Fetch it to the end, hold it to its digest, and give it its name."""
        with disk_errors(self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            with self.part.open("a+b") as file:
                if not self._bring(client, file, stop):
                    return
                file.flush()
                os.fsync(file.fileno())
            self._finish(self.state.hexdigest())

    def _bring(self, client: httpx.Client, file: BinaryIO, stop: threading.Event) -> bool:
        """Bring every byte into the file, hashed; false when told to stop."""
        self._take_up(file)
        failures = 0
        while True:
            before = self.arrived
            try:
                return self._stream(client, file, stop)
            except (_AgainError, httpx.TransportError) as error:
                failures = 1 if self.arrived > before else failures + 1
                if failures == self.hub.attempts:
                    raise RemoteError(
                        f"{self.pin.path} did not arrive in {failures} attempts: {str(error) or type(error).__name__}",
                        hint="Run it again: what has arrived is kept.",
                    ) from error
                asked = error.pause_s if isinstance(error, _AgainError) else 0.0
                self.hub.sleep(min(_LONGEST_PAUSE_S, max(asked, 0.5 * 2**failures)))

    def _take_up(self, file: BinaryIO) -> None:
        """Hash what an earlier run has left; more than the whole file is no beginning of it."""
        if file.seek(0, os.SEEK_END) > self.pin.size.count:
            file.truncate(0)
        file.seek(0)
        while piece := file.read(_CHUNK):
            self.state.update(piece)

    def _stream(self, client: httpx.Client, file: BinaryIO, stop: threading.Event) -> bool:
        """Ask for what is missing and append it."""
        at, size = file.seek(0, os.SEEK_END), self.pin.size.count
        if at == size:
            return True
        with self._answer(client, at) as answer:
            if answer.status_code == _OK and at:  # it does not know ranges: everything comes again
                file.truncate(0)
                at, self.state = 0, hashlib.sha256()
            for piece in answer.iter_raw():  # as it comes: gathered into larger pieces, what breaks off would be lost
                if stop.is_set():
                    return False
                at += len(piece)
                if at > size:
                    raise self._wrong(f"has more than the pinned {size} bytes")
                file.write(piece)
                self.state.update(piece)
                self.arrived += len(piece)
        if at < size:
            raise _AgainError(f"the answer ended {size - at} bytes early")
        return True

    @contextlib.contextmanager
    def _answer(self, client: httpx.Client, at: int) -> Iterator[httpx.Response]:
        url = httpx.URL(self.hub.address(self.origin, self.pin))
        for _ in range(_REDIRECTS):
            headers = self.hub.headers(url) | ({"Range": f"bytes={at}-"} if at else {})
            with client.stream("GET", url, headers=headers, follow_redirects=False) as answer:
                if not answer.has_redirect_location:
                    self._judge(answer, at)
                    yield answer
                    return
                following = url.join(answer.headers["location"])
            if following.scheme != "https" and url.scheme == "https":
                raise RemoteError(f"{url.host} redirects to an address without TLS", hint="Use another endpoint.")
            url = following
        raise RemoteError(f"{self.pin.path} is redirected more than {_REDIRECTS} times", hint="Use another endpoint.")

    def _judge(self, answer: httpx.Response, at: int) -> None:
        """Let only an answer pass that holds the bytes from ``at`` on, or from the first one on."""
        status, host = answer.status_code, answer.url.host
        if status in _REFUSED:
            raise InputError(
                f"{self.pin.path}: {host} {_REFUSED[status]} ({status})",
                hint="Check the repository and the revision, accept the model's licence there, or set HF_TOKEN.",
            )
        if status == _TOO_MANY or status >= _SERVER:
            asked = answer.headers.get("retry-after", "")
            raise _AgainError(f"{host} answers {status}", pause_s=float(asked) if asked.isdecimal() else 0.0)
        start = f"bytes {at}-{self.pin.size.count - 1}/{self.pin.size.count}"
        if status == _NOT_SATISFIABLE or (status == _PARTIAL and answer.headers.get("content-range") != start):
            raise self._wrong(f"is another file there: asked for {start}, {host} answers {_range(answer)}")
        if status not in {_OK, _PARTIAL}:
            raise RemoteError(f"{self.pin.path}: {host} answers {status}", hint="Use another endpoint.")

    def _finish(self, digest: str) -> None:
        if digest != self.pin.sha256.hex:
            raise self._wrong(f"has sha256 {digest} instead of the pinned {self.pin.sha256}")
        self.part.chmod(0o644)
        self.part.replace(self.target)
        # The new name is a change of its own: what the file is from now on is what it is after it.
        if self.resume is not None:
            self.resume.add(self.pin.path, Identity.of(self.target.stat()), digest)
        self.hub.say(f"ok          {self.pin.path}, {self.pin.size}")

    def _wrong(self, why: str) -> IntegrityError:
        """Keep what arrived under another name, which no engine loads, and say what is wrong with it."""
        kept = self.target.with_name(f"{self.target.name}.wrong-{time.time_ns()}")
        self.part.rename(kept)
        return IntegrityError(
            f"{self.pin.path} {why}; what arrived is kept as {kept.name}",
            hint="Run it again to fetch it anew, or from another --endpoint; the pinned digest is the authority.",
        )


def _range(answer: httpx.Response) -> str:
    return answer.headers.get("content-range") or str(answer.status_code)
