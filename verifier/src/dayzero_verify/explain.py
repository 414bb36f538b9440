"""Write what was verified as plain files, and the commands that check the same with ``openssl`` and coreutils only."""

import base64
import shlex
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dayzero_verify.dsse import pae
from dayzero_verify.inputs import UnreadableError
from dayzero_verify.keys import PublicKey
from dayzero_verify.kit import Content, Line
from dayzero_verify.statement import RECEIPT_TYPE

MODEL_FOLDER = "MODEL_FOLDER"
_SUMS, _MODEL_SUMS = "SHA256SUMS", "MODEL.SHA256SUMS"


@dataclass(frozen=True, slots=True)
class Step:
    """One command for ``sh``, and what it prints when all is well."""

    command: str
    shows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How to check a kit without this program.

    Attributes:
        files: What the commands read beside the kit, as (name, content), for one folder.
        kit: Steps that check the kit, in order, to be run where they were printed.
        weights: Steps that check the model files; empty where the kit pins none.
    """

    files: tuple[tuple[str, bytes], ...]
    kit: tuple[Step, ...]
    weights: tuple[Step, ...]


def explain(content: Content, *, kit: Path, folder: Path, model: Path | None = None) -> str:
    """Write the files of the proof of a verified kit, and give the commands as text; arguments as in :func:`prove`.

    Raises:
        UnreadableError: The folder holds a file of one of the names, or cannot be written.
    """
    proof = prove(content, kit=kit, folder=folder, model=model)
    write(proof, folder)
    return proof_text(proof)


def prove(content: Content, *, kit: Path, folder: Path, model: Path | None = None) -> Proof:
    """Lay out the signed bytes, the signatures and the keys of a verified kit, and the commands that check them.

    Args:
        content: The kit, verified.
        kit: Path of the archive, as the reader typed it.
        folder: Where the files will lie.
        model: Folder of the model files; ``None`` leaves a word to be replaced in the commands.
    """
    keys = tuple(dict.fromkeys(line.signed.signatures[0].key for line in content.lines))
    files = [(_numbered("key", place, "pem"), _pem(key)) for place, key in enumerate(keys)]
    steps = [_identify(folder, place, key) for place, key in enumerate(keys)]
    for place, line in enumerate(content.lines):
        signature = line.signed.signatures[0]
        files += [
            (_numbered("pae", place, "bin"), pae(line.signed.payload)),
            (_numbered("sig", place, "bin"), signature.value),
        ]
        steps += _line_steps(content, folder, place, keys.index(signature.key))
    sums = "".join(f"{file.sha256}  {file.path}\n" for file in content.statement.files)
    pins = "".join(f"{pin.sha256}  {pin.path}\n" for pin in content.model_files)
    files += [(_SUMS, sums.encode())] + ([(_MODEL_SUMS, pins.encode())] if pins else [])
    steps += _archive_steps(content, kit, folder)
    return Proof(files=tuple(files), kit=tuple(steps), weights=_weight_steps(content, folder, model) if pins else ())


def write(proof: Proof, folder: Path) -> None:
    """Write the files of a proof into a folder, which is made if missing; nothing that exists is overwritten.

    Raises:
        UnreadableError: The folder holds a file of one of the names, or cannot be written.
    """
    there = next((folder / name for name, _ in proof.files if (folder / name).exists()), None)
    if there is not None:
        raise UnreadableError(f"{there} exists already", hint="name an empty or a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in proof.files:
            with (folder / name).open("xb") as file:
                file.write(content)
    except OSError as error:
        raise UnreadableError(
            f"cannot write {error.filename or folder}: {error.strerror}", hint="name another folder"
        ) from error


def proof_text(proof: Proof) -> str:
    """Write the commands for people, each with what it prints when all is well."""
    parts = [_section("The same without our code:", proof.kit)]
    if proof.weights:
        parts.append(_section("And the model files, which are not in the kit:", proof.weights))
    return "\n".join(parts)


def _section(title: str, steps: tuple[Step, ...]) -> str:
    return f"{title}\n\n" + "".join(f"  {step.command}\n      {step.shows}\n" for step in steps)


def _identify(folder: Path, place: int, key: PublicKey) -> Step:
    digest = sha256(key.der).hexdigest()
    read = _words("openssl", "pkey", "-pubin", "-in", folder / _numbered("key", place, "pem"), "-outform", "DER")
    return Step(f"{read} | sha256sum", f"{digest}: the key; the file that you trust has to give the same")


def _line_steps(content: Content, folder: Path, place: int, key: int) -> list[Step]:
    """Check one line: its signature; that it names the archive; for a receipt, that the kit statement names it."""
    line = content.lines[place]
    message = folder / _numbered("pae", place, "bin")
    what = "the kit statement" if place == 0 else f"line {place + 1}, {_kind(line)}"
    inputs = ("-inkey", folder / _numbered("key", key, "pem"), "-rawin", "-in", message)
    signature = ("-sigfile", folder / _numbered("sig", place, "bin"))
    steps = [
        Step(
            _words("openssl", "pkeyutl", "-verify", "-pubin", *inputs, *signature),
            f"Signature Verified Successfully: the key signed {what}",
        )
    ]
    if content.statement.subject in {subject.sha256 for subject in line.statement.subjects}:
        steps.append(Step(_words("grep", "-c", content.statement.subject, message), "1: it names the kit's digest"))
    digest = sha256(line.signed.payload).hexdigest()
    if digest in content.statement.named:
        payload = f"{_words('tail', '-c', str(len(line.signed.payload)), message)} | sha256sum | cut -c1-64"
        named = _words("grep", "-c", "-f", "-", folder / _numbered("pae", 0, "bin"))
        steps.append(Step(f"{payload} | {named}", "1: and the kit statement names it"))
    return steps


def _archive_steps(content: Content, kit: Path, folder: Path) -> list[Step]:
    unpacked = folder / "kit"
    count = len(content.statement.files)
    return [
        Step(_words("sha256sum", kit), f"{content.statement.subject}: this archive is the one that is named"),
        Step(_words("unzip", "-q", kit, "-d", unpacked), "nothing: it is unpacked"),
        Step(_check_sums(unpacked, folder / _SUMS), "nothing: every file is the signed one"),
        Step(f"{_words('find', unpacked, '!', '-type', 'd')} | wc -l", f"{count}: and there is no other file"),
    ]


def _weight_steps(content: Content, folder: Path, model: Path | None) -> tuple[Step, ...]:
    digests = len({pin.sha256 for pin in content.model_files})
    sums = folder / _MODEL_SUMS
    signed = f"{_words('cut', '-c1-64', sums)} | {_words('grep', '-oFf', '-', folder / 'pae.bin')} | sort -u | wc -l"
    shows = "nothing: every model file is the pinned one"
    note = "" if model else f" ({MODEL_FOLDER}: put the folder here in which they lie)"
    return (
        Step(signed, f"{digests}: every pinned digest stands in the signed bytes"),
        Step(_check_sums(model or Path(MODEL_FOLDER), sums), f"{shows}{note}"),
    )


def _check_sums(where: Path, sums: Path) -> str:
    """Check a list of digests in a folder; the list is opened where the command was printed."""
    return f"({_words('cd', where)} && sha256sum --check --strict --quiet) < {_words(sums)}"


def _kind(line: Line) -> str:
    return "a receipt" if line.statement.predicate_type == RECEIPT_TYPE else "another statement"


def _pem(key: PublicKey) -> bytes:
    body = base64.b64encode(key.der).decode("ascii")
    return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n".encode("ascii")


def _numbered(stem: str, place: int, suffix: str) -> str:
    return f"{stem}.{suffix}" if place == 0 else f"{stem}-{place + 1}.{suffix}"


def _words(*words: str | Path) -> str:
    """Quote words for ``sh``; a path that begins with a dash is kept from being read as an option."""
    return shlex.join(
        f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words
    )
