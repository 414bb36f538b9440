"""The user's own log-ins to container registries, from where ``docker login`` keeps them."""

import base64
import binascii
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from dayzero.core.errors import InputError

_HELPER_TIMEOUT_S = 30
_DOCKER_HUB = ("docker.io", "registry-1.docker.io", "index.docker.io")
_DOCKER_HUB_KEY = "https://index.docker.io/v1/"
_TOKEN_USER = "<token>"  # noqa: S105  (what a credential helper calls itself when it gives an identity token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a registry is told; anonymous where all three are empty.

    Attributes:
        user, password: For basic authentication, here or at the token server.
        identity_token: An OAuth 2 refresh token for the token server.
    """

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """The value of an ``Authorization`` header, ``""`` without a user."""
        pair = f"{self.user}:{self.password}".encode()
        return f"Basic {base64.b64encode(pair).decode('ascii')}" if self.user else ""


def login_for(host: str) -> Login:
    """Find the log-in for a registry in ``$DOCKER_CONFIG/config.json``, else ``~/.docker/config.json``.

    A credential helper that the file names is run, as Docker's own client does.

    Args:
        host: Host and port, as in the reference.

    Raises:
        InputError: The file cannot be read or used, or its helper fails.
    """
    path = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"
    if not path.exists():
        return Login()
    try:
        config = json.loads(path.read_bytes())
        helpers, store, auths = config.get("credHelpers", {}), config.get("credsStore", ""), config.get("auths", {})
        keys = (_DOCKER_HUB_KEY, host) if host in _DOCKER_HUB else (host, f"https://{host}", f"https://{host}/v1/")
        entry = next((auths[key] for key in keys if auths.get(key)), None)
        helper = helpers.get(host) or (store if any(key in auths for key in keys) else "")
        if helper:
            return _ask_helper(str(helper), keys[0])
        return Login() if entry is None else _read_entry(entry)
    except (OSError, ValueError, AttributeError, TypeError, binascii.Error) as error:
        raise InputError(f"cannot use {path}: {error}", hint=f"Mend it: docker login {host}") from error


def _read_entry(entry: dict[str, str]) -> Login:
    user, password = entry.get("username", ""), entry.get("password", "")
    if entry.get("auth"):
        user, _, password = base64.b64decode(entry["auth"], validate=True).decode("utf-8").partition(":")
    return Login(user=user, password=password.rstrip("\0"), identity_token=entry.get("identitytoken", ""))


def _ask_helper(helper: str, server: str) -> Login:
    """Ask ``docker-credential-HELPER`` (its name comes from the user's own file); one that knows nothing means anonymous."""
    if not helper.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise ValueError(f"not the name of a credential helper: {helper!a}")
    command = (f"docker-credential-{helper}", "get")
    try:
        done = subprocess.run(  # noqa: S603
            command, input=server, capture_output=True, text=True, timeout=_HELPER_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"{command[0]} does not answer") from error
    if done.returncode != 0:
        if "credentials not found" in done.stdout + done.stderr:
            return Login()
        raise ValueError(f"{command[0]} failed")
    answer = json.loads(done.stdout)
    user, secret = str(answer["Username"]), str(answer["Secret"])
    return Login(identity_token=secret) if user == _TOKEN_USER else Login(user=user, password=secret)
