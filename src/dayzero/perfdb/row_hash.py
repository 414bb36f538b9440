"""Know rows again in another import: a hash of what each says, added up, so that their order does not matter.

Each row is written as ``column=value`` of what the tree said of it, columns in alphabetical order, those without value left out,
joined by newlines; its hash is the first 16 and the next 16 digits of the SHA-256 of that. Both halves are added up over the rows
modulo 2^64. Added, not XORed: two equal rows would cancel each other.
"""

from dayzero.perfdb.model import Family

DERIVED = frozenset({"source", "row", "build", "grade", "substitution"})
_MODULUS = 2**64


def hash_columns(family: Family) -> tuple[str, str]:
    """Write the two SQL aggregates that together are the hash of the rows of a group."""
    names = sorted(name for name, _ in family.columns if name not in DERIVED)
    told = ", ".join(f"'{name}=' || \"{name}\"::VARCHAR" for name in names)
    row = f"sha256(concat_ws(chr(10), 'table={family.table}', {told}))"
    return (
        f"sum(('0x' || {row}[1:16])::UBIGINT)",
        f"sum(('0x' || {row}[17:32])::UBIGINT)",
    )


def hash_text(first: object, second: object) -> str:
    """Write the two sums as 32 hexadecimal digits."""
    return "".join(f"{int(str(part or 0)) % _MODULUS:016x}" for part in (first, second))
