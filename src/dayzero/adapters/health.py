"""Readiness over HTTP."""

import http.client
from urllib.parse import urlsplit

_TIMEOUT_S = 2.0
_READY = 200


class HttpHealth:
    """Asks one URL; 200 is ready, anything else and no answer at all are not. Implements ``serve.ports.Health``."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)

    def ready(self) -> bool:
        """Ask once."""
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", self._url.path or "/")
            return connection.getresponse().status == _READY
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
