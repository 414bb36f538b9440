"""Prove that a deploy file carries its launch word for word: the one comparison that every command calls."""

from collections.abc import Iterator
from itertools import zip_longest

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, LaunchSpec, Placeholder, Word, apply_deltas
from dayzero.core.verdict import Place, Proven, Refuted, Verdict
from dayzero.targets.interface import Target

_SHOWN = 80  # letters of a line that differs


def prove(spec: LaunchSpec, target: Target) -> Verdict:
    """Render the launch, parse the text back and compare.

    Raises:
        InputError: The target cannot carry this launch.
    """
    return prove_text(spec, target, target.render(spec))


def prove_text(spec: LaunchSpec, target: Target, text: str) -> Verdict:
    """Prove that a deploy file starts the launch (:func:`prove_commands`) and is otherwise, line for line, what is rendered.

    A command alone does not say what it runs on: the image, the user, the mounts, the limits, the address that is published. A line
    that differs there is refuted like a word.

    Raises:
        InputError: The target cannot carry this launch.
    """
    verdict = prove_commands(spec, target, text)
    if not isinstance(verdict, Proven):
        return verdict
    file = target.file_name(spec)
    lines = zip_longest(target.render(spec).split("\n"), text.split("\n"))
    for number, (wanted, got) in enumerate(lines, start=1):
        if wanted != got:
            left, right = _where_they_part(wanted, got)
            place = Place(artifact="", file=file, position=f"line {number}", quote=right)
            return Refuted(f"line {number} differs: rendered it is {left}, {file} has {right}", (place,))
    return verdict


def _where_they_part(wanted: str | None, got: str | None) -> tuple[str, str]:
    """Quote two lines from a few letters before the first that differs: a line may hold the whole launch."""
    if wanted is None or got is None:
        left, right = ("nothing" if line is None else repr(line[:_SHOWN]) for line in (wanted, got))
        return left, right
    apart = next(
        (index for index, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(len(wanted), len(got))
    )
    start = max(apart - _SHOWN // 2, 0)
    left, right = (repr(line[start : start + _SHOWN]) for line in (wanted, got))
    return left, right


def prove_commands(spec: LaunchSpec, target: Target, text: str) -> Verdict:
    """Parse a deploy file and compare it with the launch after the declared differences, the first node and the others.

    A text that the target's parser refuses is refuted, with the parser's reason.

    Raises:
        InputError: A declared difference does not apply to this launch.
    """
    file = target.file_name(spec)
    expected = apply_deltas(spec, target.deltas(spec))
    try:
        found = target.parse(text)
    except InputError as error:
        return Refuted(f"{file} cannot be read back: {error.message}", (Place(artifact="", file=file),))
    for position, wanted, got in _differences(expected, found):
        place = Place(artifact="", file=file, position=position, quote=got)
        return Refuted(f"{position} differs: the launch has {wanted}, {file} has {got}", (place,))
    words, entries = len(expected.leader.argv), len(expected.leader.env)
    others = f", and {len(expected.worker.argv)} words on every other node" if expected.worker else ""
    return Proven(f"{file} carries {words} argv words and {entries} environment entries{others}, equal to the launch")


def _differences(expected: Commands, found: Commands) -> Iterator[tuple[str, str, str]]:
    """Give each difference as (position, what is wanted, what was found); only several nodes have roles to name."""
    if expected.checked != found.checked:
        states = {True: "the weights checked before the start", False: "nothing checked before the start"}
        yield "the check of the weights", states[expected.checked], states[found.checked]
    several = expected.worker is not None or found.worker is not None
    yield from _of_one(expected.leader, found.leader, role="leader, " if several else "")
    match expected.worker, found.worker:
        case (None, None):
            return
        case (Command() as wanted, Command() as got):
            yield from _of_one(wanted, got, role="worker, ")
        case (wanted, _):
            names = ("nothing", "a command") if wanted is None else ("a command", "nothing")
            yield ("worker", *names)


def _of_one(expected: Command, found: Command, *, role: str) -> Iterator[tuple[str, str, str]]:
    yield from _of_words(f"{role}argv word", expected.argv, found.argv)
    wanted, got = ([f"{name}={value}" for name, value in command.env] for command in (expected, found))
    yield from _of_words(f"{role}env entry", tuple(wanted), tuple(got))


def _of_words(kind: str, wanted: tuple[Word, ...], got: tuple[Word, ...]) -> Iterator[tuple[str, str, str]]:
    for index in range(max(len(wanted), len(got))):
        left, right = (_told(words[index]) if index < len(words) else "nothing" for words in (wanted, got))
        if left != right:
            yield f"{kind} {index}", left, right


def _told(word: Word) -> str:
    return f"the {word.value}" if isinstance(word, Placeholder) else repr(word)
