"""The suite that every installed deploy target passes: three layers of proof over fixed launches, and the mutants of each file."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from tests.contracts.conftest import record_mutants
from tests.targets.cluster import complaint, documents
from tests.targets.launches import (
    h200_shape,
    hostile,
    k3,
    k3_two_nodes,
    launch,
    launches,
    marked,
    plain,
    source_build,
)
from tests.targets.second_reader import SECOND, meant

from dayzero.core.errors import InputError
from dayzero.core.launch import (
    AddedVariable,
    AddedWords,
    HubModel,
    LaunchSpec,
    LocalModel,
    Nodes,
    Placeholder,
    Replaced,
    Unchecked,
    Word,
    apply_deltas,
)
from dayzero.core.pins import Commit
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.targets.container import ALL_ADDRESSES, declared
from dayzero.targets.interface import NotCarriedError, Target
from dayzero.targets.precondition import SEVERAL_NODES
from dayzero.targets.proof import prove, prove_commands
from dayzero.wiring import plugins
from dayzero.wiring.deploy import ask_validators, launch_of

TARGETS = plugins.target_names()
DIGEST = "sha256:" + "a" * 64


@cache
def demo() -> LaunchSpec:
    return launch_of("demo-kimi-k3-tiny")


LAUNCHES: dict[str, Callable[[], LaunchSpec]] = {
    "plain": plain,
    "hostile": hostile,
    "marked": marked,
    "demo": demo,
    "h200_shape": h200_shape,
    "k3": k3,
    "k3_two_nodes": k3_two_nodes,
    "source_build": source_build,
}
# These install the engine from wheels on the host itself.
ON_THE_HOST = {"shell", "systemd"}
# These run the engine as user 10001 in a container.
AS_A_USER = {"docker-run", "compose", "quadlet", "dockerfile", "kubernetes", "leader-worker-set", "helm", "kserve"}
# Nothing expands a $ in the files of these.
EXPANDS_NOTHING = {"dockerfile", "helm"}


def not_carried(name: str) -> set[str]:
    """Name the targets that have no place for a launch, and say so."""
    match name:
        case "k3_two_nodes":
            return set(TARGETS) - set(SEVERAL_NODES)
        case "source_build":
            return ON_THE_HOST | {"skypilot"}
        case _:
            return set()


CARRIED = [(target, name) for target in TARGETS for name in LAUNCHES if target not in not_carried(name)]
REFUSED = [(target, name) for name in LAUNCHES for target in sorted(not_carried(name))]
each_carried = pytest.mark.parametrize(("kind", "name"), CARRIED, ids=[f"{kind}-{name}" for kind, name in CARRIED])
# The other launches hold no word of another kind than these.
MUTATED = [(kind, name) for kind, name in CARRIED if name in {"plain", "hostile", "h200_shape", "k3", "k3_two_nodes"}]
each_mutated = pytest.mark.parametrize(("kind", "name"), MUTATED, ids=[f"{kind}-{name}" for kind, name in MUTATED])


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    return plugins.target(request.param)


def test_all_built_in_targets_are_installed() -> None:
    assert {"shell", "docker-run", "compose", "quadlet", "systemd", "dockerfile"} <= set(TARGETS)
    assert {"kubernetes", "leader-worker-set", "helm", "kserve"} <= set(TARGETS)
    assert {"slurm-pyxis", "slurm-apptainer", "skypilot"} <= set(TARGETS)


def test_a_target_is_called_what_its_entry_point_is_called() -> None:
    assert tuple(plugins.target(name).name for name in TARGETS) == TARGETS


# Three layers of proof, each for every kind of file and every launch that it carries.


def _parsed_back(target: Target, spec: LaunchSpec, folder: Path) -> None:
    del folder
    assert isinstance(prove(spec, target), Proven)
    assert target.parse(target.render(spec)) == apply_deltas(spec, target.deltas(spec))


def _read_by_others(target: Target, spec: LaunchSpec, folder: Path) -> None:
    site = replace(spec, site=replace(spec.site, cache=str(folder)))
    _, read = SECOND[target.name]
    readings = read(target, site, folder)
    assert readings
    for nodes in readings:
        assert nodes == meant(target, site)


def _accepted(target: Target, spec: LaunchSpec, folder: Path) -> None:
    for file, text in (*target.companions(spec), (target.file_name(spec), target.render(spec))):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(text.encode())
    asked = [verdict for _, verdict in ask_validators(target, folder / target.file_name(spec))]
    assert not [verdict.reason for verdict in asked if isinstance(verdict, Refuted)]
    missing = [verdict.reason for verdict in asked if isinstance(verdict, Undecided)]
    if missing:
        pytest.skip("; ".join(missing))
    if not asked:
        _accepted_by_schema(target, spec)


def _accepted_by_schema(target: Target, spec: LaunchSpec) -> None:
    """Hold a file without a validator of its own to the strict schemas of its kind."""
    if target.name == "skypilot":
        return  # SkyPilot's own parser has an environment of its own: the tests marked skypilot
    found = documents(target.render(spec))
    assert [complaint(document) for document in found] == [""] * len(found)


LAYERS = {"1 parsed back": _parsed_back, "2 read by others": _read_by_others, "3 accepted by validators": _accepted}
# The two others differ from these in nothing that another reader or validator could see, but for the image of a source build.
LAUNCHES_OF = {"1": set(LAUNCHES), "2": set(LAUNCHES) - {"marked", "source_build"}, "3": set(LAUNCHES) - {"marked"}}
PROOFS = [(layer, kind, name) for layer in LAYERS for kind, name in CARRIED if name in LAUNCHES_OF[layer[0]]]


def _proof_name(layer: str, kind: str, name: str) -> str:
    number, how = layer[0], layer[2:]
    by = SECOND[kind][0] if number == "2" else how
    return f"layer {number}: {by}: {kind}: {name}"


@pytest.mark.parametrize(("layer", "kind", "name"), PROOFS, ids=[_proof_name(*proof) for proof in PROOFS])
def test_the_file_carries_the_launch(layer: str, kind: str, name: str, tmp_path: Path) -> None:
    LAYERS[layer](plugins.target(kind), LAUNCHES[name](), tmp_path)


def test_every_kind_of_file_has_a_second_reader() -> None:
    assert set(SECOND) == set(TARGETS)


@pytest.mark.parametrize("kind", TARGETS)
@settings(deadline=None, max_examples=12)
@given(spec=launches())
def test_what_is_parsed_back_is_the_launch_after_the_declared_differences(kind: str, spec: LaunchSpec) -> None:
    target = plugins.target(kind)
    parsed = target.parse(target.render(spec))
    assert parsed == apply_deltas(spec, target.deltas(spec))
    assert isinstance(prove(spec, target), Proven)


@pytest.mark.parametrize(("kind", "name"), REFUSED)
def test_a_kind_of_file_that_has_no_place_for_a_launch_says_which_has(kind: str, name: str) -> None:
    with pytest.raises(NotCarriedError) as caught:
        plugins.target(kind).render(LAUNCHES[name]())
    assert caught.value.hint
    if name == "k3_two_nodes":
        assert all(several in caught.value.hint for several in SEVERAL_NODES)


@each_carried
def test_two_renders_are_the_same_bytes(kind: str, name: str) -> None:
    target, spec = plugins.target(kind), LAUNCHES[name]()
    assert target.render(spec).encode() == target.render(replace(spec)).encode()
    assert target.companions(spec) == target.companions(replace(spec))


# The check of the weights is compared like a word.


def test_a_file_without_the_check_of_the_weights_is_not_proven(target: Target) -> None:
    revision = Commit("0" * 40)
    hub = HubModel(repository="a/b", revision=revision, tokenizer_revision=revision, code_revision=revision)
    without = replace(plain(), model=hub, env=())
    # The launch sets itself what a file for weights of the hub would add, so that the commands are equal to the letter.
    added = (delta for delta in target.deltas(without) if isinstance(delta, AddedVariable))
    env = tuple((delta.name, delta.value) for delta in added if delta.name in {"HF_HOME", "HF_HUB_CACHE"})
    spec = replace(plain(), env=env)
    text = target.render(without)
    assert target.parse(text).leader == apply_deltas(spec, target.deltas(spec)).leader
    verdict = prove_commands(spec, target, text)
    if any(isinstance(delta, Unchecked) for delta in target.deltas(spec)):
        assert isinstance(verdict, Proven)
    else:
        assert verdict.reason.startswith("the check of the weights differs: ")
    assert isinstance(prove(spec, target), Proven)


# What a file says of itself.


def test_a_file_name_is_one_plain_name_in_at_most_one_folder(target: Target) -> None:
    for name in (target.file_name(plain()), *(name for name, _ in target.companions(plain()))):
        assert re.fullmatch(r"([A-Za-z0-9_-]+/){0,2}[A-Za-z0-9_.-]+", name)


@each_carried
def test_every_declared_difference_has_a_reason_and_stands_in_the_file(kind: str, name: str) -> None:
    target, spec = plugins.target(kind), LAUNCHES[name]()
    text = target.render(spec)
    for delta in target.deltas(spec):
        assert delta.why
        assert declared(delta) in text


@each_carried
def test_nothing_is_left_for_the_user_to_fill_in(kind: str, name: str) -> None:
    target, spec = plugins.target(kind), LAUNCHES[name]()
    for _, text in ((target.file_name(spec), target.render(spec)), *target.companions(spec)):
        assert not re.search(r"TODO|FIXME|CHANGE_?ME|YOUR[_-]|<your|/path/to|(?<!dayzero-engine):latest\b", text)


def test_each_input_is_a_field_of_the_site_that_reaches_the_file(target: Target) -> None:
    other = {"cache": "/mnt/other-cache", "namespace": "otherspace", "storage_class": "otherclass"}
    other |= {"partition": "otherpart", "nodes": "othernode[1-2]", "user": "otheruser"}
    specs = [spec() for name, spec in LAUNCHES.items() if target.name not in not_carried(name)]
    for name in other:
        changed = False
        for spec in specs:
            moved = replace(spec, site=replace(spec.site, **{name: other[name]}))
            changed |= target.render(moved) != target.render(spec) or target.companions(moved) != target.companions(
                spec
            )
        assert changed == (name in target.inputs), name


def test_a_launch_that_already_listens_everywhere_needs_no_difference_for_it(target: Target) -> None:
    spec = plain()
    everywhere = replace(spec, argv=tuple(ALL_ADDRESSES if word == "127.0.0.1" else word for word in spec.argv))
    assert "--host" not in [delta.flag for delta in target.deltas(everywhere) if isinstance(delta, Replaced)]
    assert isinstance(prove(everywhere, target), Proven)


def test_a_pinned_image_is_named_by_its_digest_and_not_built(target: Target) -> None:
    spec = launch(image=f"registry.test/engine@{DIGEST}")
    assert "Dockerfile" not in dict(target.companions(spec))
    if target.name not in ON_THE_HOST:
        assert DIGEST in target.render(spec)


def test_a_user_that_a_pinned_image_does_not_know_has_a_home_and_a_name(target: Target) -> None:
    if target.name not in AS_A_USER:
        return
    added = {"HOME": "/tmp", "USER": "dayzero"}  # noqa: S108
    env = target.parse(target.render(launch(image=f"registry.test/engine@{DIGEST}"))).leader.env
    assert dict(env) == added
    own = (("HOME", "/mine"), ("LOGNAME", "me"))
    assert target.parse(target.render(launch(image=f"registry.test/engine@{DIGEST}", env=own))).leader.env == own
    built = target.parse(target.render(launch())).leader.env
    assert dict(built) == ({"HOME": "/tmp"} if target.name == "kserve" else {})  # noqa: S108


# What is refused.


def _environment(name: str, value: str) -> Callable[[LaunchSpec], LaunchSpec]:
    return lambda spec: replace(spec, env=((name, value),))


def _more(word: str) -> Callable[[LaunchSpec], LaunchSpec]:
    return lambda spec: replace(spec, argv=(*spec.argv, word))


def _weights(path: str) -> Callable[[LaunchSpec], LaunchSpec]:
    return lambda spec: replace(spec, model=LocalModel(files=(replace(spec.model.files[0], path=path),)))


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
    "a ready path with a space": lambda spec: replace(spec, ready_path="/v1 models"),
    "a distribution without version": lambda spec: replace(spec, distribution="engine"),
    "a distribution with a line end": lambda spec: replace(spec, distribution="engine==1\nENV A=B"),
    "port 0": lambda spec: replace(spec, port=0),
    "port 65536": lambda spec: replace(spec, port=65536),
    "no digest": lambda spec: replace(spec, wheels=()),
    "no memory": lambda spec: replace(spec, memory_bytes=0),
    "a weights file with a line end": _weights("a\nb"),
    "a weights file with a backslash": _weights("a\\b"),
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
    match prove_commands(spec, target, target.render(other)):
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
        verdict = prove_commands(spec, target, target.render(shorter))
        assert isinstance(verdict, Refuted)
        assert verdict.reason.startswith(expected)


# Mutants.


Mutants = Iterator[tuple[str, LaunchSpec]]


def _flags(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], ...]:
    """Cut a command into the program, each flag with its values, and each word that no flag leads."""
    cut: list[tuple[Word, ...]] = []
    for word in words:
        leads = isinstance(word, str) and word.startswith("-")
        if cut and len(cut) > 1 and not leads and isinstance(cut[-1][0], str) and cut[-1][0].startswith("--"):
            cut[-1] = (*cut[-1], word)
        else:
            cut.append((word,))
    return tuple(cut)


def _altered(unit: tuple[Word, ...]) -> tuple[Word, ...]:
    last = unit[-1]
    return (*unit[:-1], "x" if isinstance(last, Placeholder) else last + "x")


def _changed(words: tuple[Word, ...]) -> Iterator[tuple[str, tuple[Word, ...]]]:
    units = _flags(words)
    for index, unit in enumerate(units):
        before, after = units[:index], units[index + 1 :]
        for how, middle in (
            ("drop", ()),
            ("alter", (_altered(unit),)),
            ("duplicate", (unit, unit)),
            ("reorder", (after[0], unit) if after else ()),
        ):
            rest = after[1:] if how == "reorder" else after
            changed = tuple(word for part in (*before, *middle, *rest) for word in part)
            if changed != words and not (how == "reorder" and not after):
                yield how, changed


def _of_env(spec: LaunchSpec) -> Mutants:
    for index, (name, value) in enumerate(spec.env):
        before, after = spec.env[:index], spec.env[index + 1 :]
        yield "drop", replace(spec, env=before + after)
        yield "alter", replace(spec, env=(*before, (name, value + "x"), *after))
        yield "alter", replace(spec, env=(*before, (name + "X", value), *after))
        yield "duplicate", replace(spec, env=(*before, (name, value), (name + "X", value), *after))
        if after:
            yield "reorder", replace(spec, env=(*before, after[0], (name, value), *after[1:]))


def _of_nodes(spec: LaunchSpec) -> Mutants:
    nodes = spec.nodes
    if nodes.count == 1:
        return
    for how, words in _changed(nodes.leader):
        yield how, replace(spec, nodes=replace(nodes, leader=words))
    for how, words in _changed(nodes.worker):
        yield how, replace(spec, nodes=replace(nodes, worker=words))
    yield "reorder", replace(spec, nodes=Nodes(count=nodes.count, leader=nodes.worker, worker=nodes.leader))


def _mutants(spec: LaunchSpec) -> Mutants:
    yield from ((how, replace(spec, argv=tuple(map(str, words)))) for how, words in _changed(spec.argv))
    yield from _of_env(spec)
    yield from _of_nodes(spec)


def _verdict(spec: LaunchSpec, target: Target, mutant: LaunchSpec, text: str) -> Verdict:
    try:
        mutated = target.render(mutant)
    except InputError as error:
        return Refuted(error.message)
    return Undecided("the file is the same") if mutated == text else prove_commands(spec, target, mutated)


@each_mutated
def test_every_mutant_of_the_launch_is_caught_in_the_file(kind: str, name: str, request: pytest.FixtureRequest) -> None:
    target, spec = plugins.target(kind), LAUNCHES[name]()
    text = target.render(spec)
    tally: dict[str, int] = {}
    survivors, same = [], 0
    mutants = list(_mutants(spec))
    # The many words of the hostile launch differ in their letters, not in their places: a fifth of their changes says as much.
    chosen = mutants[:: 5 if name == "hostile" else 1]
    for how, mutant in chosen:
        verdict = _verdict(spec, target, mutant, text)
        same += isinstance(verdict, Undecided)
        survivors += [(how, mutant.argv, mutant.env)] if isinstance(verdict, Proven) else []
        tally[how] = tally.get(how, 0) + isinstance(verdict, Refuted)
    # The value that a declared difference replaces is not in the file: launches that differ there alone are one file.
    assert same <= sum(isinstance(delta, Replaced) for delta in target.deltas(spec))
    assert survivors == []
    record_mutants(request, file=f"{kind}: {target.file_name(spec)}", launch=name, caught=tally, of=len(chosen) - same)


def _token(text: str, at: int) -> tuple[int, int]:
    start = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
    ends = [end for end in (text.find(" ", at), text.find("\n", at)) if end >= 0]
    return start, min(ends)


def _edits(text: str, at: int, mark: str, following: str) -> Iterator[tuple[str, str]]:
    """Edit one place of the file where a mark stands."""
    start, end = _token(text, at)
    token = text[start:end]
    for how, new in (
        ("alter the token", mark + "x"),
        ("double the mark inside the token", f"{mark} {mark}"),
        ("let it be expanded", "$HOME"),
        ("let it be a specifier", "%h"),
        ("close the quote early", f'{mark}" "'),
        ("end in a backslash", mark + "\\"),
    ):
        yield how, text[:at] + new + text[at + len(mark) :]
    yield "drop the token", text[:start] + text[end:]
    yield "drop the token and the space before it", text[: start - 1] + text[end:]
    yield "comment the token out", text[:start] + "# " + text[start:]
    yield "duplicate the token", text[:end] + " " + token + text[end:]
    yield "swap it with the next", text.replace(mark, "\0").replace(following, mark).replace("\0", following)
    lines = text.split("\n")
    row = text[:at].count("\n")
    yield "drop the line", "\n".join(lines[:row] + lines[row + 1 :])
    yield "duplicate the line", "\n".join([*lines[: row + 1], *lines[row:]])
    yield "comment the line out", "\n".join([*lines[:row], "# " + lines[row], *lines[row + 1 :]])


def _edited(text: str) -> Iterator[tuple[str, str]]:
    words = [f"wordmark{index}z" for index in range(6)]
    names = [f"NAMEMARK{index}Z" for index in range(4)]
    values = [f"valuemark{index}z" for index in range(4)]
    for marks in (words, names, values):
        for mark, following in zip(marks, [*marks[1:], marks[0]], strict=True):
            for found in re.finditer(mark, text):
                yield from ((f"{how}: {mark}", new) for how, new in _edits(text, found.start(), mark, following))


def _means_the_same(file: str, first: str, second: str) -> bool:
    """Say whether a reader of YAML takes two texts for one: a backslash before a space is a space there."""
    if not file.endswith(".yaml"):
        return first == second
    try:
        return list(yaml.safe_load_all(first)) == list(yaml.safe_load_all(second))
    except yaml.YAMLError:
        return False


def test_every_edit_of_a_word_or_value_in_the_file_is_caught(target: Target, request: pytest.FixtureRequest) -> None:
    spec = marked()
    file, text = target.file_name(spec), target.render(spec)
    marks = {mark for mark in (*spec.argv, *(word for pair in spec.env for word in pair)) if "mark" in mark.lower()}
    assert all(mark in text for mark in marks)
    edits = [(how, edited) for how, edited in _edited(text) if edited != text]
    proven = [(how, edited) for how, edited in edits if isinstance(prove_commands(spec, target, edited), Proven)]
    same = [how for how, edited in proven if _means_the_same(file, text, edited)]
    assert [how for how, _ in proven if how not in same] == []
    caught = len(edits) - len(same)
    record_mutants(
        request, file=f"{target.name}: {file}", launch="marked, edited as text", caught={"edit": caught}, of=caught
    )


@each_carried
def test_the_value_of_a_declared_difference_is_held_too(kind: str, name: str) -> None:
    target, spec = plugins.target(kind), LAUNCHES[name]()
    text = target.render(spec)
    for delta in target.deltas(spec):
        if isinstance(delta, Unchecked):
            continue
        value = next(iter(delta.worker)) if isinstance(delta, AddedWords) else delta.value
        body = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#!"))
        lines = [
            line if line.lstrip().startswith("#") else line.replace(str(value), f"{value}1")
            for line in body.split("\n")
        ]
        edited = text.replace(body, "\n".join(lines))
        assert edited != text
        assert isinstance(prove_commands(spec, target, edited), Refuted)


@pytest.mark.parametrize("word", ["a$HOME", "${A}", "$(id)", "%h"])
@pytest.mark.parametrize("as_value", [False, True], ids=["argument", "value"])
def test_a_file_whose_escapes_were_taken_away_is_not_proven(target: Target, word: str, *, as_value: bool) -> None:
    spec = launch(env=(("A", word),)) if as_value else launch(word)
    text = target.render(spec)
    bare = text.replace("$$", "$").replace("%%", "%").replace(f"'{word}'", word)
    # Not every format gives every letter a meaning, but nearly each of them gives one to a $ in an argument.
    assert bare != text or as_value or word == "%h" or target.name in EXPANDS_NOTHING
    assert isinstance(prove_commands(spec, target, bare), Proven) == (bare == text)
