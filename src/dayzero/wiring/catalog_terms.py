"""The terms under which the packages of a tier may be used: ``terms/TIER.toml`` beside the packages."""

import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec

from dayzero.catalog.edition import Terms
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256

_FOLDER = "terms"


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    maintenance: str
    text: str


def terms_of(packages: Path, tier: str) -> Terms | None:
    """Read the terms of a tier, ``None`` where none are on record.

    Args:
        packages: Folder of the packages.
        tier: ``open`` or ``licensed``.

    Raises:
        InputError: The file is no such table.
    """
    file = packages / _FOLDER / f"{tier}.toml"
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}", hint="Make it a file that you may read."
        ) from error
    return _parsed(content, str(file))


@lru_cache(maxsize=16)
def _parsed(content: bytes, file: str) -> Terms:
    try:
        table = msgspec.convert(tomllib.loads(content.decode("utf-8")), _Table)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{file}: {error}", hint="Give name, maintenance and text, each a string.") from error
    return Terms(name=table.name, text=table.text, sha256=Sha256.of(table.text.encode()), maintenance=table.maintenance)
