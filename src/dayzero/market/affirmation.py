"""What is affirmed under a licence is one list: the digest of each affirmation by itself, in the order of the terms.

Terms and signature carry the list, so that one reference of the schema holds a signature to the text and to every affirmation.
"""

from collections.abc import Iterable

from dayzero.core.errors import IntegrityError
from dayzero.market.model import Row, Value

_APART = {"signature_affirmation": "signature_id", "terms_affirmation": "terms_id"}
_SEAL = "signature_seal"
_GONE = frozenset({"signature_affirmation", _SEAL})
_OWNS = {"signature": "id", "terms": "id", "terms_affirmation": "terms_id"}


def listed(digests: Iterable[str]) -> str:
    """Write the digests of affirmations as the list that terms and signatures carry."""
    return " ".join(digests)


def as_kept(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Read what an entry recorded as the rows that are kept today.

    Before the list there was, a row stood for each affirmation that was made, and one more, the seal, for all of them.

    Raises:
        IntegrityError: An affirmation or a seal stands by itself, or a seal over more or fewer than were made.
    """
    past = [row for row in rows if row.table in _OWNS and "affirmations" not in row.values]
    apart = [row for row in rows if row.table in _GONE]
    if not past and not apart:
        return rows
    made: dict[Value, list[str]] = {}
    for row in rows:
        if row.table in _APART:
            made.setdefault(row.values[_APART[row.table]], []).append(str(row.values["sha256"]))
    _check(apart, {row.values["id"] for row in past if row.table == "signature"}, made)
    return tuple(
        Row(row.table, {**row.values, "affirmations": listed(made.get(row.values[_OWNS[row.table]], ()))})
        if row in past
        else row
        for row in rows
        if row not in apart
    )


def _check(apart: list[Row], signatures: set[Value], made: dict[Value, list[str]]) -> None:
    sealed = {row.values["signature_id"]: row.values["last_ord"] for row in apart if row.table == _SEAL}
    whole = {signature: len(made.get(signature, ())) for signature in signatures}
    if sealed != whole or any(row.values["signature_id"] not in signatures for row in apart):
        raise IntegrityError("an entry records no whole signature", hint="Run 'dayzero market audit'.")
