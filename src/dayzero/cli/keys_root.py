"""``dayzero keys found``, ``rotate``, ``cosign``: say whose keys do what, together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dayzero.attestation.trust_model import Holders, Lifetimes, Revocation
from dayzero.attestation.trust_root import RootChange
from dayzero.cli.keys_text import print_result
from dayzero.cli.output import OutputFormat
from dayzero.core.errors import InputError
from dayzero.wiring import clock
from dayzero.wiring import trust as wiring
from dayzero.wiring.trust import Published, Waiting, public_keys

PublicKeys: TypeAlias = Annotated[tuple[Path, ...], Parameter(negative=())]
Sign: TypeAlias = Annotated[
    tuple[Path, ...],
    Parameter(name="--sign", negative=(), help="A private key, NAME.key.pem; give every one that is at hand."),
]
_FIRST_LOG = "dayzero-log"


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Days until each role expires.

    Attributes:
        root_days: Of the root; its holders have to meet that often.
        targets_days: Of the list of kits.
        retractions_days: Of the list of what was taken back.
        snapshot_days: Of the snapshot, which 'dayzero keys refresh' renews.
        timestamp_days: Of the timestamp, which 'dayzero keys refresh' renews.
    """

    root_days: int = 365
    targets_days: int = 90
    retractions_days: int = 90
    snapshot_days: int = 7
    timestamp_days: int = 2


def found(  # noqa: PLR0913  (each is an option of its own)
    folder: Path,
    *,
    root: PublicKeys,
    release: PublicKeys,
    retraction: PublicKeys,
    online: Path,
    threshold: int = 2,
    log: str = "",
    days: Days = Days(),
    sign: Sign = (),
    output_format: OutputFormat = "text",
) -> int:
    """Found the folder that buyers check kits against: FOLDER/trust.json and FOLDER/log.

    It comes into force with the signatures of enough root keys and of the release, retraction and online keys. What is not
    at hand can be added with 'dayzero keys cosign' (exit 3 until then).

    Args:
        folder: A new folder; it holds nothing secret, and is published as it is.
        root: Public root key; give one for each holder.
        release: Public key that signs kits and their list; can be given again.
        retraction: Public key that takes back; can be given again.
        online: Public key that says daily that all this is the newest, and signs the log.
        threshold: How many root keys have to sign.
        log: Name of the log, best the address where it will lie, such as example.com/kits/log; default: one from the key.
        days: Days until each role expires.
        sign: A private key.
        output_format: How the result is written to stdout.
    """
    now, (daily,) = clock.now(), public_keys((online,))
    holders = Holders(
        root=public_keys(root),
        threshold=threshold,
        release=public_keys(release),
        retraction=public_keys(retraction),
        online=daily,
    )
    lifetimes = Lifetimes(
        root=days.root_days,
        targets=days.targets_days,
        retractions=days.retractions_days,
        snapshot=days.snapshot_days,
        timestamp=days.timestamp_days,
    )
    name = log or f"{_FIRST_LOG}-{daily.keyid[:8]}"
    result = wiring.found(folder, holders, name, lifetimes, sign=sign, now=now)
    return print_result(result, _in_force(result, folder), folder, output_format, now)


def rotate(  # noqa: PLR0913  (each is an option of its own)
    folder: Path,
    *,
    root: PublicKeys = (),
    release: PublicKeys = (),
    retraction: PublicKeys = (),
    online: Path | None = None,
    threshold: int = 0,
    revoke: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    reason: str = "",
    not_after: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    sign: Sign = (),
    output_format: OutputFormat = "text",
) -> int:
    """Make the next root: other keys, fewer, or the same for another year.

    A role's option names its whole new set of keys; a role that is not named keeps its keys. The next root needs enough
    signatures of the old root's keys and of its own, and one of each key that has to sign something new. What is not at hand
    can be added with 'dayzero keys cosign' (exit 3 until then).

    Args:
        folder: The published folder.
        root: Public root key; give one for each holder.
        release: Public key that signs kits and their list; give all that stay.
        retraction: Public key that takes back; give all that stay.
        online: The new online key; write the kits' proofs again afterwards ('dayzero keys release' without keys).
        threshold: How many root keys have to sign; default: as many as now.
        revoke: Id of a key that is lost or stolen: from now on nothing counts that it signed; can be given again.
        reason: Why it is revoked; it is published.
        not_after: KEYID=TIME, such as ...=2027-03-01T00:00:00Z: until when a key's signatures count; can be given again.
        sign: A private key.
        output_format: How the result is written to stdout.
    """
    now = clock.now()
    if revoke and not reason.strip():
        raise InputError("a key is revoked for a reason, and buyers read it", hint="Give --reason.")
    change = RootChange(
        root=public_keys(root),
        threshold=threshold,
        release=public_keys(release),
        retraction=public_keys(retraction),
        online=public_keys((online,) if online else ()),
        revoked=tuple(Revocation(keyid=keyid, at=now, reason=reason.strip()) for keyid in revoke),
        not_after=tuple(_end(word) for word in not_after),
    )
    result = wiring.rotate(folder, change, sign=sign, now=now)
    return print_result(result, _in_force(result, folder), folder, output_format, now)


def cosign(folder: Path, *, sign: Sign, output_format: OutputFormat = "text") -> int:
    """Sign the root that waits in a folder; look at it with 'dayzero keys show' first. With the last signature it is in force.

    Args:
        folder: The published folder.
        sign: A private key.
        output_format: How the result is written to stdout.
    """
    now = clock.now()
    result = wiring.cosign(folder, sign=sign, now=now)
    return print_result(result, _in_force(result, folder), folder, output_format, now)


def _in_force(result: Published | Waiting, folder: Path) -> list[str]:
    if isinstance(result, Waiting):
        return []
    return [
        f"root {result.document.root.version} is in force in {folder}",
        f"root fingerprint {result.trust.root}",
        "Publish it where buyers look before they trust; the fingerprints of earlier roots stay good.",
    ]


def _end(word: str) -> tuple[str, str]:
    keyid, separator, time = word.partition("=")
    if not separator:
        raise InputError(f"{word!r} is not KEYID=TIME", hint="Write --not-after KEYID=2027-03-01T00:00:00Z.")
    return keyid, time
