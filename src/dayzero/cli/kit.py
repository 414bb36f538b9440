"""``dayzero kit``: check a kit as its buyer would, and show what is in it."""

import sys
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.kit.explain import Proof, prove_without_our_code
from dayzero_verify.cli import report_text, run
from dayzero_verify.inputs import UnreadableError, examine_files, read_key
from dayzero_verify.kit import DEMO_WARNING, Content
from dayzero_verify.report import ExitCode

APP = cyclopts.App(
    name="kit",
    help=(
        "Can a stranger check it? Check a kit, and show what is in it.\n\n"
        "Both commands run dayzero-verify, and end with its exit codes: 0 verified, 2 usage, 3 undecided (an input cannot be "
        "read, or a required check was not made), 10 signature or key, 12 bytes differ, 13 a file or receipt is extra or "
        "missing, 14 unsafe archive, 15 wrong statement or another kit, 30 the verifier failed."
    ),
)

KitPath = Annotated[Path, Parameter(help="The kit's archive.")]
Keys = Annotated[
    tuple[Path, ...],
    Parameter(name="--key", negative=(), help="A public key in PEM that you trust, from somewhere else than the kit."),
]
Attestation = Annotated[
    Path | None,
    Parameter(name="--attestation", help="The signed statements; default: KIT with .intoto.jsonl for .zip."),
]


@APP.command
def verify(
    kit: KitPath,
    *,
    key: Keys = (),
    attestation: Attestation = None,
    require: Annotated[
        tuple[str, ...], Parameter(name="--require", negative=(), help="Fail where this check was not made.")
    ] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Check signature, archive and every byte of a kit; ends with the exit codes of dayzero-verify, not of dayzero."""
    _require_key(key)
    words = [f"--key={path}" for path in key] + [f"--require={check}" for check in require]
    words += [f"--attestation={attestation}"] if attestation else []
    words += ["--json"] if output_format == "json" else []
    return run([*words, "--", str(kit)], program="dayzero kit verify")


@APP.command
def explain(
    kit: KitPath,
    *,
    key: Keys = (),
    attestation: Attestation = None,
    output: Annotated[
        Path | None, Parameter(name=("--output", "-o"), help="A folder for the signed bytes; made if missing.")
    ] = None,
    output_format: OutputFormat = "text",
) -> int:
    """List what is in a verified kit, and how to check it with openssl and sha256sum alone.

    Ends with the exit codes of dayzero-verify; nothing is listed unless the kit is verified.
    """
    _require_key(key)
    try:
        examination = examine_files(kit, attestation, key)
        trusted = {read_key(path).raw: path for path in reversed(key)}
    except UnreadableError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return ExitCode.UNREADABLE
    if examination.content is None:
        print(report_text(examination.report, kit), end="", file=sys.stderr)
        return examination.report.exit_code
    content = examination.content
    signer = trusted[content.lines[0].signed.signatures[0].key.raw]
    folder = "DIR" if output is None else str(output)
    proof = prove_without_our_code(content, kit=str(kit), key=str(signer), folder=folder)
    if output is not None:
        _write(proof, output)
    if output_format == "json":
        print_json(_document(content, proof, written=output is not None))
    else:
        _print(content, proof, written=output is not None)
    return ExitCode.VERIFIED


def _require_key(key: tuple[Path, ...]) -> None:
    if not key:
        raise InputError(
            "a kit is checked against a public key that you trust, and none was given",
            hint="Give --key KEY.pub.pem; get it from its owner, not from where the kit came from.",
        )


def _write(proof: Proof, folder: Path) -> None:
    """Write the files of the proof; nothing that exists is overwritten."""
    there = [folder / name for name, _ in proof.files if (folder / name).exists()]
    if there:
        raise InputError(f"{there[0]} exists already", hint="Give -o an empty or a new folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in proof.files:
            with (folder / name).open("xb") as file:
                file.write(content)
    except OSError as error:
        raise InputError(f"cannot write {error.filename}: {error.strerror}", hint="Give -o another folder.") from error


def _print(content: Content, proof: Proof, *, written: bool) -> None:
    files = {entry.path: entry for entry in content.statement.files}
    print(f"{content.statement.name}: verified, {len(files)} files, zero weight bytes")
    if content.statement.demo:
        print(DEMO_WARNING)
    print()
    for path in sorted(files):
        print(f"{files[path].mode}  {files[path].size:>9}  {path}")
    print("\nThe same without our code:\n")
    if not written:
        print("(give -o DIR: it writes the files that these commands read)\n")
    for step in proof.steps:
        print(f"  {step.command}\n      {step.shows}")


def _document(content: Content, proof: Proof, *, written: bool) -> dict[str, object]:
    return {
        "schema": "dayzero/kit-explanation/v1",
        "kit": content.statement.name,
        "sha256": content.statement.subject,
        "demo_key": content.statement.demo,
        "files": [
            {"path": entry.path, "size": entry.size, "sha256": entry.sha256, "mode": entry.mode}
            for entry in content.statement.files
        ],
        "statements": [line.statement.predicate_type for line in content.lines],
        "written": [name for name, _ in proof.files] if written else [],
        "steps": [{"command": step.command, "shows": step.shows} for step in proof.steps],
    }
