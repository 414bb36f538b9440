"""Downloads from a hub, as the environment says where it is and who asks."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from dayzero.adapters.weights import Fetch
from dayzero.core.pins import FilePin, HubRevision
from dayzero_verify.resume import ResumeFile


def hub_download(endpoint: str, say: Callable[[str], None]) -> Fetch:
    """Give what fetches pinned files from a hub.

    Args:
        endpoint: Its base URL; ``""`` for ``$HF_ENDPOINT``, else the public one.
        say: Takes a line about the progress.
    """

    def fetch(origin: HubRevision, pins: Sequence[FilePin], folder: Path, resume: ResumeFile | None) -> None:
        from dayzero.adapters import hub_files  # noqa: PLC0415  (an HTTP client, which other commands need not wait for)

        address = endpoint or os.environ.get("HF_ENDPOINT") or hub_files.PUBLIC_ENDPOINT
        hub = hub_files.Hub(endpoint=address, token=os.environ.get("HF_TOKEN", "").strip(), say=say)
        hub_files.fetch(hub, origin, pins, folder, resume)

    return fetch
