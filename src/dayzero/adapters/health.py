"""Readiness over HTTP."""

import httpx

_TIMEOUT_S = 2.0
_READY = 200


class HttpHealth:
    """Asks one URL; 200 is ready, anything else and no answer at all are not. Implements ``serve.ports.Health``."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ready(self) -> bool:
        """Ask once."""
        try:
            with httpx.Client(trust_env=False, timeout=_TIMEOUT_S) as client:
                return client.get(self._url).status_code == _READY
        except httpx.HTTPError:
            return False
