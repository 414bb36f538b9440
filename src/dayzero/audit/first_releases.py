"""Which release of an engine registered an architecture first, from a table that a tool wrote from the released wheels."""

import tomllib
from importlib.resources import files

from packaging.version import InvalidVersion, Version


def first_release(package: str, architecture: str, *, after: str) -> str:
    """Name the first release that registers an architecture, ``""`` where the table does not say so.

    Args:
        package: The package beside whose modules ``first_releases.toml`` lies.
        architecture: The architecture.
        after: The release that does not have it: what an older one had is of no use.
    """
    table = tomllib.loads(files(package).joinpath("first_releases.toml").read_text(encoding="utf-8"))
    found = str(table["architecture"].get(architecture, ""))
    try:
        return found if found and Version(found) > Version(after) else ""
    except InvalidVersion:
        return found
