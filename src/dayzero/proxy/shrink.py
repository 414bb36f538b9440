"""Take layers off a model's configuration: the first ones stay, and everything that counts or names layers follows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.core.errors import InputError

COUNT: Final = "num_hidden_layers"
_TEXT_PARTS: Final = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")
_PREDICTORS: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
_MODULE: Final = re.compile(r"(?:^|\.)(?:layers|blocks|blk|h)\.(\d+)(?:\.|$)")
_LIST_OF_LAYERS: Final = re.compile(r"layer|attn|moe")
_PATTERN: Final = re.compile(r"pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A configuration with fewer layers.

    Attributes:
        config: It, as ``config.json`` holds it.
        layers: Layers that it has.
        of_layers: Layers that the whole model has.
        changed: What was changed, one line each: JSON pointer, before and after.
    """

    config: Mapping[str, object]
    layers: int
    of_layers: int
    changed: tuple[str, ...]


def text_part(config: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Find the part of a configuration that counts the language model's layers; gives its key, ``""`` for the whole, and it.

    Raises:
        InputError: Nothing in it counts layers.
    """
    for name in ("", *_TEXT_PARTS):
        part = config.get(name) if name else config
        if isinstance(part, dict) and isinstance(part.get(COUNT), int) and not isinstance(part.get(COUNT), bool):
            return name, part
    raise InputError(
        f"the configuration has no {COUNT}, at its top or in {', '.join(_TEXT_PARTS)}",
        hint="Give the config.json of a language model as its makers released it.",
    )


def shrink(config: Mapping[str, object], layers: int) -> Shrunk:
    """Keep the first layers of a model and every width, and say what was changed.

    Lists with one entry a layer are cut; lists of layers' numbers lose those that are gone, whether they count from 0 or from 1;
    module names of lost layers go from the quantisation's exceptions. Layers that predict further tokens are weights of their own
    and are left out, as is the repository's own code (``auto_map``), of which a configuration alone has no copy.

    Args:
        config: The whole model's ``config.json``.
        layers: Layers to keep.

    Raises:
        InputError: It counts no layers, or has fewer than are to be kept, or none are to be kept.
    """
    name, part = text_part(config)
    whole = int(str(part[COUNT]))
    if not 1 <= layers <= whole:
        raise InputError(f"{layers} of {whole} layers cannot be kept", hint=f"Keep 1 to {whole} with --layers.")
    cut = _Cut(layers=layers, whole=whole)
    made = cut.table(part, f"/{name}" if name else "")
    if name:
        top = cut.top(config, name)
        made = {**top, name: made}
    return Shrunk(config=made, layers=layers, of_layers=whole, changed=tuple(cut.changed))


class _Cut:
    """One pass over a configuration."""

    def __init__(self, *, layers: int, whole: int) -> None:
        self.changed: list[str] = []
        self._layers, self._whole = layers, whole

    def top(self, config: Mapping[str, object], text: str) -> dict[str, object]:
        """Copy what stands beside the language model's part; of it only names of modules and code can speak of layers."""
        kept = {key: value for key, value in config.items() if key not in {"auto_map", text}}
        self._say_dropped(config, "")
        quantisation = config.get("quantization_config")
        if isinstance(quantisation, dict):
            kept["quantization_config"] = self.table(quantisation, "/quantization_config")
        return {key: kept.get(key) for key in config if key in kept or key == text}

    def table(self, table: Mapping[str, object], at: str) -> dict[str, object]:
        """Cut one table and those in it."""
        self._say_dropped(table, at)
        first = self._first_number(table)
        return {key: self._value(key, value, f"{at}/{key}", first) for key, value in table.items() if key != "auto_map"}

    def _say_dropped(self, table: Mapping[str, object], at: str) -> None:
        if "auto_map" in table:
            self.changed.append(f"{at}/auto_map: left out")

    def _first_number(self, table: Mapping[str, object]) -> int:
        """Say whether the lists of layers in a table count from 0 or from 1: only the second can name the number of layers."""
        numbers = [number for key, value in table.items() for number in self._numbers(key, value)]
        return 1 if numbers and max(numbers) == self._whole and min(numbers) >= 1 else 0

    def _numbers(self, key: str, value: object) -> list[int]:
        if not _LIST_OF_LAYERS.search(key) or not isinstance(value, list) or len(value) == self._whole:
            return []
        numbers = [one for one in value if isinstance(one, int) and not isinstance(one, bool)]
        return numbers if len(numbers) == len(value) and len(set(numbers)) == len(numbers) else []

    def _value(self, key: str, value: object, at: str, first: int) -> object:
        if key == COUNT:
            return self._to(at, value, self._layers)
        if key in _PREDICTORS and isinstance(value, int):
            return self._to(at, value, 0)
        if isinstance(value, dict):
            return self.table(value, at)
        if isinstance(value, str) and len(value) == self._whole and _PATTERN.search(key):
            return self._to(at, value, value[: self._layers])
        if isinstance(value, list):
            return self._list(key, value, at, first)
        return value

    def _list(self, key: str, value: list[object], at: str, first: int) -> object:
        if len(value) == self._whole and self._whole > 1 and not all(isinstance(one, dict) for one in value):
            return self._to(at, value, value[: self._layers])
        numbers = self._numbers(key, value)
        if numbers:
            return self._to(at, value, [number for number in numbers if number - first < self._layers])
        if value and all(isinstance(one, str) for one in value):
            return self._to(at, value, [one for one in value if not self._lost(str(one))])
        return value

    def _lost(self, module: str) -> bool:
        found = _MODULE.search(module)
        return found is not None and int(found[1]) >= self._layers

    def _to(self, at: str, before: object, after: object) -> object:
        if before != after:
            self.changed.append(f"{at}: {_short(before)} to {_short(after)}")
        return after


def _short(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} entries"
    return f"{len(value)} letters" if isinstance(value, str) else str(value)
