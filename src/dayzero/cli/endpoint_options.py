"""The options that say how an endpoint is reached, held to what they can mean."""

import os
from pathlib import Path

from dayzero.adapters.openai_http import Connection
from dayzero.core.errors import InputError


def connection(url: str, *, timeout: float, api_key_env: str | None, ca_file: Path | None = None) -> Connection:
    """Say how an endpoint is reached.

    Args:
        url: Its address, ``""`` where each arm brings its own.
        timeout: Seconds after which a request has no answer.
        api_key_env: Environment variable that holds the API key.
        ca_file: Certificates to trust instead of the system's.

    Raises:
        InputError: The timeout is not above 0, or the variable is not set.
    """
    if timeout <= 0:
        raise InputError(f"--timeout must be above 0, not {timeout:g}", hint="Give seconds.")
    key = "" if api_key_env is None else os.environ.get(api_key_env, "")
    if api_key_env is not None and not key:
        raise InputError(
            f"the environment variable {api_key_env} is not set", hint="Export it, or leave the option out."
        )
    return Connection(url=url, timeout_s=timeout, api_key=key, ca_file=ca_file)
