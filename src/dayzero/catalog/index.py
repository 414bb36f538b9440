"""The index of a site: every file with its digest, so that one signature holds for all of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from dayzero.attestation.model import SignerKind, Statement, Subject
from dayzero.catalog.paths import INDEX, INDEX_ENVELOPE
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero_verify.strict_json import StrictJsonError, loads

SCHEMA = "dayzero/catalog-index/v1"
PREDICATE_TYPE = "urn:dayzero:catalog-index:v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """One file of a site."""

    path: str
    sha256: Sha256
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """What a site is said to be.

    Attributes:
        as_of: The newest instant that its catalog knew.
        files: Every file but the index and its signature, by path.
    """

    as_of: str
    files: Mapping[str, IndexedFile]


class _FileWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    bytes: int


class _IndexWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["dayzero/catalog-index/v1"]
    as_of: str
    files: dict[str, _FileWire]


def index_document(as_of: str, files: Iterable[IndexedFile]) -> Mapping[str, object]:
    """Write the index, by path."""
    ordered = sorted(files, key=lambda file: file.path)
    return {
        "schema": SCHEMA,
        "as_of": as_of,
        "files": {file.path: {"sha256": file.sha256.hex, "bytes": file.size} for file in ordered},
    }


def read_index(content: bytes) -> Index:
    """Read an index.

    Raises:
        IntegrityError: It is none.
    """
    try:
        wire = msgspec.convert(loads(content), _IndexWire, strict=True)
        files = {
            path: IndexedFile(path=path, sha256=Sha256(file.sha256), size=file.bytes)
            for path, file in wire.files.items()
        }
    except (StrictJsonError, msgspec.ValidationError, InputError) as error:
        raise IntegrityError(f"{INDEX} is no index of a site: {error}", hint="Get the site again.") from error
    return Index(as_of=wire.as_of, files=files)


def index_statement(index: bytes, signer: SignerKind) -> Statement:
    """State that this is the index of a site."""
    return Statement(
        subjects=(Subject(INDEX, Sha256.of(index)),),
        predicate_type=PREDICATE_TYPE,
        predicate={"signer": {"kind": signer}},
    )


def need_stated(statement: Statement, index: bytes) -> None:
    """Refuse a signed statement that is not about this index.

    Raises:
        IntegrityError: It says something else, or says it of other bytes.
    """
    if statement.predicate_type != PREDICATE_TYPE:
        raise IntegrityError(
            f"{INDEX_ENVELOPE} is signed, and is no statement about an index: {statement.predicate_type}",
            hint="Get the site again.",
        )
    if [(subject.name, subject.sha256) for subject in statement.subjects] != [(INDEX, Sha256.of(index))]:
        raise IntegrityError(f"{INDEX} is not the one that was signed", hint="Get the site again.")


def faults(index: Index, found: Iterable[IndexedFile]) -> Iterator[str]:
    """Name what differs between an index and the files that are there, by path.

    Args:
        index: The index.
        found: Every file of the site but the index and its signature.
    """
    there = {file.path: file for file in found}
    for path in sorted({*index.files, *there}):
        if path not in there:
            yield f"{path} is missing"
        elif path not in index.files:
            yield f"{path} is not in the index"
        elif there[path] != index.files[path]:
            yield f"{path} was changed: it is {there[path].sha256}, the index says {index.files[path].sha256}"
