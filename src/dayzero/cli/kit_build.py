"""``dayzero kit build`` and ``sign``: make a kit from a package definition, and stand behind it."""

import shlex
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.sites import site_of
from dayzero.wiring import kit_build


def build(  # noqa: PLR0913  (each argument is one option)
    package: str,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dist"),
    evidence: Path | None = None,
    audit: Path | None = None,
    target: Annotated[tuple[str, ...], Parameter(name=["--target", "-t"], negative="")] = (),
    site: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    min_version: str = "",
    output_format: OutputFormat = "text",
) -> int:
    """Build NAME-VERSION.kit.zip from a package definition, and the draft of the statements about it, not signed yet.

    The same definition, evidence and options give the same bytes. Nothing is overwritten. Exit code 0: built; 2: the
    definition, the evidence or an option cannot be used; 4: evidence was changed.

    Args:
        package: Name, folder or file of the package.
        output: Folder for the archive and its draft.
        evidence: Folder of evidence (ledger.jsonl and raw/); by default that of the repository here. It may be empty.
        audit: Report that dayzero audit wrote as JSON; it becomes a statement about the kit.
        target: A deploy target, may be given several times; by default every one that can carry the launch.
        site: What only your site knows, as NAME=VALUE; may be given several times.
        min_version: Oldest version of the kit that should still be served.
        output_format: How the result is written to stdout.
    """
    order = kit_build.Order(
        package=package,
        folder=output,
        evidence=evidence,
        audit=audit,
        targets=target,
        site=site_of(site),
        min_version=min_version,
    )
    built = kit_build.build_kit(order)
    if output_format == "json":
        print_json(_document(built))
    else:
        _print(built)
    return PROVEN


def sign(
    kit: Path,
    *,
    key: Annotated[tuple[Path, ...], Parameter(name="--key", negative="")] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Sign the draft beside a kit and write NAME-VERSION.kit.intoto.jsonl; the verifier has to accept it before it is written.

    Nothing is overwritten. Exit code 0: signed and verified; 2: a file cannot be used; 4: the draft is about another archive,
    or what the kit says does not come out of it again.

    Args:
        kit: The archive; its draft lies beside it.
        key: A private Ed25519 key in PEM; may be given several times, each signs every statement.
        output_format: How the result is written to stdout.
    """
    signed = kit_build.sign_file(kit, key)
    if output_format == "json":
        print_json(
            {
                "schema": "dayzero/kit-signing/v1",
                "kit": signed.kit,
                "attestation": str(signed.attestation),
                "statements": list(signed.statements),
                "keyids": list(signed.keyids),
                "demo_key": signed.demo,
            }
        )
        return PROVEN
    print(f"signed {signed.kit}: {signed.attestation}")
    for statement in signed.statements:
        print(f"  {statement}")
    for keyid in signed.keyids:
        print(f"by {keyid}{', a demo key: it proves integrity, not identity' if signed.demo else ''}")
    print(f"next: dayzero kit verify {shlex.quote(str(kit))} --key KEY.pub.pem")
    return PROVEN


def _document(built: kit_build.BuiltKit) -> dict[str, object]:
    kit, contents = built.packed.kit, built.contents
    return {
        "schema": "dayzero/kit-build/v1",
        "kit": {"name": kit.name, "version": kit.version},
        "archive": str(built.archive),
        "draft": str(built.draft),
        "sha256": kit.sha256.hex,
        "size": len(kit.archive),
        "files": len(kit.files),
        "weight_bytes": built.weight_bytes,
        "targets": list(contents.targets),
        "not_carried": [{"target": name, "reason": why} for name, why in contents.not_carried],
        "left_out": list(contents.left_out),
        "claims": [claim.slug for run in contents.runs for claim in run.claims],
        "claims_elsewhere": built.elsewhere,
        "taken_back": [
            {"slug": event.slug, "kind": event.kind, "reason": event.reason, "at": event.at}
            for event in contents.taken_back
        ],
        "not_measured": [{"topic": entry.topic, "why": entry.why} for entry in contents.package.unmeasured],
        "statements": [said.predicate_type for said in (built.packed.draft.kit, *built.packed.draft.others)],
    }


def _print(built: kit_build.BuiltKit) -> None:
    kit, contents = built.packed.kit, built.contents
    print(
        f"{built.archive}: {len(kit.archive)} bytes, {len(kit.files)} files, {built.weight_bytes} weight bytes counted"
    )
    print(f"sha256 {kit.sha256}")
    print(f"deploy targets: {', '.join(contents.targets)}")
    for name, why in contents.not_carried:
        print(f"  {name}: not in it: {why}")
    for name in contents.left_out:
        print(f"  {name}: not in it: not asked for")
    for run in contents.runs:
        print(f"measured: {_claims(len(run.claims))}{f' of the run {run.name}' if run.name else ''}")
    if not contents.runs:
        print("not measured: the ledger claims nothing about this recipe, and the kit states no number")
    if built.elsewhere:
        print(f"  {_claims(built.elsewhere)} of the ledger about something else: not stated")
    for event in contents.taken_back:
        print(f"  {event.slug}: {event.word} on {event.at}, not stated: {event.reason}")
    for entry in contents.package.unmeasured:
        print(f"not measured: {entry.topic}: {entry.why}")
    statements = ", ".join(said.predicate_type for said in (built.packed.draft.kit, *built.packed.draft.others))
    print(f"draft, not signed yet: {built.draft}\n  {statements}")
    print(f"next: dayzero kit sign {shlex.quote(str(built.archive))} --key KEY.pem")


def _claims(number: int) -> str:
    return f"{number} claim{'' if number == 1 else 's'}"
