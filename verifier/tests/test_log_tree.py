import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayzero_verify.log_tree import (
    LogTreeError,
    Tile,
    consistency_proof,
    included_root,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    over_leaves,
    over_tiles,
    root_hash,
    tiles,
)

# Records and roots of the reference implementation of RFC 6962, by the number of records.
RECORDS = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
LEAVES = [leaf_hash(b"%d" % number) for number in range(600)]


def folder(size: int) -> dict[str, bytes]:
    """Lay out a log of the first so many leaves as tiles."""
    above = [root_hash(LEAVES[first : first + 256]) for first in range(0, size - 255, 256)]
    levels = {0: LEAVES[:size], 1: above}
    return {
        tile.path: b"".join(levels[tile.level][tile.index * 256 : tile.index * 256 + tile.width])
        for tile in tiles(size)
    }


@pytest.mark.parametrize("size", ROOTS)
def test_roots_are_those_of_the_reference(size: int):
    assert root_hash([leaf_hash(bytes.fromhex(text)) for text in RECORDS[:size]]).hex() == ROOTS[size]


@given(st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))), st.integers(0, 79))
def test_a_record_is_proven_where_it_is_and_nowhere_else(place: tuple[int, int], other: int):
    size, index = place
    root, proof = root_hash(LEAVES[:size]), inclusion_proof(over_leaves(LEAVES), index, size)
    assert included_root(LEAVES[index], index, size, proof) == root
    assert included_root(LEAVES[100 + other], index, size, proof) != root
    with pytest.raises(LogTreeError):
        included_root(LEAVES[index], index, size, (*proof, b"\0" * 32))
    with pytest.raises(LogTreeError):
        inclusion_proof(over_leaves(LEAVES), size, size)


@given(st.integers(1, 80).flatmap(lambda new: st.tuples(st.integers(1, new), st.just(new))))
def test_a_log_is_consistent_with_its_beginning_and_with_no_other(sizes: tuple[int, int]):
    old, new = sizes
    was, now = root_hash(LEAVES[:old]), root_hash(LEAVES[:new])
    proof = consistency_proof(over_leaves(LEAVES), old, new)
    assert is_consistent(old, was, new, now, proof)
    assert not is_consistent(old, root_hash(LEAVES[1 : old + 1]), new, now, proof)
    assert not is_consistent(old, was, new, root_hash(LEAVES[1 : new + 1]), proof)
    assert not is_consistent(old, was, new, now, (*proof, b"\0" * 32))


def test_a_log_is_not_the_beginning_of_a_smaller_one():
    for old, new in ((0, 3), (4, 3)):
        with pytest.raises(LogTreeError):
            is_consistent(old, b"", new, b"", ())


@settings(max_examples=30)
@given(st.integers(1, 600).flatmap(lambda size: st.tuples(st.integers(1, size), st.just(size))))
def test_tiles_give_the_same_proofs_as_the_records(sizes: tuple[int, int]):
    old, new = sizes
    held = over_tiles(folder(new).get, new)
    assert consistency_proof(held, old, new) == consistency_proof(over_leaves(LEAVES), old, new)
    assert inclusion_proof(held, old - 1, new) == inclusion_proof(over_leaves(LEAVES), old - 1, new)


def test_a_partial_tile_may_have_become_a_full_one():
    held = {**folder(512), "tile/1/000.p/1": folder(300)["tile/1/000.p/1"]}
    assert inclusion_proof(over_tiles(held.get, 300), 299, 300) == inclusion_proof(over_leaves(LEAVES), 299, 300)


@pytest.mark.parametrize("change", [{"tile/0/001.p/44": None}, {"tile/0/001.p/44": b"short"}])
def test_a_tile_that_is_missing_or_cut_short_is_no_proof(change: dict[str, bytes | None]):
    held = {**folder(300), **change}
    with pytest.raises(LogTreeError):
        inclusion_proof(over_tiles(held.get, 300), 299, 300)


def test_tiles_are_named_as_the_specification_names_them():
    named = [tile.path for tile in tiles(70_000)]
    assert len(named) == 273 + 1 + 1 + 1 + 1
    assert named[273:] == ["tile/0/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1"]
    assert Tile(level=0, index=1_234_067).path == "tile/0/x001/x234/067"
    assert Tile(level=0, index=0, width=3).entries_path == "tile/entries/000.p/3"
    assert [tile.path for tile in tiles(256)] == ["tile/0/000", "tile/1/000.p/1"]
    assert list(tiles(0)) == []
    assert next(tiles(9_999_999_999_999_999)).path == "tile/0/000"
