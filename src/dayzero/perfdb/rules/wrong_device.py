"""Rows that report no device, or another one than their system has."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule
from dayzero.perfdb.tables import systems


def _matched(family: Family) -> str:
    known = " OR ".join(
        f"(system = '{name}' AND device IN ({', '.join(_text(device) for device in facts.devices)}))"
        for name, facts in systems().items()
    )
    listed = ", ".join(f"'{name}'" for name in systems())
    return (
        f"SELECT *, NULL::DOUBLE AS told FROM {family.table} WHERE system IN ({listed}) "  # noqa: S608  (names from our own file)
        f"AND NOT coalesce({known}, false)"
    )


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


RULE = Rule(
    name="wrong-device@1",
    question="Do rows report a device that their system does not have, or none?",
    severity="error",
    threshold="the names in dayzero/perfdb/systems.toml",
    groups=("system", "device", "dir_version"),
    matched=_matched,
)
