"""A model's ``config.json`` from a hub, by the model's name there; what a commit names is asked for once."""

import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from dayzero.adapters.disk import write_whole
from dayzero.core.errors import InputError, RemoteError

_NAME = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./-]+))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TIMEOUT_S = 30.0
_LARGEST_BYTES = 16 << 20
_HINT = "Give the model's config.json or its folder instead."
_MISSING, _GATED = {404, 410}, {401, 403}


@dataclass(frozen=True, slots=True, kw_only=True)
class HubName:
    """A model as a hub names it: ``owner/name``, at a branch, tag or commit."""

    repository: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"{self.repository}@{self.revision}"


def hub_name(text: str) -> HubName | None:
    """Read ``owner/name`` or ``owner/name@revision``; ``None`` for anything else."""
    found = _NAME.fullmatch(text)
    if found is None or ".." in text:
        return None
    return HubName(repository=found["repository"], revision=found["revision"] or "main")


class HubConfigs:
    """Fetches configurations.

    Args:
        folder: Where they are kept.
        endpoint: The hub's address.
        token: What a gated model asks for, ``""`` without one.
        offline: Whether the hub must not be asked.
    """

    def __init__(self, folder: Path, endpoint: str, *, token: str = "", offline: bool = False) -> None:
        self._folder = folder
        self._endpoint = endpoint.rstrip("/")
        self._token = token
        self._offline = offline

    def fetch(self, name: HubName) -> bytes:
        """Give a ``config.json``: of a commit the kept one, of a branch what it is now.

        Raises:
            InputError: The hub has no such model, gives it to others only, or it has no ``config.json``.
            RemoteError: The hub did not answer, or may not be asked.
        """
        kept = self._folder / name.repository.replace("/", "--") / f"{name.revision.replace('/', '--')}.json"
        if kept.is_file() and (self._offline or _COMMIT.fullmatch(name.revision)):
            return kept.read_bytes()
        if self._offline:
            raise RemoteError(f"the config.json of {name} is not kept here, and the hub may not be asked", hint=_HINT)
        content = self._ask(name)
        write_whole(kept, content)
        return content

    def _ask(self, name: HubName) -> bytes:
        url = f"{self._endpoint}/{name.repository}/resolve/{name.revision}/config.json"
        if not url.startswith(("http://", "https://")):
            raise InputError(f"not the address of a hub: {self._endpoint}", hint="Set HF_ENDPOINT to an http address.")
        request = urllib.request.Request(url)  # noqa: S310  (its scheme was checked)
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
                content: bytes = answer.read(_LARGEST_BYTES + 1)
        except urllib.error.HTTPError as error:
            error.close()
            raise _refusal(name, self._endpoint, error.code) from error
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise RemoteError(
                f"{self._endpoint} did not give the config.json of {name}: {error}", hint=_HINT
            ) from error
        if len(content) > _LARGEST_BYTES:
            raise InputError(f"the config.json of {name} is larger than 16 MiB", hint=_HINT)
        return content


def _refusal(name: HubName, endpoint: str, status: int) -> InputError | RemoteError:
    if status in _MISSING:
        return InputError(f"{endpoint} has no config.json of {name}", hint=_HINT)
    if status in _GATED:
        return InputError(
            f"{endpoint} does not give {name} to everyone, or has no such model (HTTP {status})",
            hint=f"Set HF_TOKEN to a token that may read it. {_HINT}",
        )
    return RemoteError(f"{endpoint} did not give the config.json of {name}: HTTP {status}", hint=_HINT)
