"""Prove that a deploy file carries its launch word for word: the one comparison that every command calls."""

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, apply_deltas
from dayzero.core.verdict import Place, Proven, Refuted, Verdict
from dayzero.targets.interface import Target


def prove(spec: LaunchSpec, target: Target) -> Verdict:
    """Render the launch, parse the text back and compare.

    Raises:
        InputError: The target cannot carry this launch.
    """
    return prove_text(spec, target, target.render(spec))


def prove_text(spec: LaunchSpec, target: Target, text: str) -> Verdict:
    """Parse a deploy file and compare it with the launch after the declared differences.

    A text that the target's parser refuses is refuted, with the parser's reason.

    Raises:
        InputError: A declared difference does not apply to this launch.
    """
    file = target.file_name(spec)
    expected = apply_deltas(spec, target.deltas(spec)).command
    try:
        found = target.parse(text)
    except InputError as error:
        return Refuted(f"{file} cannot be read back: {error.message}", (Place(artifact="", file=file),))
    env_expected = tuple(f"{name}={value}" for name, value in expected.env)
    env_found = tuple(f"{name}={value}" for name, value in found.env)
    for kind, wanted, got in (("argv word", expected.argv, found.argv), ("env entry", env_expected, env_found)):
        index = _first_difference(wanted, got)
        if index is not None:
            return _refuted(file, kind, index, wanted, got)
    return Proven(
        f"{file} carries {len(expected.argv)} argv words and {len(expected.env)} environment entries, equal to the launch"
    )


def _first_difference(wanted: tuple[str, ...], got: tuple[str, ...]) -> int | None:
    for index, (left, right) in enumerate(zip(wanted, got, strict=False)):
        if left != right:
            return index
    return None if len(wanted) == len(got) else min(len(wanted), len(got))


def _refuted(file: str, kind: str, index: int, wanted: tuple[str, ...], got: tuple[str, ...]) -> Refuted:
    left = repr(wanted[index]) if index < len(wanted) else "nothing"
    right = repr(got[index]) if index < len(got) else "nothing"
    position = f"{kind} {index}"
    place = Place(artifact="", file=file, position=position, quote=right)
    return Refuted(f"{position} differs: the launch has {left}, {file} has {right}", (place,))
