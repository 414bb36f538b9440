"""Signed statements: in-toto Statement v1, with the two predicates that a kit comes with."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dayzero_verify.strict_json import Json, StrictJsonError, loads

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
KIT_TYPE = "urn:dayzero:kit:v1"
RECEIPT_TYPE = "urn:dayzero:receipt:v1"
LEDGER_PATH = "evidence/ledger.jsonl"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_MODES = ("0644", "0755")
_SIGNER_KINDS = ("demo", "release")


class StatementError(ValueError):
    """A signed payload does not say what a statement of its type has to say."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a statement is about: its name and SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, parsed as far as all types agree."""

    subjects: tuple[Subject, ...]
    predicate_type: str
    predicate: dict[str, Json]


@dataclass(frozen=True, slots=True)
class SignedFile:
    """One file as the kit statement lists it."""

    path: str
    size: int
    sha256: str
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KitStatement:
    """What ``urn:dayzero:kit:v1`` says, as far as it is checked.

    Attributes:
        name: Name and version of the kit (``demo-smollm2 0.1.0``).
        subject: Digest of the archive.
        files: Every file of the archive.
        receipts: Payload digests of the receipts that belong to the kit.
        demo: True where it says that a demo key signs it.
    """

    name: str
    subject: str
    files: tuple[SignedFile, ...]
    receipts: tuple[str, ...]
    demo: bool


def parse_statement(payload: bytes) -> Statement:
    """Read a statement of any predicate type.

    Raises:
        StatementError: Not strict JSON, other members than the four of Statement v1, or a subject without its SHA-256.
    """
    try:
        document = loads(payload)
    except StrictJsonError as error:
        raise StatementError(str(error)) from error
    members = _members(document, "the statement")
    if set(members) != {"_type", "subject", "predicateType", "predicate"}:
        raise StatementError("a statement has exactly the members _type, subject, predicateType and predicate")
    if members["_type"] != STATEMENT_TYPE:
        raise StatementError(f"the statement's _type is not {STATEMENT_TYPE}")
    subjects = tuple(_subject(entry) for entry in _list(members["subject"], "subject"))
    if not subjects:
        raise StatementError("the statement has no subject")
    predicate = _members(members["predicate"], "predicate")
    return Statement(subjects, _text(members["predicateType"], "predicateType"), predicate)


def parse_kit_statement(statement: Statement) -> KitStatement:
    """Read what the kit statement promises.

    Members that are not read here (pins of engine and model, recipe) describe the kit and are left alone.

    Raises:
        StatementError: Another predicate type, more than one subject, or a promise that is missing or contradicts another.
    """
    if statement.predicate_type != KIT_TYPE:
        raise StatementError(f"the first statement is not of type {KIT_TYPE} but {statement.predicate_type!a}")
    if len(statement.subjects) != 1:
        raise StatementError("the kit statement is about more than one thing")
    predicate = statement.predicate
    kit = _members(predicate.get("kit"), "kit")
    files = parse_files(predicate.get("files"))
    ledger = _sha256(_members(predicate.get("ledger"), "ledger").get("sha256"), "ledger.sha256")
    if [file.sha256 for file in files if file.path == LEDGER_PATH] != [ledger]:
        raise StatementError(f"the ledger's digest is not that of {LEDGER_PATH} in the list of files")
    weights = predicate.get("weightBytes")
    if weights != 0 or isinstance(weights, bool | float):
        raise StatementError("the kit statement does not promise zero weight bytes")
    return KitStatement(
        name=f"{_name(kit.get('name'), 'kit.name')} {_name(kit.get('version'), 'kit.version')}",
        subject=statement.subjects[0].sha256,
        files=files,
        receipts=_distinct(_receipt(entry) for entry in _list(predicate.get("receipts"), "receipts")),
        demo=_is_demo(predicate),
    )


def parse_files(value: Json) -> tuple[SignedFile, ...]:
    """Read a list of files, as the kit statement and the kit's own manifest hold it.

    Raises:
        StatementError: Not a list of path, size, sha256 and mode, or a path twice.
    """
    files = tuple(_file(entry) for entry in _list(value, "files"))
    if len({file.path for file in files}) != len(files):
        raise StatementError("the list of files holds a path twice")
    return files


def _is_demo(predicate: dict[str, Json]) -> bool:
    kind = _text(_members(predicate.get("signer"), "signer").get("kind"), "signer.kind")
    if kind not in _SIGNER_KINDS:
        raise StatementError(f"the signer's kind is none of {', '.join(_SIGNER_KINDS)}: {kind!a}")
    return kind == "demo"


def _receipt(entry: Json) -> str:
    members = _members(entry, "an entry of receipts")
    if members.get("predicateType") != RECEIPT_TYPE:
        raise StatementError(f"an entry of receipts is not of type {RECEIPT_TYPE}")
    return _sha256(members.get("sha256"), "sha256 of a receipt")


def _file(entry: Json) -> SignedFile:
    members = _members(entry, "an entry of files")
    if set(members) != {"path", "size", "sha256", "mode"}:
        raise StatementError("an entry of files has exactly the members path, size, sha256 and mode")
    size, mode = members["size"], _text(members["mode"], "mode")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise StatementError("the size of a file is a whole number of bytes")
    if mode not in _MODES:
        raise StatementError(f"the mode of a file is one of {', '.join(_MODES)}")
    return SignedFile(_text(members["path"], "path"), size, _sha256(members["sha256"], "sha256 of a file"), mode)


def _subject(entry: Json) -> Subject:
    members = _members(entry, "a subject")
    digest = _members(members.get("digest"), "digest of a subject")
    if set(members) != {"name", "digest"} or set(digest) != {"sha256"}:
        raise StatementError("a subject has a name and one digest, sha256")
    return Subject(_text(members["name"], "name of a subject"), _sha256(digest["sha256"], "sha256 of a subject"))


def _distinct(digests: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(digests)
    if len(set(listed)) != len(listed):
        raise StatementError("the kit statement lists a receipt twice")
    return listed


def _members(value: Json, what: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise StatementError(f"{what} is not an object")
    return value


def _list(value: Json, what: str) -> list[Json]:
    if not isinstance(value, list):
        raise StatementError(f"{what} is not a list")
    return value


def _text(value: Json, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise StatementError(f"{what} is not a text")
    return value


def _name(value: Json, what: str) -> str:
    text = _text(value, what)
    if not _NAME.fullmatch(text):
        raise StatementError(f"{what} is not a plain name: {text!a}")
    return text


def _sha256(value: Json, what: str) -> str:
    text = _text(value, what)
    if not _SHA256.fullmatch(text):
        raise StatementError(f"{what} is not 64 lower-case hexadecimal digits")
    return text
