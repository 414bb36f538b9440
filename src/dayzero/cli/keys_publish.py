"""``dayzero keys release``, ``retract``, ``refresh``: the daily work in a published folder."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dayzero.attestation.retraction import Retracted, RetractedClaim, RetractedReceipt, TakenBack
from dayzero.cli.keys_root import Sign
from dayzero.cli.keys_text import print_result
from dayzero.cli.output import OutputFormat
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.wiring import clock
from dayzero.wiring.releases import listed_kit, release, take_back
from dayzero.wiring.trust import published_in, refresh


def release_kit(
    folder: Path,
    kit: Path,
    *,
    min_version: str = "",
    sign: Sign = (),
    output_format: OutputFormat = "text",
) -> int:
    """List a signed kit, record it in the log, and write the log's proof beside it.

    The kit is verified first, and again as a buyer will verify it, before anything is written. For a kit that is released
    already no key is needed: it gets its proof again.

    Args:
        folder: The published folder.
        kit: NAME-VERSION.kit.zip, its signed statements beside it.
        min_version: The oldest version of this kit that may still be served.
        sign: A private key: a release key, and the online key.
        output_format: How the result is written to stdout.
    """
    now = clock.now()
    done = release(folder, kit, min_version, sign=sign, now=now)
    said = [
        f"released {done.kit.kit} {done.kit.version}: record {done.record} of the log",
        f"wrote {done.proof}",
        f"publish {folder}, the kit, its attestation and its proof; a buyer runs:",
        f"  dayzero-verify {kit.name} --trust trust.json --root {done.published.trust.root}",
    ]
    return print_result(done.published, said, folder, output_format, now)


def retract(  # noqa: PLR0913  (each is an option of its own)
    folder: Path,
    *,
    reason: str,
    kit: str = "",
    receipt: str = "",
    claim: str = "",
    raw: str = "",
    kind: Literal["retract", "withdraw"] = "retract",
    replaced_by: str = "",
    effective: str = "",
    sign: Annotated[
        tuple[Path, ...],
        Parameter(name="--sign", negative=(), help="A private key: a retraction key, and the online key."),
    ] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Take a kit, a receipt or a claim back: whoever has a fresh trust.json refuses the kits that it is about (exit 17).

    Nothing is deleted, and a retraction cannot be taken back. Give one of --kit, --receipt and --claim.

    Args:
        folder: The published folder.
        reason: Why; it is published.
        kit: A kit that was released, NAME-VERSION.
        receipt: Digest of a receipt's payload, as the kit statement names it.
        claim: Handle of a claim (PACKAGE/ID); give --raw with it.
        raw: Digest of the raw file under the claim; 'dayzero evidence show' prints it.
        kind: It should not have been published (retract), or it is no longer asserted (withdraw).
        replaced_by: What to use in its place, such as a newer version.
        effective: Since when, as 2026-11-30T12:00:00Z; default: now.
        sign: A private key.
        output_format: How the result is written to stdout.
    """
    now = clock.now()
    what, name = _retracted(folder, kit, receipt, claim, raw)
    taken = TakenBack(what=what, kind=kind, reason=reason, replaced_by=replaced_by)
    published = take_back(folder, taken, effective=effective or now, sign=sign, now=now)
    word = "retracted" if kind == "retract" else "withdrawn"
    said = [f"{name} is {word}: {reason}", f"publish {folder} now; who has an older trust.json does not know yet"]
    return print_result(published, said, folder, output_format, now)


def refresh_folder(folder: Path, *, sign: Sign, output_format: OutputFormat = "text") -> int:
    """Say again that all this is the newest; run it daily, with the online key.

    With a release key the list of kits gets its full time again too, with a retraction key the list of what was taken back.

    Args:
        folder: The published folder.
        sign: A private key: the online key, and whose list to renew.
        output_format: How the result is written to stdout.
    """
    now = clock.now()
    published = refresh(folder, sign=sign, now=now)
    until = published.document.timestamp.signed["expires"]
    return print_result(published, [f"fresh until {until}; publish {folder}"], folder, output_format, now)


def _retracted(folder: Path, kit: str, receipt: str, claim: str, raw: str) -> tuple[Retracted, str]:
    match (bool(kit), bool(receipt), bool(claim), bool(raw)):
        case (True, False, False, False):
            found = listed_kit(folder, published_in(folder).document, kit)
            return found, f"the kit {found.archive}"
        case (False, True, False, False):
            return RetractedReceipt(Sha256(receipt)), f"the receipt {receipt}"
        case (False, False, True, True):
            return RetractedClaim(claim, Sha256(raw)), f"the claim {claim}"
        case _:
            raise InputError(
                "one thing is taken back at a time",
                hint="Give --kit NAME-VERSION, or --receipt SHA256, or --claim SLUG with --raw SHA256.",
            )
