"""Write the verifier as one file that any Python 3.11 runs: the same bytes on every machine, at any time.

    python tools/build_verifier.py [-o dist/dayzero-verify.pyz]

Members are stored, sorted, dated 1980-01-01 and of one mode, so neither a compressor's version nor the checkout's clock, order or
permissions show. It is its own archive writer because ``zipapp`` keeps times and modes of the files, and their order on disk.
"""

import argparse
import hashlib
import io
import os
import sys
import zipfile
from pathlib import Path, PurePosixPath

PACKAGE = Path(__file__).parents[1] / "verifier" / "src" / "dayzero_verify"
SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = b'"""Run the verifier."""\n\nfrom dayzero_verify.cli import main\n\nmain()\n'
SUFFIXES = (".py", ".toml", ".json")
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_UNIX, _REGULAR_0644 = 3, 0o100644 << 16


def build(package: Path = PACKAGE) -> bytes:
    """Put the package's sources and data behind a shebang line.

    Args:
        package: The folder ``dayzero_verify``.
    """
    found = [path for path in package.rglob("*") if path.is_file() and path.suffix in SUFFIXES]
    members = {
        (PurePosixPath(package.name) / path.relative_to(package)).as_posix(): path.read_bytes() for path in found
    }
    members["__main__.py"] = MAIN
    archive = io.BytesIO()
    archive.write(SHEBANG)
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_STORED) as bundle:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _FIRST_DAY)
            entry.create_system, entry.external_attr = _UNIX, _REGULAR_0644
            bundle.writestr(entry, members[name])
    return archive.getvalue()


def main() -> int:
    """Write the file, and print its digest as ``sha256sum`` does."""
    parser = argparse.ArgumentParser(description="Write the verifier as one file.")
    parser.add_argument("-o", "--output", type=Path, default=Path("dist/dayzero-verify.pyz"), metavar="FILE")
    output: Path = parser.parse_args().output
    content = build()
    output.parent.mkdir(parents=True, exist_ok=True)
    whole = output.with_name(f".{output.name}.{os.getpid()}")
    whole.write_bytes(content)
    whole.chmod(0o755)
    whole.replace(output)
    print(f"{hashlib.sha256(content).hexdigest()}  {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
