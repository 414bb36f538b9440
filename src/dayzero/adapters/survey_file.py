"""What surveys came to, each in a file of its own. Implements ``audit.ports.Surveys``. A damaged file is none."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from dayzero.adapters.disk import write_whole
from dayzero.audit.model import KeptSurvey
from dayzero.core.errors import RemoteError

_SCHEMA = "dayzero/survey/v2"


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    key: str
    reader: str
    survey: KeptSurvey


class SurveyFolder:
    """A folder of what surveys came to.

    Args:
        folder: The folder.
        reader: Digest of the code that surveys: what another one found is not believed.
        say: Told when a file is not believed.
    """

    def __init__(self, folder: Path, reader: str, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._reader = reader
        self._say = say

    def recall(self, key: str) -> KeptSurvey | None:
        """Give what is kept under a key; ``None`` where nothing is, or where it is not what was written for that key."""
        try:
            digest, _, content = self._file(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        try:
            body = msgspec.json.decode(content, type=_Body)
        except (msgspec.DecodeError, ValueError):
            body = None
        whole = hashlib.sha256(content).hexdigest().encode() == digest
        if body is None or not whole or (body.schema, body.key, body.reader) != (_SCHEMA, key, self._reader):
            self._say("what was kept of a survey is damaged or of other files; surveying again")
            return None
        return body.survey

    def keep(self, key: str, survey: KeptSurvey) -> None:
        """Keep what a survey came to; a folder that cannot be written to keeps nothing."""
        content = msgspec.json.encode(_Body(schema=_SCHEMA, key=key, reader=self._reader, survey=survey))
        try:
            write_whole(self._file(key), hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        except (RemoteError, OSError):
            self._say("what the survey came to could not be kept")

    def _file(self, key: str) -> Path:
        named = hashlib.sha256(f"{self._reader} {key}".encode()).hexdigest()
        return self._folder / f"{named}.survey"
