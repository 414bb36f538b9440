"""Read ``--site NAME=VALUE``, which every command that writes deploy files takes."""

from dataclasses import fields

from dayzero.core.errors import InputError
from dayzero.core.launch import Site


def site_of(given: tuple[str, ...]) -> Site:
    """Read what is known of the site; what is not given keeps its default.

    Raises:
        InputError: A name is unknown or given twice, or a value cannot stand in every deploy file.
    """
    names = [field.name for field in fields(Site)]
    values: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in names or name in values:
            what = "is given twice" if name in values else "is not NAME=VALUE of a site"
            raise InputError(f"--site {text!r} {what}", hint=f"The names are: {', '.join(names)}.")
        values[name] = value
    return Site(**values)
