"""Signed statements: in-toto Statement v1, with the two predicates that a kit comes with."""

import re
from dataclasses import dataclass

from dayzero_verify.strict_json import Json, StrictJsonError, loads

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
KIT_TYPE = "urn:dayzero:kit:v1"
RECEIPT_TYPE = "urn:dayzero:receipt:v1"
LEDGER_PATH = "evidence/ledger.jsonl"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_MODEL_PATH = re.compile(r"[^/\\\x00-\x1f\x7f]+(?:/[^/\\\x00-\x1f\x7f]+)*")  # a hub's files may start with a dot
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
class ModelFile:
    """One file of the model as the kit statement pins it; the file is not in the kit.

    Attributes:
        path: Relative to the model's folder.
        size: In bytes.
        sha256: Digest of the whole file.
        header_sha256: Digest of a safetensors file's header, its 8 length bytes and its JSON; ``""`` where none is pinned.
    """

    path: str
    size: int
    sha256: str
    header_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Required:
    """A statement that belongs to the kit: its predicate type and the SHA-256 of its payload."""

    predicate_type: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KitStatement:
    """What ``urn:dayzero:kit:v1`` says, as far as it is checked.

    Attributes:
        kit: Name of the kit (``demo-smollm2``).
        version: Version of the kit (``0.1.0``).
        subject: Digest of the archive.
        files: Every file of the archive.
        required: The receipts and other statements that belong to the kit, as its member ``receipts`` lists them.
        model_files: The pinned files of the model, none where the statement pins none.
        demo: True where it says that a demo key signs it.
    """

    kit: str
    version: str
    subject: str
    files: tuple[SignedFile, ...]
    required: tuple[Required, ...]
    model_files: tuple[ModelFile, ...]
    demo: bool

    @property
    def name(self) -> str:
        """Name and version in one text."""
        return f"{self.kit} {self.version}"

    @property
    def named(self) -> frozenset[str]:
        """Payload digests of the receipts and other statements that belong to the kit."""
        return frozenset(one.sha256 for one in self.required)


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
        kit=_name(kit.get("name"), "kit.name"),
        version=_name(kit.get("version"), "kit.version"),
        subject=statement.subjects[0].sha256,
        files=files,
        required=_required(predicate.get("receipts")),
        model_files=_model_files(predicate.get("model")),
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


def _model_files(model: Json) -> tuple[ModelFile, ...]:
    """Read the pins of the model's files; a kit without weights of its own (an engine's built-in model) may have none."""
    listed = _members(model, "model").get("files") if model is not None else None
    files = tuple(_model_file(entry) for entry in _list(listed, "model.files")) if listed is not None else ()
    if len({file.path for file in files}) != len(files):
        raise StatementError("the pinned model files hold a path twice")
    return files


def _model_file(entry: Json) -> ModelFile:
    members = _members(entry, "an entry of model.files")
    path, header = _text(members.get("path"), "path of a model file"), members.get("headerSha256")
    if not _MODEL_PATH.fullmatch(path) or not {".", ".."}.isdisjoint(path.split("/")):
        raise StatementError(f"not a relative path inside the model: {path!a}")
    return ModelFile(
        path=path,
        size=_size(members.get("size")),
        sha256=_sha256(members.get("sha256"), "sha256 of a model file"),
        header_sha256="" if header is None else _sha256(header, "headerSha256 of a model file"),
    )


def _is_demo(predicate: dict[str, Json]) -> bool:
    kind = _text(_members(predicate.get("signer"), "signer").get("kind"), "signer.kind")
    if kind not in _SIGNER_KINDS:
        raise StatementError(f"the signer's kind is none of {', '.join(_SIGNER_KINDS)}: {kind!a}")
    return kind == "demo"


def _required(value: Json) -> tuple[Required, ...]:
    required = tuple(_one_required(entry) for entry in _list(value, "receipts"))
    if len({one.sha256 for one in required}) != len(required):
        raise StatementError("the kit statement lists a receipt twice")
    return required


def _one_required(entry: Json) -> Required:
    members = _members(entry, "an entry of receipts")
    kind = _text(members.get("predicateType"), "predicateType of an entry of receipts")
    if ":" not in kind or kind == KIT_TYPE:
        raise StatementError(f"an entry of receipts is of no type that can belong to a kit: {kind!a}")
    return Required(kind, _sha256(members.get("sha256"), "sha256 of a receipt"))


def _file(entry: Json) -> SignedFile:
    members = _members(entry, "an entry of files")
    if set(members) != {"path", "size", "sha256", "mode"}:
        raise StatementError("an entry of files has exactly the members path, size, sha256 and mode")
    size, mode = _size(members["size"]), _text(members["mode"], "mode")
    if mode not in _MODES:
        raise StatementError(f"the mode of a file is one of {', '.join(_MODES)}")
    return SignedFile(_text(members["path"], "path"), size, _sha256(members["sha256"], "sha256 of a file"), mode)


def _size(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise StatementError("the size of a file is a whole number of bytes")
    return value


def _subject(entry: Json) -> Subject:
    members = _members(entry, "a subject")
    digest = _members(members.get("digest"), "digest of a subject")
    if set(members) != {"name", "digest"} or set(digest) != {"sha256"}:
        raise StatementError("a subject has a name and one digest, sha256")
    return Subject(_text(members["name"], "name of a subject"), _sha256(digest["sha256"], "sha256 of a subject"))


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


def is_name(text: str) -> bool:
    """Say whether a text is a plain name or version: ASCII letters, digits and ``. _ + -``, at most 100."""
    return _NAME.fullmatch(text) is not None


def _name(value: Json, what: str) -> str:
    text = _text(value, what)
    if not is_name(text):
        raise StatementError(f"{what} is not a plain name: {text!a}")
    return text


def _sha256(value: Json, what: str) -> str:
    text = _text(value, what)
    if not _SHA256.fullmatch(text):
        raise StatementError(f"{what} is not 64 lower-case hexadecimal digits")
    return text
