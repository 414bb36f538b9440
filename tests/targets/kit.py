"""What lies beside a deploy file in an unpacked kit."""

import hashlib
from pathlib import Path

from dayzero.core.launch import LaunchSpec


def lay_out(folder: Path, spec: LaunchSpec) -> None:
    """Put weights there whose digests are the listed ones, and a lock."""
    sums = []
    for number, file in enumerate(spec.model.files):
        path = folder / "model" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"weights %d" % number)
        sums.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  model/{file.path}\n")
    (folder / "model.sha256").write_text("".join(sums))
    (folder / "requirements.lock").write_text("engine==1.0 --hash=sha256:00\n")
