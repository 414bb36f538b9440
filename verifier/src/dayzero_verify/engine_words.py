"""What each engine says about itself over HTTP, and which flags of a launch ask for the same; the facts are in engines.toml."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from dayzero_verify.strict_json import Json, StrictJsonError, loads

_SUFFIX = {"k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2, "g": 1000**3, "G": 1024**3}  # vllm 0.32.0, arg_utils.py
_SECRET = re.compile(r"key|token(?!i|s|_)|password|secret")
_HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineWords:
    """One engine's ways.

    Attributes:
        owner: What it calls itself in its list of models.
        version_paths: Where it says its version, the newest place first.
        version_member: The member that does.
        name_flags: Flags that name the model for its clients.
        context_flags: Flags that set the length of its context.
        slots_flags: Flags that set how many requests share that context.
        unified_flags: Flags that give each of them all of it.
        arguments: Whether it says all of its arguments where it says its version.
        fields: Flags whose name is not the argument's.
        rewritten: Arguments that a start changes, and why.
        synonyms: Values that become others.
    """

    owner: str
    version_paths: tuple[str, ...]
    version_member: str
    name_flags: tuple[str, ...]
    context_flags: tuple[str, ...]
    slots_flags: tuple[str, ...]
    unified_flags: tuple[str, ...]
    arguments: bool
    fields: Mapping[str, str]
    rewritten: Mapping[str, str]
    synonyms: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a launch with its values, as they stand."""

    name: str
    values: tuple[str, ...]

    @property
    def secret(self) -> bool:
        """Say whether its value is nobody's business."""
        return bool(_SECRET.search(self.name))

    def __str__(self) -> str:
        return " ".join((self.name, *((_HIDDEN,) if self.secret else self.values)))


def engine_words(distribution: str) -> EngineWords | None:
    """Find the engine that a distribution carries, ``None`` where it is not known."""
    table = tomllib.loads(resources.files("dayzero_verify").joinpath("engines.toml").read_text(encoding="utf-8"))
    for owner, facts in table.items():
        if distribution in facts["distributions"]:
            version = facts["version"]
            paths = (version["path"], *((version["older_path"],) if "older_path" in version else ()))
            return EngineWords(
                owner=owner,
                version_paths=paths,
                version_member=version["member"],
                name_flags=tuple(facts["name_flags"]),
                context_flags=tuple(facts["context_flags"]),
                slots_flags=tuple(facts.get("slots_flags", ())),
                unified_flags=tuple(facts.get("unified_flags", ())),
                arguments=facts.get("arguments", False),
                fields=facts.get("fields", {}),
                rewritten=facts.get("rewritten", {}),
                synonyms=facts.get("synonyms", {}),
            )
    return None


def flags_of(argv: Sequence[str]) -> tuple[Flag, ...]:
    """Take a command line apart: each word that begins with a dash, and the words up to the next one.

    Underscores in a flag's name are read as dashes, as the engines do; of a flag that stands there twice, the last one counts.
    """
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for word in argv:
        if re.match(r"--?[A-Za-z]", word):
            name, sign, value = word.partition("=")
            name = name.replace("_", "-")
            found.pop(name, None)
            current = found[name] = [value] if sign else []
        else:
            current.append(word)
    return tuple(Flag(name, tuple(values)) for name, values in found.items())


def number(text: str) -> int | None:
    """Read a count as vLLM takes it (``40k`` is 40,000, ``40K`` is 40,960); ``None`` where it names none."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG]?)", text)
    return int(float(match[1]) * _SUFFIX.get(match[2], 1)) if match else None


def agrees(values: Sequence[str], stated: Json, synonyms: Mapping[str, str]) -> bool | None:
    """Say whether a flag's values are what the engine says; ``None`` where the two cannot be compared."""
    match stated:
        case bool():
            return stated if not values else values[0].lower() == str(stated).lower()
        case list():
            pairs = zip(values, stated, strict=False)
            return len(values) == len(stated) and all(_same(value, entry, synonyms) for value, entry in pairs)
        case _ if len(values) != 1 or values[0] == "auto":
            return None
        case _:
            return _same(values[0], stated, synonyms)


def _same(text: str, stated: Json, synonyms: Mapping[str, str]) -> bool:
    match stated:
        case bool():
            return text.lower() == str(stated).lower()
        case int() | float():
            return _same_number(text, stated)
        case str():
            return synonyms.get(text, text) == stated or _same_json(text, stated)
        case None:
            return text.lower() in {"none", "null"}
        case _:
            return _same_json(text, stated)


def _same_number(text: str, stated: float) -> bool:
    try:
        return float(text) == stated
    except ValueError:
        return False


def _same_json(text: str, stated: Json) -> bool:
    try:
        document = loads(text.encode())
        return isinstance(document, dict) and document == (
            loads(stated.encode()) if isinstance(stated, str) else stated
        )
    except StrictJsonError:
        return False
