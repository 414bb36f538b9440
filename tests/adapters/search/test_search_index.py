"""One contract, on both databases."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.engine import Engine
from tests.adapters.search.samples import ALL, GIB, KIMI, KIMI_OLD, QWEN, SMOL, found_names

from dayzero.adapters.search.index import SqlSearchIndex
from dayzero.adapters.store.engine import open_engine
from dayzero.catalog.facets import FACETS, Facets, Filter, count, matches
from dayzero.core.errors import RemoteError
from dayzero.core.quantities import Bytes


def filled(engine: Engine, versions: tuple[Facets, ...] = ALL, stamp: str = "one") -> SqlSearchIndex:
    index = SqlSearchIndex(engine)
    index.replace(versions, stamp)
    return index


def names(index: SqlSearchIndex, wanted: Filter, *, limit: int = 50, offset: int = 0) -> list[str]:
    return found_names(index.search(wanted, limit=limit, offset=offset).hits)


def test_an_empty_index_finds_nothing_and_has_no_stamp(engine: Engine) -> None:
    index = SqlSearchIndex(engine)
    assert index.stamp() == ""
    found = index.search(Filter(), limit=10)
    assert (found.total, found.hits, set(found.counts)) == (0, (), set(FACETS))


def test_without_a_filter_the_listed_version_of_each_package_comes_by_name(standing: SqlSearchIndex) -> None:
    index = standing
    assert names(index, Filter()) == ["kimi-k3-vllm-b300@1.0.0", "qwen-vllm-h100@1.0.0", "smollm2-llamacpp@1.0.0"]
    assert index.stamp() == "one"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(gpu=("b300",)), [KIMI]),
        (Filter(gpu=("b300", "cpu")), [KIMI, SMOL]),
        (Filter(gpu=("b300",), tier=("open",)), []),
        (Filter(precision=("BF16",)), [KIMI, QWEN]),
        (Filter(status=("none",)), [SMOL]),
        (Filter(licence=("Apache-2.0",), engine=("vllm",)), [QWEN]),
        (Filter(fits=("b200",)), [QWEN, SMOL]),
        (Filter(min_memory=Bytes(80 * GIB)), [KIMI, QWEN]),
        (Filter(max_memory=Bytes(80 * GIB)), [QWEN, SMOL]),
        (Filter(min_memory=Bytes(3 * GIB), max_memory=Bytes(2**70)), [KIMI, QWEN]),
        (Filter(every_version=True, gpu=("b300",)), [KIMI, KIMI_OLD]),
        (Filter(every_version=True, gpu=("b300",), yanked=False), [KIMI]),
        (Filter(gpu=("b300'; DROP TABLE catalog_search_version; --",)), []),
        (Filter(gpu=("b3\0",)), []),
        (Filter(model=("\ud800",)), []),
    ],
)
def test_a_filter_leaves_what_the_pure_rule_leaves(
    standing: SqlSearchIndex, wanted: Filter, expected: list[Facets]
) -> None:
    found = standing.search(wanted, limit=50)
    assert list(found.hits) == [(version.name, version.handle) for version in expected]
    assert found.total == len(expected)
    assert [version for version in ALL if matches(version, wanted)] == expected
    assert dict(found.counts) == count(ALL, wanted)


def test_a_facet_counts_what_the_other_facets_leave(standing: SqlSearchIndex) -> None:
    counts = standing.search(Filter(gpu=("b300",), engine=("vllm",)), limit=1).counts
    assert counts["gpu"] == {"b300": 1, "h100": 1}
    assert counts["engine"] == {"vllm": 1}
    assert counts["tier"] == {"licensed": 1}


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("kimi", ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),  # in the name, in the title, in the text
        ("vllm kimi", ["kimi-k3-vllm-b300", "qwen-vllm-h100"]),
        ("  KIMI\tb30 ", ["kimi-k3-vllm-b300"]),  # the beginning of a word
        ("imi", []),  # never the middle
        ("flashkda", ["kimi-k3-vllm-b300"]),
        ("grosse", ["kimi-k3-vllm-b300"]),
        ("GRÖSSE", ["kimi-k3-vllm-b300"]),
        ("größe", ["kimi-k3-vllm-b300"]),
        ("naive", ["kimi-k3-vllm-b300"]),
        ("日本", ["kimi-k3-vllm-b300"]),
        ("quoted double", ["smollm2-llamacpp"]),
        ("AND OR NOT", ["smollm2-llamacpp"]),
        ("kimi OR qwen", []),
        ("-kimi", ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),
        ('"', ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),  # no word: nothing is asked
        ("*", ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),
        ("name:kimi", []),
        ("NEAR(kimi qwen)", []),
        ("kimi' | 'qwen", ["qwen-vllm-h100"]),
        ("k\0imi", []),
        ("\ud800", ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),
        ("   ", ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),
        ("a" * 5000, []),
        ("kimi " * 500, ["kimi-k3-vllm-b300", "qwen-vllm-h100", "smollm2-llamacpp"]),
    ],
)
def test_words_are_found_by_their_beginning_and_are_never_a_query(
    standing: SqlSearchIndex, q: str, expected: list[str]
) -> None:
    found = standing.search(Filter(q=q), limit=50)
    assert [name for name, _ in found.hits] == expected
    assert found.total == len(expected) == sum(matches(version, Filter(q=q)) for version in ALL)


def test_pages_of_a_result_make_up_the_whole(engine: Engine) -> None:
    index = filled(engine, tuple(replace(SMOL, name=f"p{n:03}", text=f"p{n:03} kimi") for n in range(25)))
    whole = names(index, Filter(q="kimi"), limit=100)
    assert len(whole) == 25
    assert [n for start in range(0, 30, 10) for n in names(index, Filter(q="kimi"), limit=10, offset=start)] == whole
    assert index.search(Filter(q="kimi"), limit=10, offset=10**9).hits == ()


def test_a_replacement_is_seen_at_once_also_under_the_same_stamp(engine: Engine) -> None:
    index, other = filled(engine), SqlSearchIndex(engine)
    assert len(names(other, Filter())) == 3
    index.replace((replace(KIMI, title="Taken back", text="nothing"), QWEN), "one")
    for reader in (index, other):
        assert names(reader, Filter()) == ["kimi-k3-vllm-b300@1.0.0", "qwen-vllm-h100@1.0.0"]
        assert names(reader, Filter(q="flashkda")) == []
        assert names(reader, Filter(q="nothing")) == ["kimi-k3-vllm-b300@1.0.0"]


def test_only_what_changed_is_written(engine: Engine) -> None:
    index = filled(engine)
    index.replace((replace(KIMI, status="serves"), KIMI_OLD, QWEN, SMOL), "two")
    with engine.connect() as connection:
        ids = {
            f"{row.name}@{row.handle}": row.id
            for row in connection.execute(text("SELECT id, name, handle FROM catalog_search_version"))
        }
    assert ids == {
        "kimi-k3-vllm-b300@1.0.0": 5,
        "kimi-k3-vllm-b300@0.9.0": 2,
        "qwen-vllm-h100@1.0.0": 3,
        "smollm2-llamacpp@1.0.0": 4,
    }
    assert index.stamp() == "two"


def test_a_replacement_that_fails_leaves_what_was_there(engine: Engine) -> None:
    index = filled(engine)

    def broken() -> object:
        yield replace(QWEN, name="new")
        raise RuntimeError("the reader of definitions stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        index.replace(broken(), "two")  # type: ignore[arg-type]
    assert index.stamp() == "one"
    assert len(names(index, Filter())) == 3


def test_another_layout_is_thrown_away_and_made_anew(engine: Engine) -> None:
    filled(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE catalog_search_state SET value = '0' WHERE key = 'layout'"))
    assert SqlSearchIndex(engine).stamp() == ""
    assert names(filled(engine), Filter(q="kimi", gpu=("b300",))) == ["kimi-k3-vllm-b300@1.0.0"]


def test_a_database_that_is_gone_is_said_to_be(engine: Engine) -> None:
    index = filled(engine)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE catalog_search_words"))
    with pytest.raises(RemoteError, match="search index does not answer"):
        index.search(Filter(q="kimi"), limit=1)


def test_a_file_that_is_no_database_is_said_to_be(tmp_path: object) -> None:
    file = tmp_path / "search.db"  # type: ignore[operator]
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(RemoteError, match="file is not a database"):
        SqlSearchIndex(open_engine(file))


WORDS = st.lists(
    st.sampled_from(
        ["kimi", "Kimi-K3", "größe", "GPU", "8x", "a", "ab", "abc", "日本語", "\uff46ull", "x_y", "\0", "'", '"*', "İ"]
    ),
    max_size=4,
).map(" ".join)
FACET = st.sampled_from(["a", "b", "c d", "é"])


@st.composite
def versions(draw: st.DrawFn) -> tuple[Facets, ...]:
    many = draw(st.integers(0, 8))
    made = [
        Facets(
            name=draw(st.sampled_from(["kimi", "kimi-b", "qwen", "Z", "é"])),
            handle=str(number),
            title=draw(WORDS),
            latest=draw(st.booleans()),
            yanked=draw(st.booleans()),
            published="",
            model=draw(FACET),
            architecture=draw(FACET),
            gpu=draw(FACET),
            gpus=draw(FACET),
            fits=tuple(draw(st.lists(FACET, max_size=3))),
            memory_each=Bytes(1),
            memory=Bytes(draw(st.integers(0, 3))),
            engine=draw(FACET),
            precision=tuple(draw(st.lists(FACET, max_size=3, unique=True))),
            status=draw(FACET),
            licence=draw(FACET),
            tier=draw(FACET),
            text=draw(WORDS),
        )
        for number in range(many)
    ]
    return tuple(sorted(made, key=lambda version: version.name))


CHOSEN = st.one_of(st.just(()), st.just(()), st.lists(FACET, min_size=1, max_size=2).map(tuple))
FILTERS = st.builds(
    Filter,
    model=CHOSEN,
    precision=CHOSEN,
    fits=CHOSEN,
    min_memory=st.builds(Bytes, st.sampled_from([0, 0, 1, 2])),
    max_memory=st.sampled_from([None, None, Bytes(1), Bytes(2)]),
    q=st.one_of(st.just(""), WORDS, WORDS, st.text(max_size=10)),
    yanked=st.sampled_from([True, True, False]),
    every_version=st.sampled_from([True, True, False]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(listed=versions(), wanted=FILTERS)
def test_both_databases_answer_alike_and_as_the_pure_rule(
    both: tuple[Engine, Engine], listed: tuple[Facets, ...], wanted: Filter
) -> None:
    answers = [filled(engine, listed).search(wanted, limit=50) for engine in both]
    assert answers[0] == answers[1]
    assert answers[0].total == sum(matches(version, wanted) for version in listed)
    assert dict(answers[0].counts) == count(listed, wanted)
