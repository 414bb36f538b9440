import pytest
from verifier.tests.trusts import LOG, LOG_KEY

from dayzero_verify.signed_note import (
    Checkpoint,
    NoteError,
    NoteSignatureError,
    note_bytes,
    parse_checkpoint,
    parse_note,
    parse_vkey,
    verify_note,
)

# The example of golang.org/x/mod/sumdb/note.
VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = (
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
NOTE = f"{TEXT}\n{SIGNATURE}"
STRANGERS = SIGNATURE.replace("PeterNeumann", "Stranger")
HASH = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


@pytest.mark.parametrize("signatures", [SIGNATURE, STRANGERS + SIGNATURE, SIGNATURE * 2])
def test_a_note_that_the_key_signed_gives_its_text(signatures: str):
    assert verify_note(parse_note(f"{TEXT}\n{signatures}".encode()), parse_vkey(VKEY)) == TEXT


@pytest.mark.parametrize(
    "note",
    [
        NOTE.replace("think", "know"),
        f"{TEXT}\n{STRANGERS}",
        f"more\n{NOTE}",
        f"{TEXT}\n{SIGNATURE}{SIGNATURE.replace('JnAM=', 'JnAA=')}",
    ],
)
def test_a_note_that_the_key_did_not_sign_is_refused(note: str):
    with pytest.raises(NoteSignatureError):
        verify_note(parse_note(note.encode()), parse_vkey(VKEY))


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff" + NOTE.encode(),
        TEXT.encode(),
        SIGNATURE.encode(),
        NOTE.encode()[:-1],
        NOTE.replace("\n", "\r\n").encode(),
        f"{TEXT}\n{SIGNATURE * 17}".encode(),
        f"{TEXT}\n- PeterNeumann AAAA\n".encode(),
        f"{TEXT}\n\u2014 Peter+Neumann AAAA\n".encode(),
        f"{TEXT}\n\u2014 PeterNeumann AAB=\n".encode(),
        b"a" * 70_000,
    ],
)
def test_what_is_not_a_note_is_refused(note: bytes):
    with pytest.raises(NoteError):
        parse_note(note)


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "PeterNeumann+c74f20a3",
        VKEY.replace("c74f20a3", "c74f20a4"),
        VKEY.replace("PeterNeumann", "Peter Neumann"),
        VKEY.replace("+ARpc", "+Arpc"),
        VKEY[:-4],
    ],
)
def test_a_key_of_another_form_or_with_another_id_is_refused(vkey: str):
    with pytest.raises(NoteError):
        parse_vkey(vkey)


def test_a_key_is_written_as_it_is_read():
    assert parse_vkey(VKEY).vkey == VKEY


def test_a_checkpoint_is_read_as_it_is_written():
    head = Checkpoint("example.org/log", 12, bytes(range(32)))
    note = note_bytes(head.text, LOG_KEY, LOG.sign(head.text.encode()))
    assert parse_checkpoint(verify_note(parse_note(note), LOG_KEY)) == head


@pytest.mark.parametrize(
    "text",
    [
        f"log\n1\n{HASH}\nmore\n",
        f"log\n01\n{HASH}\n",
        f"log\n-1\n{HASH}\n",
        f"\n1\n{HASH}\n",
        "log\n1\nAAAA\n",
        f"log\n1\n{HASH[:-1]}\n",
        "log\n1\n",
    ],
)
def test_a_checkpoint_of_another_form_is_refused(text: str):
    with pytest.raises(NoteError):
        parse_checkpoint(text)
