"""Fetch an sdist as pip would, from the index that pip is set to, without asking the sdist's own code for anything.

Runs on its own under the interpreter whose pip is used: ``python pip_sdist.py FOLDER NAME SPECIFIER``. ``pip download`` itself
builds the metadata of an sdist, which runs its code; here pip only finds the file and fetches it.
"""

import hashlib
import sys
from pathlib import Path

_FOUND, _NONE, _OLD_PIP = 0, 3, 4


def fetch(folder: str, name: str, specifier: str) -> int:
    """Put the newest sdist of a requirement into a folder.

    Returns:
        0; 3 where the index has none; 4 where this pip has other parts than are used here.
    """
    try:
        from pip._internal.commands.download import DownloadCommand  # noqa: PLC0415  (this pip may not have it)
        from pip._vendor.packaging.specifiers import SpecifierSet  # noqa: PLC0415
    except ImportError:
        return _OLD_PIP

    class Fetch(DownloadCommand):
        """Finds with pip's settings, and fetches."""

        def run(self, options, _words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            session = self.get_default_session(options)
            finder = self._build_package_finder(options=options, session=session)
            best = finder.find_best_candidate(name, SpecifierSet(specifier)).best_candidate
            if best is None:
                return _NONE
            answer = session.get(best.link.url_without_fragment, headers={"Accept-Encoding": "identity"})
            answer.raise_for_status()
            listed = best.link.hash if best.link.hash_name == "sha256" else None
            if listed and hashlib.sha256(answer.content).hexdigest() != listed:
                raise ValueError(f"{best.link.filename} does not have the digest that the index lists")
            (Path(folder) / best.link.filename).write_bytes(answer.content)
            return _FOUND

    command = Fetch("download", "Fetch an sdist.")
    return int(
        command.main(
            ["--no-deps", "--no-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=1", name]
        )
    )


if __name__ == "__main__":
    sys.exit(fetch(*sys.argv[1:]))
