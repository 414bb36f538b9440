"""A wheel at a URL, read in ranges: its directory first, then single members. Works where ``Range`` is ignored, too."""

import io
import re
import tempfile
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from typing import IO, cast
from urllib.parse import unquote, urlsplit

from dayzero.adapters.artifact_open import with_metadata
from dayzero.adapters.artifact_pack import name_and_version
from dayzero.adapters.artifact_zip import ZipFiles
from dayzero.audit.installed import Distribution
from dayzero.core.errors import InputError, RemoteError

_BLOCK = 128 << 10
_TIMEOUT_S = 30.0
_PARTIAL, _OK = 206, 200
_TOTAL = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_LARGEST_WHOLE = 8 << 30


class RangeFile(io.RawIOBase):
    """A remote file that can be read anywhere; never asks for a suffix range, which some servers refuse.

    Args:
        url: ``http`` or ``https``.

    Raises:
        InputError: It is no such URL.
        RemoteError: The server did not deliver.
    """

    def __init__(self, url: str) -> None:
        self._whole: IO[bytes] | None = None
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InputError(f"not a URL of a wheel: {url}", hint="Give an http or https URL.")
        self._url = url
        self._at = 0
        self._blocks: dict[int, bytes] = {}
        self.moved = 0
        self._tag = ""
        self.total = self._open()

    def close(self) -> None:
        """Let go of what was moved."""
        if self._whole is not None:
            self._whole.close()
        super().close()

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read anywhere."""
        return True

    def tell(self) -> int:
        """Give the position of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.total}[whence]
        if base + offset < 0:
            raise OSError("before the beginning")  # as files do; zipfile relies on it
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read from the position on; what was fetched once is not fetched again."""
        end = self.total if size < 0 else min(self._at + size, self.total)
        if end <= self._at:
            return b""
        if self._whole is not None:
            self._whole.seek(self._at)
            content = self._whole.read(end - self._at)
        else:
            content = self._ranged(self._at, end)
        self._at += len(content)
        return content

    def _ranged(self, start: int, end: int) -> bytes:
        first, last = start // _BLOCK, (end - 1) // _BLOCK
        missing = [one for one in range(first, last + 1) if one not in self._blocks]
        if missing:
            begin, stop = missing[0] * _BLOCK, min((missing[-1] + 1) * _BLOCK, self.total)
            content = self._fetch(begin, stop)
            for number in range(missing[0], missing[-1] + 1):
                place = (number - missing[0]) * _BLOCK
                self._blocks[number] = content[place : place + _BLOCK]
        joined = b"".join(self._blocks[one] for one in range(first, last + 1))
        return joined[start - first * _BLOCK : end - first * _BLOCK]

    def _open(self) -> int:
        with self._ask(0, 1) as answer:
            found = _TOTAL.fullmatch(answer.headers.get("Content-Range", ""))
            if answer.status == _PARTIAL and found:
                self._tag = answer.headers.get("ETag", "")
                self.moved += len(answer.read(2))
                return int(found[3])
            return self._take_whole(answer)

    def _take_whole(self, answer: HTTPResponse) -> int:
        self._whole = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115  (lives as long as this)
        while part := answer.read(1 << 20):
            self._whole.write(part)
            self.moved += len(part)
            if self.moved > _LARGEST_WHOLE:
                raise RemoteError(f"{self._url} does not end", hint="Download the wheel and give its path.")
        declared = answer.headers.get("Content-Length", "")
        if declared.isdigit() and int(declared) != self.moved:
            raise RemoteError(f"{self._url} ended early", hint="Try again.")
        return self.moved

    def _fetch(self, start: int, stop: int) -> bytes:
        with self._ask(start, stop) as answer:
            found = _TOTAL.fullmatch(answer.headers.get("Content-Range", ""))
            content = answer.read(stop - start + 1)
            self.moved += len(content)
            asked = (str(start), str(stop - 1), str(self.total))
            if answer.status != _PARTIAL or not found or found.groups() != asked or len(content) != stop - start:
                raise RemoteError(
                    f"{self._url}: the server did not send the range it was asked for",
                    hint="Download the wheel and give its path.",
                )
            if answer.headers.get("ETag", "") != self._tag:
                raise RemoteError(f"{self._url} changed while it was read", hint="Try again.")
            return content

    def _ask(self, start: int, stop: int) -> HTTPResponse:
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        request = urllib.request.Request(self._url, headers=headers)  # noqa: S310  (its scheme was checked)
        try:
            return cast("HTTPResponse", urllib.request.urlopen(request, timeout=_TIMEOUT_S))  # noqa: S310
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise RemoteError(f"{self._url}: {error}", hint="Check the address and the network.") from error


def open_url(url: str) -> tuple[Distribution, RangeFile]:
    """Open a wheel at a URL, and give the file that counts what was moved.

    Raises:
        InputError: It is no wheel.
        RemoteError: The server did not deliver.
    """
    filename = unquote(urlsplit(url).path.rsplit("/", 1)[-1])
    name, version = name_and_version(filename)
    remote = RangeFile(url)
    return with_metadata(ZipFiles(f"{name} {version}", cast("IO[bytes]", remote))), remote
