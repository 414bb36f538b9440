"""The Merkle tree of a log: hashes and proofs of RFC 6962, section 2.1, and the tiles that hold it on disk.

Proofs are written over a function that gives the hash of a range of records, so that a list of records in memory and a
folder of tiles are two sources of one algorithm.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import TypeAlias

HASH_BYTES = 32
TILE_WIDTH = 256  # c2sp.org/tlog-tiles: a full tile holds 256 hashes
MAX_ENTRY_BYTES = 0xFFFF  # c2sp.org/tlog-tiles: each entry has a length of two bytes before it

# The hash of the records from the first to the one before the second, counted from 0.
RangeHash: TypeAlias = Callable[[int, int], bytes]


class LogTreeError(ValueError):
    """A proof or a tile does not belong to the tree that it is said to belong to."""


def leaf_hash(record: bytes) -> bytes:
    """Hash one record."""
    return sha256(b"\x00" + record).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two neighbours into the node above them."""
    return sha256(b"\x01" + left + right).digest()


def root_hash(leaves: Sequence[bytes]) -> bytes:
    """Hash the tree over these leaf hashes; the empty tree has the hash of nothing."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = _split(len(leaves))
    return node_hash(root_hash(leaves[:split]), root_hash(leaves[split:]))


def over_leaves(leaves: Sequence[bytes]) -> RangeHash:
    """Give the hashes of ranges of these leaf hashes."""
    return lambda begin, end: root_hash(leaves[begin:end])


def inclusion_proof(ranges: RangeHash, index: int, size: int) -> tuple[bytes, ...]:
    """Prove that a record is in the tree of the first ``size`` records; the hash nearest the leaf comes first.

    Raises:
        LogTreeError: There is no such record.
    """
    if not 0 <= index < size:
        raise LogTreeError(f"a log of {size} records has none with number {index}")
    proof: list[bytes] = []
    begin, end = 0, size
    while end - begin > 1:
        middle = begin + _split(end - begin)
        if index < middle:
            proof.append(ranges(middle, end))
            end = middle
        else:
            proof.append(ranges(begin, middle))
            begin = middle
    return tuple(reversed(proof))


def included_root(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """Compute the root that a proof leads to; inclusion holds where it is the root that the log signed.

    Raises:
        LogTreeError: The proof has another length than one of this record in a tree of this size.
    """
    turns = list(_turns(index, size))
    if len(turns) != len(proof):
        raise LogTreeError(f"the proof has {len(proof)} hashes, one of record {index} of {size} has {len(turns)}")
    root = leaf
    for is_right, other in zip(reversed(turns), proof, strict=True):
        root = node_hash(other, root) if is_right else node_hash(root, other)
    return root


def _turns(index: int, size: int) -> Iterator[bool]:
    """Walk from the root to a record, and say at each node whether the record is to the right."""
    if not 0 <= index < size:
        raise LogTreeError(f"a log of {size} records has none with number {index}")
    while size > 1:
        split = _split(size)
        yield index >= split
        index, size = (index - split, size - split) if index >= split else (index, split)


def consistency_proof(ranges: RangeHash, old: int, new: int) -> tuple[bytes, ...]:
    """Prove that the first ``old`` of the first ``new`` records have not changed.

    Raises:
        LogTreeError: Not 1 <= old <= new.
    """
    _need_growth(old, new)
    proof: list[bytes] = []
    begin, end, whole = 0, new, True
    while old != end:
        middle = begin + _split(end - begin)
        if old <= middle:
            proof.append(ranges(middle, end))
            end = middle
        else:
            proof.append(ranges(begin, middle))
            begin, whole = middle, False
    if not whole:
        proof.append(ranges(begin, end))
    return tuple(reversed(proof))


def is_consistent(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Say whether the proof shows that the tree with the new root begins with the tree with the old one.

    Raises:
        LogTreeError: Not 1 <= old <= new.
    """
    _need_growth(old, new)
    turns, begin, end = [], 0, new
    while old != end:
        middle = begin + _split(end - begin)
        turns.append(old > middle)
        begin, end = (middle, end) if old > middle else (begin, middle)
    # Where the old tree is itself a node of the new one, its root is not repeated in the proof.
    hashes = list(proof) if begin else [old_root, *proof]
    if len(hashes) != len(turns) + 1:
        return False
    was = now = hashes[0]
    for is_right, other in zip(reversed(turns), hashes[1:], strict=True):
        was = node_hash(other, was) if is_right else was
        now = node_hash(other, now) if is_right else node_hash(now, other)
    return (was, now) == (old_root, new_root)


def _need_growth(old: int, new: int) -> None:
    if not 1 <= old <= new:
        raise LogTreeError(f"no tree of {old} records is the beginning of one of {new}")


def _split(size: int) -> int:
    """Give the largest power of two below a size of at least two: so many records are in the left half."""
    return 1 << (size - 1).bit_length() - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A run of neighbouring hashes of one level, as one file.

    Attributes:
        level: 0 for the leaves; each level above holds the roots of the full tiles below it.
        index: Position among the tiles of its level, from 0.
        width: How many hashes it holds, 1 to 256.
    """

    level: int
    index: int
    width: int = TILE_WIDTH

    @property
    def path(self) -> str:
        """Where it lies under the log's folder."""
        return f"tile/{self.level}/{self._suffix}"

    @property
    def entries_path(self) -> str:
        """Where the records under a tile of level 0 lie."""
        return f"tile/entries/{self._suffix}"

    @property
    def _suffix(self) -> str:
        digits = str(self.index)
        digits = digits.rjust(-(-len(digits) // 3) * 3, "0")
        bounds = pairwise(range(0, len(digits) + 1, 3))
        parts = [digits[begin:end] for begin, end in bounds]
        path = "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
        return path if self.width == TILE_WIDTH else f"{path}.p/{self.width}"


def tiles(size: int) -> Iterator[Tile]:
    """Name the tiles of a log of ``size`` records, lowest level first; the last one of a level may be partial.

    One at a time: a signed head may claim any number of records.
    """
    level, count = 0, size
    while count:
        full, rest = divmod(count, TILE_WIDTH)
        yield from (Tile(level=level, index=index) for index in range(full))
        if rest:
            yield Tile(level=level, index=full, width=rest)
        level, count = level + 1, full


def over_tiles(read: Callable[[str], bytes | None], size: int) -> RangeHash:
    """Give the hashes of ranges from the tiles of a log of ``size`` records; only ranges that a proof asks for are cheap.

    Args:
        read: Reads a file under the log's folder, ``None`` where there is none.
        size: How many records the log has; a partial tile may have been replaced by the full one since.

    The function that is given raises ``LogTreeError`` where a tile is missing or has another length.
    """
    known: dict[tuple[int, int], bytes] = {}

    def tile(level: int, index: int) -> bytes:
        if (level, index) not in known:
            known[level, index] = _read_tile(read, level, index, size)
        return known[level, index]

    def ranges(begin: int, end: int) -> bytes:
        level = 0
        while begin % TILE_WIDTH ** (level + 1) == end % TILE_WIDTH ** (level + 1) == 0:
            level += 1
        first, last = begin // TILE_WIDTH**level, end // TILE_WIDTH**level
        if first // TILE_WIDTH != (last - 1) // TILE_WIDTH:
            middle = begin + _split(end - begin)
            return node_hash(ranges(begin, middle), ranges(middle, end))
        held = tile(level, first // TILE_WIDTH)
        at = first % TILE_WIDTH
        wanted = held[at * HASH_BYTES : (at + last - first) * HASH_BYTES]
        return root_hash([wanted[here : here + HASH_BYTES] for here in range(0, len(wanted), HASH_BYTES)])

    return ranges


def _read_tile(read: Callable[[str], bytes | None], level: int, index: int, size: int) -> bytes:
    width = min(TILE_WIDTH, size // TILE_WIDTH**level - index * TILE_WIDTH)
    if width < 1:
        raise LogTreeError(f"a log of {size} records has no tile {index} of level {level}")
    for wanted in dict.fromkeys((width, TILE_WIDTH)):
        named = Tile(level=level, index=index, width=wanted)
        content = read(named.path)
        if content is not None and len(content) == wanted * HASH_BYTES:
            return content[: width * HASH_BYTES]
        if content is not None:
            raise LogTreeError(f"the tile {named.path} has {len(content)} bytes, not {wanted * HASH_BYTES}")
    raise LogTreeError(f"the tile {Tile(level=level, index=index, width=width).path} is missing")
