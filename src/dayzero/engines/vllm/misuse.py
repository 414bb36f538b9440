"""What is wrong with how a command line uses vLLM's flags: one that is set twice, a switch with a value."""

from collections.abc import Iterator, Mapping

from dayzero.audit.ports import BuildFiles
from dayzero.engines.command_line import Given, given, repeated, twice
from dayzero.engines.vllm.settings import Flag, read_flags
from dayzero.engines.vllm.source import UnreadableError

# vllm 0.27.1, entrypoints/openai/cli_args.py:344, and 0.33.0, entrypoints/common/cli_args.py:407: the one that appends.
_REPEATABLE = frozenset({"--middleware"})


def misused(words: tuple[str, ...], files: BuildFiles | None) -> tuple[str, ...]:
    """Name each misuse, by the build's own parser where its files are at hand and can be read, else by the text alone.

    A flag that the parser lacks is the audit's to refute, and is compared by its text here.

    Args:
        words: The whole command line.
        files: The build's files, ``None`` where they are not here.
    """
    try:
        known = read_flags(files) if files is not None else {}
    except UnreadableError:
        known = {}
    return misused_of(words, known) if known else repeated(words, allowed=_REPEATABLE)


def misused_of(words: tuple[str, ...], known: Mapping[str, Flag]) -> tuple[str, ...]:
    """Name each misuse by the flags of a parser that was read already."""
    return (*_set_twice(words, known), *_switches_with_a_value(words, known))


def _set_twice(words: tuple[str, ...], known: Mapping[str, Flag]) -> Iterator[str]:
    seen: dict[str, list[tuple[str, Given]]] = {}
    for one in given(words):
        option, key = _option(one), one.name.partition(".")[2]
        flag = known.get(option)
        if flag is not None and flag.repeatable:
            continue
        setting = seen.setdefault(option if flag is None else str(flag.place), [])
        # A whole value replaces the keys that are set one by one, whichever comes first.
        earlier = next((before for of, before in setting if of == key or not (of and key)), None)
        if earlier is not None:
            yield twice(earlier.flag, one.flag)
        setting.append((key, one))


def _switches_with_a_value(words: tuple[str, ...], known: Mapping[str, Flag]) -> Iterator[str]:
    for one in given(words):
        flag = known.get(_option(one))
        if flag is not None and flag.switch and one.values and "." not in one.flag:
            yield f"{one.flag} takes no value, and {one.values[0]!r} follows it ({flag.place})"


def _option(one: Given) -> str:
    # As vLLM's parser spells -O3 (see settings_in).
    return "--optimization-level" if one.name.startswith("-O") else one.name.partition(".")[0]
