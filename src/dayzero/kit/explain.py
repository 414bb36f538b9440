"""Show what is in a verified kit, and how to check the same without our code."""

import shlex
from dataclasses import dataclass

from dayzero_verify.dsse import pae
from dayzero_verify.kit import Content


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and what it shows when all is well."""

    command: str
    shows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How to check a kit with ``openssl``, ``sha256sum`` and ``unzip`` only.

    Attributes:
        files: What the commands read beside kit and key, as (name, content), for one folder.
        steps: The commands in order, to be run where they were printed.
    """

    files: tuple[tuple[str, bytes], ...]
    steps: tuple[Step, ...]


def prove_without_our_code(content: Content, *, kit: str, key: str, folder: str) -> Proof:
    """Write the signed bytes and signatures of a verified kit into plain files, and the commands that check them.

    Args:
        content: The kit, verified.
        kit: Path of the archive, as the reader typed it.
        key: Path of the public key that signed, as the reader typed it.
        folder: Where the files will lie.
    """
    files: list[tuple[str, bytes]] = []
    steps: list[Step] = []
    for number, line in enumerate(content.lines, start=1):
        suffix = "" if number == 1 else f"-{number}"
        files += [(f"pae{suffix}.bin", pae(line.signed.payload)), (f"sig{suffix}.bin", line.signed.signatures[0].value)]
        shown = "Signature Verified Successfully: the key signed these bytes"
        steps.append(Step(_openssl(key, f"{folder}/pae{suffix}.bin", f"{folder}/sig{suffix}.bin"), shown))
    digest = content.statement.subject
    sums = "".join(f"{file.sha256}  {file.path}\n" for file in content.statement.files)
    files.append(("SHA256SUMS", sums.encode("utf-8")))
    quoted_folder = shlex.quote(folder)
    unpacked = shlex.quote(f"{folder}/kit")
    steps += [
        Step(f"sha256sum {shlex.quote(kit)}", f"{digest}: what this archive is"),
        Step(f"grep -c {digest} {quoted_folder}/pae.bin", "1: the signed bytes name that digest"),
        Step(f"unzip -q {shlex.quote(kit)} -d {unpacked}", "nothing: it is unpacked"),
        Step(
            f"(cd {unpacked} && sha256sum --check --strict --quiet ../SHA256SUMS)",
            "nothing: every file is the signed one",
        ),
        Step(f"find {unpacked} -type f | wc -l", f"{len(content.statement.files)}: and there is no other file"),
    ]
    return Proof(files=tuple(files), steps=tuple(steps))


def _openssl(key: str, message: str, signature: str) -> str:
    words = ("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", message, "-sigfile", signature)
    return shlex.join(words)
