"""Read which settings of an engine can change what is computed: data beside each engine, with its sources."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from dayzero.gates.construction import EngineFacts, Setting

_FILE = "construction.toml"


def facts_of(engine: str) -> EngineFacts | None:
    """Give the facts of an engine, with those of every Python program; ``None`` where nothing is written down of it."""
    if not engine.isidentifier():
        return None
    own = files("dayzero.engines").joinpath(engine, _FILE)
    if not own.is_file():
        return None
    every = files("dayzero.engines").joinpath(_FILE)
    documents = [tomllib.loads(file.read_text(encoding="utf-8")) for file in (own, every)]
    return EngineFacts(
        flags=tuple(_setting(entry) for document in documents for entry in document.get("flag", ())),
        variables=tuple(_setting(entry) for document in documents for entry in document.get("variable", ())),
        abbreviates=documents[0]["abbreviates"],
        whole=tuple(documents[0].get("whole", ())),
    )


def _setting(entry: Mapping[str, Any]) -> Setting:
    return Setting(
        names=tuple(entry["names"]),
        keeps=tuple(entry.get("keeps", ())),
        keeps_types={value: tuple(types) for value, types in entry.get("keeps_types", {}).items()},
        what=entry["what"],
        source=entry["source"],
    )
