"""Pages that were made of one state of the catalog, kept while it is the state."""

import threading
from collections import OrderedDict
from typing import Final

from dayzero.web.answers import Document
from dayzero.web.errors import NoAnswerError
from dayzero.web.places import document_at
from dayzero.wiring.catalog_live import LiveCatalog, Snapshot

_MOST: Final = 64 * 2**20
_CHECKED: Final = ("evidence/", "/kit/")
"""What is read from the disk each time, so that a file that is gone or was changed shows at once."""


class Pages:
    """Gives what stands at a path of the site; what was made of the same state before is not made again.

    Args:
        live: The catalog.
    """

    def __init__(self, live: LiveCatalog) -> None:
        self.live = live
        self._lock = threading.Lock()
        self._of: Snapshot | None = None
        self._made: OrderedDict[str, Document] = OrderedDict()
        self._size = 0

    def at(self, path: str) -> Document:
        """Give what stands there.

        Raises:
            NoAnswerError: Nothing does.
            UnavailableError: The catalog cannot be read.
        """
        now = self.live.now()
        with self._lock:
            if self._of is not now:
                self._of, self._made, self._size = now, OrderedDict(), 0
            if path in self._made:
                self._made.move_to_end(path)
                return self._made[path]
        made = document_at(now, path)
        if not any(part in path for part in _CHECKED):
            self._keep(now, path, made)
        return made

    def has(self, path: str) -> bool:
        """Say whether something stands there."""
        try:
            self.at(path)
        except NoAnswerError:
            return False
        return True

    def _keep(self, now: Snapshot, path: str, made: Document) -> None:
        with self._lock:
            if self._of is not now or path in self._made:
                return
            self._made[path] = made
            self._size += len(made.content)
            while self._size > _MOST:
                self._size -= len(self._made.popitem(last=False)[1].content)
