"""Is each native extension of an environment the one that its release's RECORD lists?

An extension of another release may load, and be called with arguments that it does not take. What is read of an archive is held
against its RECORD, here or far away; an environment's files may have been changed since.
"""

import base64
import csv
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.extensions import Extension, loaded_by
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.installed import Distribution
from dayzero.audit.ports import BuildFiles, DigestedFiles, SearchedFiles
from dayzero.audit.python.unloaded import called_upon
from dayzero.audit.rules import Subject
from dayzero.core.errors import DayzeroError

_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
_DIGEST = "sha256="


class ForeignExtension:
    """Implements ``audit.rules.Rule``."""

    id: str = "foreign-extension"
    question: str = "Is each native extension the one that its release lists?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold the digest of each extension that Python may load against RECORD."""
        for distribution in subject.installed.distributions:
            if not _is_folder(distribution.files):
                continue
            listed = _listed(distribution)
            for module, paths in loaded_by(subject.installed.runs, distribution).items() if listed else ():
                for path in paths:
                    yield from self._held(subject, distribution, (module, path), listed.get(path, ""))

    def _held(
        self, subject: Subject, distribution: Distribution, of: tuple[str, str], digest: str
    ) -> Iterator[Finding | NotChecked]:
        module, path = of
        if not digest.startswith(_DIGEST):
            return
        try:
            own = hashlib.sha256(distribution.files.read(path)).digest()
        except DayzeroError as error:
            yield NotChecked(f"{self.question} ({path})", error.message, needed=False)
            return
        if base64.urlsafe_b64encode(own).rstrip(b"=").decode() != digest.removeprefix(_DIGEST):
            extension = Extension(distribution=distribution, path=path, module=module, builds=1, missing=())
            said = f"{path} is an extension not of this release: its digest is not the one that {distribution}'s RECORD lists"
            advice = f"Install {distribution} again, with the torch that it pins."
            yield called_upon(subject.installed, subject, extension, (self.id, said, advice))


def _is_folder(files: BuildFiles) -> bool:
    return isinstance(files, DigestedFiles) and not isinstance(files, SearchedFiles)


def _listed(distribution: Distribution) -> Mapping[str, str]:
    name = next((one for one in distribution.files.names() if _RECORD.fullmatch(one)), None)
    try:
        content = distribution.files.read(name) if name else b""
    except DayzeroError:
        return {}
    rows = csv.reader(content.decode("utf-8", "replace").splitlines())
    return {row[0]: row[1] for row in rows if len(row) > 1}


RULE: Final = ForeignExtension()
