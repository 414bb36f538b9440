"""An entry is the canonical form of what it records, and its number comes last, so that it can be given when the entry is appended."""

from hypothesis import given
from hypothesis import strategies as st

from dayzero.market.chain import canonical, entry_body, entry_stem, rows_in
from dayzero.market.model import Deed, Row

VALUES = st.dictionaries(
    st.sampled_from(["id", "seq", "zone", "body"]), st.none() | st.integers() | st.text(), min_size=1
)
DEEDS = st.builds(
    Deed,
    account=st.text(),
    kind=st.sampled_from(["purchase", "zzz"]),
    at=st.text(),
    rows=st.lists(st.builds(Row, st.sampled_from(["orders", "transfer"]), VALUES)).map(tuple),
)


@given(deed=DEEDS, seq=st.integers(min_value=1, max_value=2**63 - 1))
def test_a_stem_and_a_number_are_the_canonical_entry(deed, seq):
    rows = [[row.table, row.values] for row in deed.rows]
    whole = {"account": deed.account, "at": deed.at, "kind": deed.kind, "rows": rows, "seq": seq}
    assert entry_body(deed, seq) == canonical(whole) == f"{entry_stem(deed)}{seq}}}"
    assert rows_in(entry_body(deed, seq)) == deed.rows
