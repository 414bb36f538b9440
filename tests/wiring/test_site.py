import json

from hypothesis import given
from hypothesis import strategies as st

from dayzero.wiring.site import as_bytes

# The catalog's documents hold texts, whole numbers and words of logic; a measured value is a text.
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(DOCUMENTS)
def test_a_document_is_written_as_the_standard_library_writes_it(document: object):
    assert as_bytes(document) == f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()
