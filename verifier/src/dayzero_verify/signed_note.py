"""Signed notes (c2sp.org/signed-note) with Ed25519 keys, and the text of a log's checkpoint (c2sp.org/tlog-checkpoint)."""

import base64
import re
from dataclasses import dataclass
from hashlib import sha256

from dayzero_verify import ed25519
from dayzero_verify.canonical_base64 import Base64Error, decode
from dayzero_verify.log_head import Checkpoint

MAX_NOTE_BYTES = 64 * 1024
MAX_SIGNATURES = 16

_ED25519 = b"\x01"
_ID_BYTES = 4
_SIGNATURE = re.compile("\u2014 (?P<name>[^\\s+]+) (?P<base64>[A-Za-z0-9+/=]+)")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f]")
_NUMBER = re.compile("0|[1-9][0-9]{0,15}")
_CHECKPOINT_LINES = 3


class NoteError(ValueError):
    """The bytes are not a signed note, or not one by the key that is asked about."""


class NoteSignatureError(NoteError):
    """No signature of the note holds under the key."""


@dataclass(frozen=True, slots=True)
class NoteKey:
    """The Ed25519 key of a note, with the name that it signs under."""

    name: str
    raw: bytes

    @property
    def id(self) -> bytes:
        """The 4 bytes that signatures name the key by."""
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.raw).digest()[:_ID_BYTES]

    @property
    def vkey(self) -> str:
        """The key as one word: name, id and key, as golang.org/x/mod/sumdb/note writes it."""
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(_ED25519 + self.raw).decode()}"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: who is said to have signed, and what."""

    name: str
    key_id: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A text with its final newline, and its signatures, not verified yet."""

    text: str
    signatures: tuple[NoteSignature, ...]


def parse_vkey(vkey: str) -> NoteKey:
    """Read a key in its one-word form.

    Raises:
        NoteError: Another form, another algorithm than Ed25519, or an id that is not that of the key.
    """
    parts = vkey.split("+", 2)
    if len(parts) != 3 or not re.fullmatch(r"[^\s+]+", parts[0]):  # noqa: PLR2004  (name, id, key)
        raise NoteError("a key is NAME+ID+BASE64")
    encoded = decode_base64(parts[2])
    key = NoteKey(parts[0], encoded[1:])
    if encoded[:1] != _ED25519 or len(key.raw) != ed25519.KEY_BYTES:
        raise NoteError(f"the key of {key.name!a} is not an Ed25519 key")
    if parts[1] != key.id.hex():
        raise NoteError(f"the id in the key of {key.name!a} is not that of the key")
    return key


def parse_note(content: bytes) -> Note:
    """Take a note apart.

    Raises:
        NoteError: Not UTF-8, over 64 KiB, control characters, or no text, blank line and 1 to 16 signature lines.
    """
    if len(content) > MAX_NOTE_BYTES:
        raise NoteError(f"the note is larger than {MAX_NOTE_BYTES} bytes")
    try:
        note = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoteError(f"not UTF-8 at byte {error.start}") from error
    if _CONTROL.search(note):
        raise NoteError("the note holds a control character")
    text, blank, signed = note.rpartition("\n\n")
    if not blank or not text or not signed.endswith("\n"):
        raise NoteError("a note is a text, a blank line and signature lines")
    lines = signed.removesuffix("\n").split("\n")
    if not 1 <= len(lines) <= MAX_SIGNATURES:
        raise NoteError(f"a note has 1 to {MAX_SIGNATURES} signatures")
    return Note(text + "\n", tuple(map(_signature, lines)))


def verify_note(note: Note, key: NoteKey) -> str:
    """Give the note's text where the key signed it.

    Raises:
        NoteSignatureError: The key signed nothing, or one of its signatures does not hold. Lines by other keys are ignored.
    """
    its = [entry for entry in note.signatures if (entry.name, entry.key_id) == (key.name, key.id)]
    if not its:
        raise NoteSignatureError(f"the note is not signed by {key.name!a}")
    if not all(ed25519.verify(key.raw, note.text.encode(), entry.value) for entry in its):
        raise NoteSignatureError(f"the signature of {key.name!a} does not hold")
    return note.text


def note_bytes(text: str, key: NoteKey, signature: bytes) -> bytes:
    """Write a note that one key signed; ``signature`` is over ``text`` in UTF-8, which ends with a newline."""
    return f"{text}\n\u2014 {key.name} {base64.b64encode(key.id + signature).decode()}\n".encode()


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the text of a log's signed head; extension lines are not taken, since nobody can audit them.

    Raises:
        NoteError: Not a name, a size without leading zeros and a root hash of 32 bytes.
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) != _CHECKPOINT_LINES or not lines[0]:
        raise NoteError("a checkpoint has three lines: name, size and root hash")
    return Checkpoint(lines[0], parse_number(lines[1]), parse_hash(lines[2]))


def parse_number(text: str) -> int:
    """Read a whole number that is written in one way only, of at most 16 digits.

    Raises:
        NoteError: It is not.
    """
    if not _NUMBER.fullmatch(text):
        raise NoteError(f"not a plain number: {text[:24]!a}")
    return int(text)


def parse_hash(text: str) -> bytes:
    """Read a SHA-256 hash in base64.

    Raises:
        NoteError: It is not the one base64 spelling of 32 bytes.
    """
    value = decode_base64(text)
    if len(value) != sha256().digest_size:
        raise NoteError("a hash has 32 bytes")
    return value


def decode_base64(text: str) -> bytes:
    """Decode standard base64 that is the one spelling of its bytes.

    Raises:
        NoteError: It is not.
    """
    try:
        return decode(text)
    except Base64Error as error:
        raise NoteError(str(error)) from error


def _signature(line: str) -> NoteSignature:
    match = _SIGNATURE.fullmatch(line)
    if match is None:
        raise NoteError("a signature line is a dash, a name and base64")
    value = decode_base64(match["base64"])
    return NoteSignature(match["name"], value[:_ID_BYTES], value[_ID_BYTES:])
