"""Read a ``config.json`` strictly: whole numbers that are there and can be, or an error that names the field."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from dayzero.core.errors import InputError

_LARGEST = 1 << 31  # no dimension, vocabulary or number of layers or experts comes near it
_MOST_LAYERS = 1 << 12


@cache
def _defaults() -> Mapping[str, Mapping[str, object]]:
    """Load what nested parts leave out, by model type."""
    return tomllib.loads(files("dayzero.fit.architectures").joinpath("defaults.toml").read_text(encoding="utf-8"))


def class_defaults(model_type: str) -> Mapping[str, object]:
    """Give what a nested part of that model type means where it says nothing; empty where that is not known."""
    return _defaults().get(model_type, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """One part of a configuration.

    Attributes:
        values: What it says.
        family: Who reads it, for messages.
        where: Path of the part (``text_config.``), ``""`` at the top.
        defaults: What the part means where it says nothing.
    """

    values: Mapping[str, object]
    family: str
    where: str
    defaults: Mapping[str, object]

    def part(self, name: str, model_type: str = "") -> "Fields":
        """Go into a nested part; its defaults are those of its own model type, else of the one given."""
        inner = self._value(name)
        if not isinstance(inner, Mapping):
            raise self.error(name, "is missing" if inner is None else "is not an object")
        kind = inner.get("model_type")
        known = _defaults().get(kind if isinstance(kind, str) and kind in _defaults() else model_type, {})
        return replace(self, values=inner, where=f"{self.where}{name}.", defaults=known)

    def has(self, *names: str) -> bool:
        """Say whether one of the names has a value."""
        return any(self._value(name) is not None for name in names)

    def whole(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """Read a whole number under the first of the names that has one.

        Raises:
            InputError: None is there and there is no default; it is no whole number, too small or absurdly large.
        """
        for name in names:
            value = self._value(name)
            if value is not None:
                return self._whole(name, value, least)
        if default is None:
            raise self.error(" or ".join(names), "is missing")
        return default

    def layers(self, *names: str) -> int:
        """Read the number of layers."""
        count = self.whole(*(names or ("num_hidden_layers", "n_layer", "num_layers")))
        if count > _MOST_LAYERS:
            raise self.error(names[0] if names else "num_hidden_layers", f"is absurd: {count}")
        return count

    def number(self, name: str) -> float:
        """Read a number that need not be whole."""
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LARGEST:
            raise self.error(name, "is missing" if value is None else f"is not a number above 0: {value!r:.60}")
        return float(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Read a truth value."""
        value = self._value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(name, f"is neither true nor false: {value!r:.60}")
        return value

    def word(self, name: str, default: str) -> str:
        """Read one word."""
        value = self._value(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(name, f"is not a word: {value!r:.60}")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        """Read a list of words; none at all where the field is not there."""
        found = self._list(name)
        words = tuple(entry for entry in found if isinstance(entry, str))
        if len(words) != len(found):
            raise self.error(name, "holds something that is not a word")
        return words

    def numbers(self, name: str) -> tuple[int, ...]:
        """Read a list of whole numbers, none of them negative; none at all where the field is not there."""
        return tuple(self._whole(name, value, 0) for value in self._list(name))

    def error(self, name: str, what: str) -> InputError:
        """Name a field, the family that reads it, and what is wrong with it."""
        return InputError(
            f"config.json of {self.family}: {self.where}{name} {what}",
            hint="Use the config.json that the model came with.",
        )

    def _list(self, name: str) -> list[object]:
        value = self._value(name)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise self.error(name, "is not a list")
        return list(value)

    def _value(self, name: str) -> object:
        value = self.values.get(name)
        return self.defaults.get(name) if value is None and name not in self.values else value

    def _whole(self, name: str, value: object, least: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"is not a whole number: {value!r:.60}")
        if not least <= value <= _LARGEST:
            raise self.error(name, f"is {'absurd' if value > least else f'below {least}'}: {value!r:.60}")
        return value
