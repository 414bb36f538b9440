from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.sample import AT, FITS, GIB, STATUSES, claim, edition_of, large, tiny, tiny_records

from dayzero.catalog.edition import SystemFit
from dayzero.catalog.facets import FACETS, Facets, Filter, count, matches, words
from dayzero.catalog.finding import facets_of
from dayzero.catalog.paths import value_folder
from dayzero.catalog.release import Yank
from dayzero.core.quantities import Bytes


def fit(gpu: str, state: str) -> SystemFit:
    return SystemFit(
        system=f"8x{gpu}", label=gpu, gpu=gpu, count=8, nodes=1, state=state, ground="computed", sentence="So."
    )


LARGE = facets_of(
    edition_of(large(), at=AT, fits=(fit("b300", "fits"), fit("b200", "does-not-fit"), fit("h200", "unknown"))),
    latest=True,
)
TINY = facets_of(edition_of(tiny(), *tiny_records(), statuses=STATUSES, fit=FITS), latest=True)
YANK = Yank(package=tiny().name, version="0.9.0", at=AT, reason="Too small.")
OLD = facets_of(edition_of(replace(tiny(), version="0.9.0"), at=AT, yank=YANK), latest=False)
ALL = (LARGE, TINY, OLD)


@pytest.mark.parametrize(
    ("facets", "expected"),
    [
        (
            TINY,
            {
                "model": ("tiny-kimi-k3-seed7",),
                "architecture": ("kimi-k3",),
                "gpu": ("cpu",),
                "gpus": ("0",),
                "engine": ("llamacpp",),
                "precision": ("f32", "mxfp4"),
                "status": ("measured",),
                "licence": ("Apache-2.0",),
                "tier": ("open",),
            },
        ),
        (LARGE, {"gpu": ("b300",), "gpus": ("8",), "status": ("none",), "tier": ("licensed",)}),
    ],
)
def test_each_facet_is_read_off_the_card(facets: Facets, expected: dict[str, tuple[str, ...]]):
    assert {facet: facets.values(facet) for facet in expected} == expected
    assert facets.fits == (("b300",) if facets is LARGE else ())


def test_memory_is_that_of_all_gpus_together_or_of_the_host():
    assert (LARGE.memory_each, LARGE.memory) == (Bytes(268 * GIB), Bytes(8 * 268 * GIB))
    assert TINY.memory == TINY.memory_each == Bytes(GIB // 2)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), (LARGE, TINY)),
        (Filter(gpu=("b300",)), (LARGE,)),
        (Filter(gpu=("b300", "cpu")), (LARGE, TINY)),
        (Filter(gpu=("b300",), tier=("open",)), ()),
        (Filter(precision=("mxfp4",), tier=("open",)), (TINY,)),
        (Filter(status=("measured",)), (TINY,)),
        (Filter(fits=("b300",)), (LARGE,)),
        (Filter(fits=("b200",)), ()),
        (Filter(fits=("h200", "b300")), (LARGE,)),
        (Filter(min_memory=Bytes(2144 * GIB)), (LARGE,)),
        (Filter(min_memory=Bytes(2145 * GIB)), ()),
        (Filter(max_memory=Bytes(GIB)), (TINY,)),
        (Filter(max_memory=Bytes(0)), ()),
        (Filter(q="kimi"), (LARGE, TINY)),
        (Filter(q="KIMI-K3 b300"), (LARGE,)),
        (Filter(q="expandable_seg"), (LARGE,)),
        (Filter(q="imi"), ()),
        (Filter(q="Kími"), (LARGE, TINY)),
        (Filter(q='" OR 1=1 --'), ()),
        (Filter(q='"*()'), (LARGE, TINY)),
        (Filter(every_version=True), (LARGE, TINY, OLD)),
        (Filter(every_version=True, yanked=False), (LARGE, TINY)),
    ],
)
def test_a_filter_leaves_what_has_every_wanted_thing(wanted: Filter, found: tuple[Facets, ...]):
    assert tuple(facets for facets in ALL if matches(facets, wanted)) == found


def test_a_measured_value_is_nothing_to_search_for():
    assert "532" not in TINY.text
    assert words("532.4 tok/s") == ("532", "4", "tok", "s")


def test_counts_leave_out_what_their_own_facet_asks():
    counts = count(ALL, Filter(gpu=("b300",)))
    assert counts["gpu"] == {"b300": 1, "cpu": 1}
    assert counts["tier"] == {"licensed": 1}
    assert counts["precision"] == dict.fromkeys(LARGE.precision, 1)


wanted_facets = st.fixed_dictionaries(
    {},
    optional={
        facet: st.sampled_from([v for f in ALL for v in f.values(facet)]).map(lambda v: (v,)) for facet in FACETS
    },
)


@given(wanted_facets, st.sampled_from(["", "kimi", "b300"]), st.booleans())
def test_counts_are_those_of_the_versions_that_the_other_facets_leave(chosen, q: str, every: bool):  # noqa: FBT001
    wanted = Filter(**chosen, q=q, every_version=every)
    for facet, values in count(ALL, wanted).items():
        others = replace(wanted, **{facet: ()})
        for value, number in values.items():
            assert number == sum(matches(facets, others) and value in facets.values(facet) for facets in ALL)
            assert number > 0


def test_every_facet_can_be_wanted_and_nothing_else_can():
    assert set(FACETS) <= {field.name for field in fields(Filter)}
    for make in (TINY.values, Filter().wanted):
        with pytest.raises(KeyError):
            make("text")


def test_a_number_that_is_taken_back_changes_no_facet():
    more = (*tiny_records(), claim(tiny(), "c1-output-tok-s", "1.0"))
    assert facets_of(edition_of(tiny(), *more, statuses=STATUSES, fit=FITS), latest=True) == TINY


@given(st.lists(st.text(min_size=1), unique=True, max_size=5))
def test_a_value_has_a_folder_of_its_own_that_is_a_plain_name(values: list[str]):
    folders = [value_folder(value) for value in values]
    assert len(set(folders)) == len(values)
    assert all(folder not in {"", ".", ".."} and "/" not in folder and folder.isascii() for folder in folders)


@pytest.mark.parametrize(("value", "folder"), [("Apache-2.0", "Apache-2.0"), ("a/b", "a_2f_b"), ("..", "_..")])
def test_a_folder_is_called_as_its_value_where_that_can_be(value: str, folder: str):
    assert value_folder(value) == folder
