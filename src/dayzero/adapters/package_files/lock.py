"""Hash-locked requirements: what pip installs an environment from, and nothing that a digest does not name."""

import re

from packaging.utils import canonicalize_name

from dayzero.core.errors import InputError

_CONTINUED = re.compile(r"\\\n")
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?=\s|$)")


def require_hashes(text: str, build: str) -> None:
    """Refuse a lock that would let an environment differ from the one that was meant.

    Args:
        text: The requirements, as ``pip install --require-hashes -r`` takes them.
        build: ``name==version`` of the engine, which has to be among them.

    Raises:
        InputError: A requirement has no SHA-256, or no exact version, or the engine is not among them.
    """
    pinned: set[str] = set()
    for line in _CONTINUED.sub(" ", text).splitlines():
        requirement = line.split(" #")[0].strip()
        if not requirement or requirement.startswith(("#", "-")):
            continue
        found = _PINNED.match(requirement)
        if found is None or not _HASH.search(requirement):
            raise InputError(
                f"a requirement of the lock is not pinned by version and digest: {requirement.split(' ')[0]}",
                hint="Make the lock with hashes: uv pip compile --generate-hashes.",
            )
        pinned.add(f"{canonicalize_name(found[1])}=={found[2]}")
    name, _, version = build.partition("==")
    if f"{canonicalize_name(name)}=={version}" not in pinned:
        raise InputError(f"the lock does not pin {build}", hint="Make the lock for the engine's own version.")
