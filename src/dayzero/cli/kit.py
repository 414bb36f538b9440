"""``dayzero kit``: check a kit as its buyer would, and show what is in it."""

import sys
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero_verify.cli import report_text
from dayzero_verify.explain import Proof, Step, proof_text, prove, write
from dayzero_verify.inputs import TrustFile, UnreadableError, examine_files
from dayzero_verify.kit import DEMO_WARNING, Content
from dayzero_verify.report import ExitCode

APP = cyclopts.App(
    name="kit",
    help=(
        "Can a stranger check it? Check a kit, and show what is in it.\n\n"
        "verify and explain run dayzero-verify, and end with its exit codes: 0 verified, 2 usage, 3 undecided (an input cannot "
        "be read, or a required check was not made), 10 signature or key, 11 key revoked or expired, 12 bytes differ, 13 a file "
        "or receipt is extra or missing, 14 unsafe archive, 15 wrong statement or another kit, 16 downgrade, 17 retracted, "
        "18 stale trust, 19 weights differ, 20 weights incomplete, 21 deploy files or a server differ from the launch, 22 a "
        "value does not re-extract, 30 the verifier failed."
    ),
)

APP.command("dayzero.cli.kit_build:build", name="build")
APP.command("dayzero.cli.kit_build:sign", name="sign")
APP.command("dayzero.cli.kit_verify:verify", name="verify")
APP.command("dayzero.cli.kit_registry:push", name="push")
APP.command("dayzero.cli.kit_registry:pull", name="pull")

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
def explain(  # noqa: PLR0913  (two inputs of the proof, its place, and how it is printed)
    kit: KitPath,
    *,
    key: Keys = (),
    trust: Annotated[
        Path | None, Parameter(name="--trust", help="A trust document, in place of a key; it follows from --root.")
    ] = None,
    root: Annotated[
        str | None, Parameter(name="--root", help="The fingerprint of a root in the trust document.")
    ] = None,
    attestation: Attestation = None,
    model: Annotated[
        Path | None,
        Parameter(name="--model", help="The folder of the model files, for the command that checks them."),
    ] = None,
    output: Annotated[
        Path | None, Parameter(name=("--output", "-o"), help="A folder for the signed bytes; made if missing.")
    ] = None,
    output_format: OutputFormat = "text",
) -> int:
    """List what is in a verified kit, and how to check it with openssl and sha256sum alone.

    Ends with the exit codes of dayzero-verify; nothing is listed unless the kit is verified.
    """
    authority = _authority(key, trust, root)
    try:
        examination = examine_files(kit, attestation, authority)
        if examination.content is None:
            print(report_text(examination.report, kit), end="", file=sys.stderr)
            return examination.report.exit_code
        proof = prove(examination.content, kit=kit, folder=output or Path("DIR"), model=model)
        if output is not None:
            write(proof, output)
    except UnreadableError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return ExitCode.UNREADABLE
    if output_format == "json":
        print_json(_document(examination.content, proof, written=output is not None))
    else:
        _print(examination.content, proof, written=output is not None)
    return ExitCode.VERIFIED


def _authority(key: tuple[Path, ...], trust: Path | None, root: str | None) -> tuple[Path, ...] | TrustFile:
    if bool(key) == (trust is not None):
        raise InputError(
            "a kit is checked against a public key or a trust document: give one of --key and --trust",
            hint="Give --key KEY.pub.pem, or --trust trust.json and --root; from the owner, not from where the kit came from.",
        )
    if (trust is None) != (root is None):
        raise InputError(
            "--trust and --root go together: without --root the document vouches for itself",
            hint="Give --trust trust.json --root FINGERPRINT.",
        )
    return key if trust is None or root is None else TrustFile(path=trust, root=root.lower())


def _print(content: Content, proof: Proof, *, written: bool) -> None:
    files = {entry.path: entry for entry in content.statement.files}
    print(f"{content.statement.name}: verified, {len(files)} files, zero weight bytes")
    if content.statement.demo:
        print(DEMO_WARNING)
    print()
    for path in sorted(files):
        print(f"{files[path].mode}  {files[path].size:>9}  {path}")
    if not written:
        print("\n(give -o DIR: it writes the files that these commands read)")
    print(f"\n{proof_text(proof)}", end="")


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
        "steps": _steps(proof.kit),
        "weight_steps": _steps(proof.weights),
    }


def _steps(steps: tuple[Step, ...]) -> list[dict[str, str]]:
    return [{"command": step.command, "shows": step.shows} for step in steps]
