"""The flags of ``vllm serve`` that decide about memory, read from words of a command line."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.parallelism import Parallelism

_ALIASES = {
    "-q": "quantization",
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dp": "data-parallel-size",
    "-O": "optimization-level",
    "-cc": "compilation-config",
    "-sc": "speculative-config",
    "-dcp": "decode-context-parallel-size",
    "-pcp": "prefill-context-parallel-size",
    "-n": "nnodes",
    "kv-cache-memory": "kv-cache-memory-bytes",
}
_SWITCHES = {
    "enforce-eager",
    "enable-expert-parallel",
    "language-model-only",
    "enable-prefix-caching",
    "disable-hybrid-kv-cache-manager",
    "enable-eplb",
    "skip-mm-profiling",
    "trust-remote-code",
    "async-scheduling",
    "disable-custom-all-reduce",
    "enable-chunked-prefill",
    "enable-dbo",
    "enable-lora",
}
# Flags that take a value and are read here; argparse takes any beginning of a name that no other has.
_VALUED = {
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "data-parallel-size",
    "gpu-memory-utilization",
    "max-model-len",
    "max-num-batched-tokens",
    "max-num-seqs",
    "block-size",
    "kv-cache-dtype",
    "kv-cache-memory-bytes",
    "num-gpu-blocks-override",
    "quantization",
    "dtype",
    "cpu-offload-gb",
    "limit-mm-per-prompt",
    "compilation-config",
    "optimization-level",
    "speculative-config",
    "speculative-model",
    "attention-backend",
    "moe-backend",
    "mm-encoder-tp-mode",
    "eplb-config",
    "hf-overrides",
    "load-format",
    "decode-context-parallel-size",
    "prefill-context-parallel-size",
    "kv-transfer-config",
    "mamba-cache-dtype",
    "mamba-ssm-cache-dtype",
}
_SHORTEST = 4
_DEGREES = {"tensor-parallel-size": "tp", "pipeline-parallel-size": "pp", "data-parallel-size": "dp"}
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags by their long names without dashes in front; the last of two equal ones holds."""

    values: Mapping[str, str]

    def on(self, name: str) -> bool:
        """Say whether a switch is on."""
        return self.values.get(name, "false").lower() in {"true", "1"}

    def text(self, name: str, default: str) -> str:
        """Give a word."""
        return self.values.get(name, default)

    def whole(self, name: str) -> int | None:
        """Give a whole number, with vLLM's suffixes: ``32k`` is 32,000 and ``32K`` is 32,768; ``None`` where it is not set.

        Raises:
            InputError: It is not one.
        """
        word = self.values.get(name)
        if word is None:
            return None
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)", word.strip().replace("_", ""), re.ASCII)
        amount = float(found[1]) * ({**_DECIMAL, **_BINARY}[found[2]] if found[2] else 1) if found else 0.0
        if not found or amount < 1 or amount != int(amount):
            raise InputError(f"--{name} is {word!r}", hint="Give a whole number above 0, as 40960 or 40K.")
        return int(amount)

    def fraction(self, name: str, default: float) -> float:
        """Give a number above 0 and up to 1.

        Raises:
            InputError: It is not one.
        """
        word = self.values.get(name)
        if word is None:
            return default
        try:
            value = float(word)
        except ValueError:
            value = 0.0
        if not 0 < value <= 1:
            raise InputError(f"--{name} is {word!r}", hint="Give a number above 0 and up to 1, as 0.9.")
        return value

    def table(self, name: str) -> Mapping[str, object]:
        """Give a JSON object, with the keys that were set as ``--name.key value``; empty where it is not set.

        Raises:
            InputError: The value is no JSON object.
        """
        try:
            found = json.loads(self.values.get(name, "{}"))
        except ValueError:
            found = None
        if isinstance(found, int) and name == "compilation-config":
            found = {"level": found}
        if not isinstance(found, dict):
            raise InputError(f"--{name} is not a JSON object", hint="""Write it as '{"key": value}'.""")
        dotted = {
            key.removeprefix(f"{name}."): value for key, value in self.values.items() if key.startswith(f"{name}.")
        }
        return {**found, **dotted}


def read_flags(words: tuple[str, ...]) -> Flags:
    """Read the words; what has nothing to do with memory is kept as it stands and never looked at.

    Raises:
        InputError: A word is no flag and belongs to none, or a flag that needs a value has none.
    """
    values: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, given = _name(rest.pop(0))
        if given is None and name in _SWITCHES:
            given = "true"
        elif given is None and name.startswith("no-") and name[3:] in _SWITCHES:
            name, given = name[3:], "false"
        elif given is None and rest and not re.match(r"--?[A-Za-z]", rest[0]):
            given = rest.pop(0)
            while rest and not rest[0].startswith("-"):
                given += " " + rest.pop(0)
        values[name] = "true" if given is None else given
    return Flags(values)


def check_degrees(flags: Flags, parallelism: Parallelism) -> None:
    """Refuse flags that spread the model otherwise than the plan does.

    Raises:
        InputError: They do.
    """
    for name, key in _DEGREES.items():
        stated = flags.whole(name)
        if stated is not None and stated != getattr(parallelism, key):
            raise InputError(
                f"--{name} {stated} in the engine's flags, {key} {getattr(parallelism, key)} in the plan",
                hint="Say it once.",
            )


def _full(name: str) -> str:
    """Give the whole name of a flag that may be shortened.

    Raises:
        InputError: Several begin so.
    """
    known = _SWITCHES | _VALUED
    if name in _ALIASES or name in known or len(name) < _SHORTEST:
        return _ALIASES.get(name, name)
    meant = sorted(other for other in known if other.startswith(name))
    if len(meant) > 1:
        raise InputError(f"--{name} may be --{' or --'.join(meant)}", hint="Write the flag out.")
    return meant[0] if meant else name


def _name(word: str) -> tuple[str, str | None]:
    name, equals, value = word.partition("=")
    given = value if equals else None
    if name.startswith("--") and len(name) > len("--"):
        head, dot, key = name[2:].partition(".")
        return _full(head.replace("_", "-")) + dot + key, given
    head, dot, key = name.partition(".")
    if head in _ALIASES:
        long = "compilation-config" if head == "-O" and dot else _ALIASES[head]
        return long + dot + key, given
    level = re.fullmatch(r"-O(\d)", name, re.ASCII)
    if level:
        return "optimization-level", level[1]
    if re.match(r"-[A-Za-z]", name):
        return name, given
    raise InputError(
        f"{word!r} is no flag and no value of one", hint="Give the engine's flags as `vllm serve` takes them."
    )
