import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.catalog.index import (
    IndexedFile,
    faults,
    index_document,
    index_statement,
    need_stated,
    read_index,
)
from dayzero.core.errors import IntegrityError
from dayzero.core.pins import Sha256

A, B = (IndexedFile(path=f"p/{name}.html", sha256=Sha256.of(name.encode()), size=1) for name in "ab")


def written(*files: IndexedFile, as_of: str = "2026-11-30T08:00:00Z") -> bytes:
    return json.dumps(index_document(as_of, files)).encode()


@given(st.permutations([A, B]))
def test_an_index_is_read_back_whatever_the_order_of_its_files_was(files: list[IndexedFile]):
    index = read_index(written(*files))
    assert list(index.files.values()) == [A, B]
    assert index.as_of == "2026-11-30T08:00:00Z"
    assert written(*files) == written(A, B)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((A, B), ()),
        ((B, A), ()),
        ((A,), ("p/b.html is missing",)),
        ((A, B, replace(B, path="p/c.html")), ("p/c.html is not in the index",)),
        ((A, replace(B, sha256=A.sha256)), (f"p/b.html was changed: it is {A.sha256}, the index says {B.sha256}",)),
        ((), ("p/a.html is missing", "p/b.html is missing")),
    ],
)
def test_every_difference_is_named_by_path(found: tuple[IndexedFile, ...], said: tuple[str, ...]):
    assert tuple(faults(read_index(written(A, B)), found)) == said


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        written(A).replace(b"catalog-index/v1", b"catalog-index/v2"),
        written(A).replace(A.sha256.hex.encode(), b"ab"),
        written(A).replace(b'"as_of"', b'"as_off"'),
        written(A)[:-1] + b', "more": 1}',
        written(A).replace(b'"files": {', b'"files": {"p/a.html": {"sha256": "x", "bytes": 1}, '),
    ],
)
def test_what_is_no_index_is_refused(content: bytes):
    with pytest.raises(IntegrityError, match=r"index\.json is no index of a site"):
        read_index(content)


def test_a_statement_is_about_one_index_and_says_which_key_signs():
    index = written(A)
    statement = index_statement(index, "demo")
    assert statement.predicate == {"signer": {"kind": "demo"}}
    need_stated(statement, index)
    with pytest.raises(IntegrityError, match="is not the one that was signed"):
        need_stated(statement, written(A, B))
    with pytest.raises(IntegrityError, match="is no statement about an index"):
        need_stated(replace(statement, predicate_type="urn:dayzero:other:v1"), index)
