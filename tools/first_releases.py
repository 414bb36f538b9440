"""Write which release of an engine registered each architecture first, from its released wheels.

    tools/first_releases.py vllm 0.20.2 0.22.1 ... > src/dayzero/engines/vllm/first_releases.toml

What the oldest of these releases has is left out: it may be older. A release that was not read may have it, too; name them all.
"""

import sys

from packaging.requirements import Requirement
from packaging.version import Version

from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.audit.model import FactTable
from dayzero.wiring.audit import index, registry


def main(engine: str, *versions: str) -> int:
    """Read each release, oldest first, and print the table."""
    reader, store = registry(engine), index(offline=False)
    if reader is None:
        print(f"no reader of {engine}'s architectures is installed", file=sys.stderr)
        return 2
    first: dict[str, str] = {}
    ordered = sorted(versions, key=Version)
    for version in ordered:
        kept = store.fetch(Requirement(f"{engine}=={version}"))
        table = reader.read_architectures(PackedFiles(f"{engine} {version}", kept.pack))
        if not isinstance(table, FactTable):
            print(f"{engine} {version}: {table.reason}", file=sys.stderr)
            return 1
        for name in table.names():
            first.setdefault(name, version)
    print(f"# Written by tools/first_releases.py from the registries in the wheels of {engine}")
    print(f"# {', '.join(ordered)}.")
    print("[architecture]")
    for name, version in sorted(first.items()):
        if version != ordered[0]:
            print(f'{name} = "{version}"')
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
