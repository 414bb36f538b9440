"""Makes small wheels and sdists as the package index has them."""

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def make_wheel(  # noqa: PLR0913  (a wheel has as many parts)
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes] | None = None,
    *,
    requires: Sequence[str] = (),
    wrong: Sequence[str] = (),
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel with its METADATA and RECORD.

    Args:
        folder: Where it goes.
        name: The distribution.
        version: Its version.
        files: Path inside -> content.
        requires: Its Requires-Dist.
        wrong: Files for which RECORD lists another digest.
        tag: Its build number, if any, and its platform.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    content = {path: text.encode() if isinstance(text, str) else text for path, text in (files or {}).items()}
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    content[f"{info}/METADATA"] = "\n".join([*lines, "", ""]).encode()
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    record = []
    for path, body in content.items():
        listed = b"another" if path in wrong else body
        digest = base64.urlsafe_b64encode(hashlib.sha256(listed).digest()).decode().rstrip("=")
        record.append(f"{path},sha256={digest},{len(body)}")
    content[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    target = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in content.items():
            archive.writestr(path, body)
    return target


def make_sdist(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """Write an sdist with its PKG-INFO."""
    stem = f"{name.replace('-', '_')}-{version}"
    target = folder / f"{stem}.tar.gz"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with tarfile.open(target, "w:gz") as archive:
        for path, text in {"PKG-INFO": metadata, **files}.items():
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return target
