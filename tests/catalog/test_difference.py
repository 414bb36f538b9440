from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.catalog.sample import ROWS, claim, made_card, raw_file, tiny

from dayzero.catalog.difference import Changed, ClaimChange, differ
from dayzero.core.hardware import System
from dayzero.core.package import ClaimRef, Package
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import Commit, SourceBuild
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.evidence.model import Record

RAW = raw_file("requests.jsonl", ROWS)


def recipe(change: Callable[[Recipe], Recipe]) -> Callable[[Package], Package]:
    return lambda package: replace(package, recipe=change(package.recipe))


def flags(*words: str) -> Callable[[Package], Package]:
    return recipe(lambda told: replace(told, flags=words))


def between(change: Callable[[Package], Package]) -> tuple[Changed, ...]:
    package = replace(tiny(), recipe=replace(tiny().recipe, flags=("--n-ctx", "8192", "--fast"), env=(("A", "1"),)))
    return differ(made_card(package), made_card(change(package))).changed


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (flags("--n-ctx", "4096", "--fast"), ("flags", "--n-ctx", "8192", "4096")),
        (flags("--n-ctx=4096", "--fast"), ("flags", "--n-ctx", "8192", "4096")),
        (flags("--n-ctx", "8192"), ("flags", "--fast", "set", "")),
        (flags("--n-ctx", "8192", "--fast", "--fast"), ("flags", "--fast (2)", "", "set")),
        (flags("--n-ctx", "-1", "--fast"), ("flags", "--n-ctx", "8192", "-1")),
        (recipe(lambda told: replace(told, env=())), ("environment", "A", "1", "")),
        (recipe(lambda told: replace(told, env=(("A", "1"), ("B", "")))), ("environment", "B", "", "empty")),
        (recipe(lambda told: replace(told, port=8000)), ("serving", "port", "18480", "8000")),
        (recipe(lambda told: replace(told, pre_stop_s=5)), ("serving", "seconds before the stop", "", "5")),
        (recipe(lambda told: replace(told, parallelism=Parallelism(tp=2))), ("parallelism", "tp", "1", "2")),
        (
            recipe(lambda told: replace(told, engine=replace(told.engine, version="2026.11.20007"))),
            ("engine", "build", "xllamacpp==2026.10.11549", "xllamacpp==2026.11.20007"),
        ),
        (
            recipe(
                lambda told: replace(
                    told, engine=replace(told.engine, source=SourceBuild(repository="o/r", commit=Commit("a" * 40)))
                )
            ),
            ("engine", "source", "", f"o/r@{'a' * 40}"),
        ),
        (
            recipe(
                lambda told: replace(
                    told, system=System(name="cpu-1core", accelerator="", accelerators=0, memory=Bytes(2**30))
                )
            ),
            ("system", "memory", "512.00 MiB", "1.00 GiB"),
        ),
        (lambda package: replace(package, tier="licensed"), ("terms", "tier", "open", "licensed")),
        (
            lambda package: replace(package, technique="pruned"),
            ("terms", "what was changed in the weights", "nothing", "pruned"),
        ),
        (
            lambda package: replace(package, workload=replace(package.workload, seed=7)),
            ("workload", "seed", "20260727", "7"),
        ),
    ],
)
def test_one_change_of_a_definition_is_one_row(change: Callable[[Package], Package], expected: tuple[str, ...]):
    row = dict(zip(("topic", "name", "before", "after"), expected, strict=True))
    assert between(change) == (Changed(**row),)


def test_definitions_that_differ_in_words_only_differ_in_nothing_that_is_pinned():
    package = tiny()
    difference = differ(made_card(package), made_card(replace(package, version="1.0.1", title="T", summary="S")))
    assert difference.changed == ()
    assert difference.same_recipe
    assert difference.same_grid
    assert difference.before == "1.0.0"


def repinned(package: Package) -> Package:
    return replace(
        package,
        version="1.1.0",
        recipe=replace(package.recipe, engine=replace(package.recipe.engine, version="2026.11.20007")),
    )


def change_of(later: Package, *records: Record) -> ClaimChange:
    card, other = made_card(tiny(), RAW, *records), made_card(later, RAW, *records)
    return differ(card, other).claims[0]


BEFORE = claim(tiny(), "c1-output-tok-s", "500.0")


@pytest.mark.parametrize(
    ("later", "records", "after", "why", "ratio"),
    [
        (repinned(tiny()), (BEFORE, claim(repinned(tiny()), "c1-output-tok-s", "611.7")), "611.7 tok/s", "", "1.22"),
        (repinned(tiny()), (BEFORE,), "", "only the earlier version shows a number", ""),
        (
            repinned(tiny()),
            (claim(repinned(tiny()), "c1-output-tok-s", "0.0"),),
            "0.0 tok/s",
            "only the later version shows a number",
            "",
        ),
        (repinned(tiny()), (), "", "neither version shows a number", ""),
    ],
)
def test_a_number_of_the_same_grid_is_set_against_the_earlier_one(
    later: Package, records: tuple[Record, ...], after: str, why: str, ratio: str
):
    change = change_of(later, *records)
    assert (change.after, change.why, change.ratio) == (after, why, ratio)


def test_nothing_is_divided_by_zero():
    zero = replace(BEFORE, value="0.0")
    later = repinned(tiny())
    change = change_of(later, zero, claim(later, "c1-output-tok-s", "611.7"))
    assert (change.before, change.why, change.ratio) == ("0.0 tok/s", "", "")


def first_ref(change: Callable[[ClaimRef], ClaimRef]) -> Package:
    package = repinned(tiny())
    return replace(package, claims=(change(package.claims[0]), *package.claims[1:]))


def longer(package: Package) -> Package:
    cells = tuple(replace(cell, input_tokens=256) for cell in package.workload.cells)
    return replace(package, workload=replace(package.workload, cells=cells))


def parameter(name: str, value: str) -> Callable[[ClaimRef], ClaimRef]:
    return lambda ref: replace(ref, parameters=tuple((n, value if n == name else v) for n, v in ref.parameters))


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (first_ref(lambda ref: replace(ref, unit="req/s")), "the unit is tok/s here and req/s there"),
        (first_ref(parameter("statistic", "p50")), "the statistic is total here and p50 there"),
        (first_ref(parameter("metric", "tpot_ms")), "the metric is output_tok_s here and tpot_ms there"),
        (first_ref(parameter("cell", "c4")), "the load is another one"),
        (
            first_ref(lambda ref: replace(ref, extractor="bench-rows@2")),
            "read out of their raw files in different ways",
        ),
        (longer(repinned(tiny())), "the load is another one"),
        (
            replace(repinned(tiny()), workload=replace(tiny().workload, seed=7)),
            "the load is another one",
        ),
    ],
)
def test_numbers_that_were_taken_in_another_way_are_not_set_against_each_other(later: Package, why: str):
    change = change_of(later, BEFORE, claim(later, "c1-output-tok-s", "611.7"))
    assert why in change.why
    assert change.ratio == ""
    assert (change.before, change.after) != ("", "")


def test_more_decimals_are_no_other_way():
    later = first_ref(parameter("decimals", "2"))
    assert change_of(later, BEFORE, claim(later, "c1-output-tok-s", "611.70")).ratio == "1.22"


def test_a_number_that_only_one_version_asks_for_is_named():
    package = tiny()
    fewer = replace(package, claims=package.claims[1:])
    gone = differ(made_card(package), made_card(fewer)).claims[-1]
    new = differ(made_card(fewer), made_card(package)).claims[0]
    assert (gone.id, gone.why) == ("c1-output-tok-s", "the later version does not ask for it")
    assert (new.id, new.why) == ("c1-output-tok-s", "the earlier version does not ask for it")


def test_another_grid_is_said():
    difference = differ(made_card(tiny()), made_card(longer(repinned(tiny()))))
    assert not difference.same_grid
    assert difference.grid.startswith("Other requests")
    assert not difference.same_recipe
