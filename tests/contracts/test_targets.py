"""The suite that every installed deploy target passes."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from tests.targets.launches import hostile, launch, launches, marked, plain

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, apply_deltas
from dayzero.core.verdict import Proven, Refuted, Verdict
from dayzero.targets.container import ALL_ADDRESSES
from dayzero.targets.interface import Target
from dayzero.targets.proof import prove, prove_text
from dayzero.wiring import plugins

TARGETS = plugins.target_names()
DIGEST = "sha256:" + "a" * 64


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    return plugins.target(request.param)


def test_all_four_built_in_targets_are_installed() -> None:
    assert {"shell", "compose", "kubernetes", "systemd"} <= set(TARGETS)


def test_a_target_is_called_what_its_entry_point_is_called() -> None:
    assert tuple(plugins.target(name).name for name in TARGETS) == TARGETS


@pytest.mark.parametrize("name", TARGETS)
@settings(deadline=None)
@given(spec=launches())
def test_what_is_parsed_back_is_the_launch_after_the_declared_differences(name: str, spec: LaunchSpec) -> None:
    target = plugins.target(name)
    parsed = target.parse(target.render(spec))
    assert parsed == apply_deltas(spec, target.deltas(spec)).command
    assert isinstance(prove(spec, target), Proven)


@pytest.mark.parametrize("spec", [plain(), hostile(), marked(), launch(), launch(accelerators=8)])
def test_the_fixed_launches_are_proven(target: Target, spec: LaunchSpec) -> None:
    assert isinstance(prove(spec, target), Proven)


def test_the_same_launch_gives_the_same_bytes(target: Target) -> None:
    assert target.render(hostile()).encode() == target.render(hostile()).encode()
    assert target.companions(plain()) == target.companions(plain())


def test_the_file_name_is_one_plain_name(target: Target) -> None:
    name = target.file_name(plain())
    assert name
    assert "/" not in name


def test_every_declared_difference_has_a_reason_and_stands_in_the_file(target: Target) -> None:
    text = target.render(plain())
    for delta in target.deltas(plain()):
        assert delta.why
        assert f"# Declared difference: {delta.flag} {delta.value} ({delta.why})" in text


def test_a_launch_that_already_listens_everywhere_needs_no_difference_for_it(target: Target) -> None:
    spec = plain()
    everywhere = replace(spec, argv=tuple(ALL_ADDRESSES if word == "127.0.0.1" else word for word in spec.argv))
    assert "--host" not in [delta.flag for delta in target.deltas(everywhere)]
    assert isinstance(prove(everywhere, target), Proven)


def _environment(name: str, value: str) -> Callable[[LaunchSpec], LaunchSpec]:
    return lambda spec: replace(spec, env=((name, value),))


def _more(word: str) -> Callable[[LaunchSpec], LaunchSpec]:
    return lambda spec: replace(spec, argv=(*spec.argv, word))


UNCARRIABLE: dict[str, Callable[[LaunchSpec], LaunchSpec]] = {
    "a bell in a word": _more("a\a"),
    "a carriage return in a word": _more("a\r"),
    "half a surrogate pair in a word": _more("\ud800"),
    "a carriage return in a value": _environment("A", "a\r"),
    "a delete in a value": _environment("A", "a\x7f"),
    "half a surrogate pair in a value": _environment("A", "\udfff"),
    "a name with a dash": _environment("A-B", ""),
    "a name with a digit first": _environment("1A", ""),
    "a name with an equals sign": _environment("A=B", ""),
    "an empty name": _environment("", "a"),
    "no program": lambda spec: replace(spec, argv=()),
    "a program that is an option": lambda spec: replace(spec, argv=("-c", *spec.argv)),
    "a program with a space": lambda spec: replace(spec, argv=("my python", *spec.argv)),
    "an image by tag": lambda spec: replace(spec, image="engine:latest"),
    "a service name with a capital": lambda spec: replace(spec, name="Demo"),
    "a service name with a slash": lambda spec: replace(spec, name="a/b"),
    "a health path with a quote": lambda spec: replace(spec, health_path="/'"),
    "a distribution without version": lambda spec: replace(spec, distribution="engine"),
    "a distribution with a line end": lambda spec: replace(spec, distribution="engine==1\nENV A=B"),
    "port 0": lambda spec: replace(spec, port=0),
    "port 65536": lambda spec: replace(spec, port=65536),
    "no time to start": lambda spec: replace(spec, start_budget_s=0),
    "no time to stop": lambda spec: replace(spec, stop_budget_s=0),
    "no memory": lambda spec: replace(spec, memory_bytes=0),
    "a weights file with a line end": lambda spec: replace(
        spec, model_files=(replace(spec.model_files[0], path="a\nb"),)
    ),
    "a weights file with a backslash": lambda spec: replace(
        spec, model_files=(replace(spec.model_files[0], path="a\\b"),)
    ),
}


@pytest.mark.parametrize("case", UNCARRIABLE)
def test_what_a_file_cannot_carry_is_refused_with_a_reason(target: Target, case: str) -> None:
    with pytest.raises(InputError) as caught:
        target.render(UNCARRIABLE[case](plain()))
    assert caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "\n", "hello", "{", "- a", "a: [b", "[Service]\nExecStart=/bin/true", "\x00"])
def test_a_text_that_is_no_file_of_the_target_is_refused(target: Target, text: str) -> None:
    with pytest.raises(InputError):
        target.parse(text)


def test_the_first_differing_word_and_its_position_are_named(target: Target) -> None:
    spec = marked()
    other = replace(spec, argv=(*spec.argv[:9], "another", *spec.argv[10:]))
    match prove_text(spec, target, target.render(other)):
        case Refuted(reason=reason, places=(place,)):
            assert "argv word 9 differs: the launch has 'wordmark1z'" in reason
            assert "has 'another'" in reason
            assert str(place) == f"{target.file_name(spec)}:argv word 9"
        case verdict:
            pytest.fail(f"not refuted: {verdict}")


def test_a_missing_last_word_and_a_missing_last_variable_are_named(target: Target) -> None:
    spec = marked()
    for shorter, expected in (
        (replace(spec, argv=spec.argv[:-1]), "argv word 13 differs: the launch has 'wordmark5z', "),
        (replace(spec, env=spec.env[:-1]), "env entry 3 differs: the launch has 'NAMEMARK3Z=valuemark3z', "),
    ):
        verdict = prove_text(spec, target, target.render(shorter))
        assert isinstance(verdict, Refuted)
        assert verdict.reason.startswith(expected)
        assert verdict.reason.endswith(" has nothing")


def _changed(items: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for index, item in enumerate(items):
        before, after = items[:index], items[index + 1 :]
        yield f"drop {index}", before + after
        yield f"alter {index}", (*before, item + "x", *after)
        if item:
            yield f"empty {index}", (*before, "", *after)
        yield f"duplicate {index}", (*before, item, item, *after)
        if after and after[0] != item:
            yield f"swap {index}", (*before, after[0], item, *after[1:])


def _mutants(spec: LaunchSpec) -> Iterator[tuple[str, LaunchSpec]]:
    for how, argv in _changed(spec.argv):
        yield f"{how} of argv", replace(spec, argv=argv)
    for index, (name, value) in enumerate(spec.env):
        before, after = spec.env[:index], spec.env[index + 1 :]
        yield f"drop env {index}", replace(spec, env=before + after)
        yield f"alter the value of env {index}", replace(spec, env=(*before, (name, value + "x"), *after))
        yield f"alter the name of env {index}", replace(spec, env=(*before, (name + "X", value), *after))
        yield f"duplicate env {index}", replace(spec, env=(*before, (name, value), (name + "X", value), *after))
        if after:
            yield f"swap env {index}", replace(spec, env=(*before, after[0], (name, value), *after[1:]))


def _verdict(spec: LaunchSpec, target: Target, mutant: LaunchSpec) -> Verdict:
    try:
        text = target.render(mutant)
    except InputError as error:
        return Refuted(error.message)
    return prove_text(spec, target, text)


@pytest.mark.parametrize("spec", [plain(), hostile(), marked()], ids=["plain", "hostile", "marked"])
def test_every_change_of_the_launch_is_caught_in_the_rendered_file(target: Target, spec: LaunchSpec) -> None:
    governed = {spec.argv.index(delta.flag) + 1 for delta in target.deltas(spec) if delta.flag in spec.argv}
    unchanged = {f"{how} {index} of argv" for index in governed for how in ("alter", "empty")}
    survivors = {how for how, mutant in _mutants(spec) if isinstance(_verdict(spec, target, mutant), Proven)}
    # The value that a declared difference replaces is not in the file: two launches that differ there alone are one file.
    assert survivors == unchanged


def _tokens(text: str, mark: str) -> tuple[int, int]:
    at = text.index(mark)
    assert text.count(mark) == 1
    start = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
    ends = [end for end in (text.find(" ", at), text.find("\n", at)) if end >= 0]
    return start, min(ends)


def _edits(text: str, mark: str, following: str) -> Iterator[tuple[str, str]]:
    start, end = _tokens(text, mark)
    token = text[start:end]
    yield "drop the token", text[:start] + text[end:]
    yield "drop the token and the space before it", text[: start - 1] + text[end:]
    yield "alter the token", text.replace(mark, mark + "x")
    yield "comment the token out", text[:start] + "# " + text[start:]
    yield "duplicate the token", text[:end] + " " + token + text[end:]
    yield "double the mark inside the token", text.replace(mark, f"{mark} {mark}")
    yield "let it be expanded", text.replace(mark, "$HOME")
    yield "let it be a specifier", text.replace(mark, "%h")
    yield "close the quote early", text.replace(mark, f'{mark}" "')
    yield "end in a backslash", text.replace(mark, mark + "\\")
    yield "swap it with the next", text.replace(mark, "\0").replace(following, mark).replace("\0", following)
    lines = text.split("\n")
    row = next(index for index, line in enumerate(lines) if mark in line)
    yield "drop the line", "\n".join(lines[:row] + lines[row + 1 :])
    yield "duplicate the line", "\n".join([*lines[: row + 1], *lines[row:]])
    yield "comment the line out", "\n".join([*lines[:row], "# " + lines[row], *lines[row + 1 :]])


def test_every_edit_of_a_word_or_value_in_the_file_is_caught(target: Target) -> None:
    spec = marked()
    text = target.render(spec)
    words = [f"wordmark{index}z" for index in range(6)]
    names = [f"NAMEMARK{index}Z" for index in range(4)]
    values = [f"valuemark{index}z" for index in range(4)]
    survivors = [
        f"{how}: {mark}"
        for marks in (words, names, values)
        for mark, following in zip(marks, [*marks[1:], marks[0]], strict=True)
        for how, edited in _edits(text, mark, following)
        if isinstance(prove_text(spec, target, edited), Proven)
    ]
    assert survivors == []


def test_the_value_of_a_declared_difference_is_held_too(target: Target) -> None:
    spec = marked()
    text = target.render(spec)
    for delta in target.deltas(spec):
        body = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
        edited = body.replace(f'"{delta.value}"', f'"{delta.value}1"')
        assert edited != body
        assert isinstance(prove_text(spec, target, edited), Refuted)


@pytest.mark.parametrize("word", ["a$HOME", "${A}", "$(id)", "%h"])
@pytest.mark.parametrize("as_value", [False, True], ids=["argument", "value"])
def test_a_file_whose_escapes_were_taken_away_is_not_proven(target: Target, word: str, *, as_value: bool) -> None:
    spec = launch(env=(("A", word),)) if as_value else launch(word)
    text = target.render(spec)
    bare = text.replace("$$", "$").replace("%%", "%").replace(f"'{word}'", word)
    # Not every format gives every letter a meaning, but each of them gives one to a $ in an argument.
    assert bare != text or as_value or word == "%h"
    assert isinstance(prove_text(spec, target, bare), Proven) == (bare == text)


def test_an_image_that_is_pinned_needs_no_file_beside_the_deploy_file(target: Target) -> None:
    assert target.companions(launch(image=f"engine@{DIGEST}")) == ()
