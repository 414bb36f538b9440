"""Say what a published folder holds: for people, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dayzero.adapters.trust_files import DRAFT
from dayzero.attestation.trust_roles import RETRACTIONS, kits_of, revocations_of, role_of
from dayzero.attestation.trust_summary import RoleSummary, roles_of
from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.wiring.trust import Published, Waiting
from dayzero_verify.keys import PublicKey
from dayzero_verify.retraction import Retraction
from dayzero_verify.times import format_time

SCHEMA = "dayzero/keys/v1"


def print_result(
    result: Published | Waiting, said: Sequence[str], folder: Path, output_format: OutputFormat, now: str
) -> int:
    """Print what a command made of a folder, and give its exit code: a root that waits is not decided yet.

    Args:
        result: The folder, or the root that waits.
        said: What happened, where the result is in force.
        folder: The folder.
        output_format: How the result is written to stdout.
        now: The time.
    """
    waits = isinstance(result, Waiting)
    if output_format == "json":
        document = waiting_document(result) if isinstance(result, Waiting) else published_document(result, now)
        print_json({"schema": SCHEMA, "trust": None if waits else document, "waiting": document if waits else None})
    elif isinstance(result, Waiting):
        print("\n".join(waiting_lines(result, folder)))
    else:
        print("\n".join([*said, *_soon(roles_of(result.document, now))]))
    return UNDECIDED if waits else PROVEN


def published_lines(published: Published, now: str) -> list[str]:
    """Say everything, a line each."""
    document, trust = published.document, published.trust
    lines = [f"issued {format_time(trust.issued)}, {_count(len(published.log.records), 'record')} in the log"]
    lines += [f"root fingerprint {trust.root}", ""]
    for role in roles_of(document, now):
        lines += [_role_line(role), *(f"    {keyid}" for keyid in role.keyids)]
    lines += ["", *_section("kits", [_kit_line(*entry) for entry in _kits(published)])]
    names = {sha256: f"{kit} {version}" for _, kit, version, _, sha256 in _kits(published)}
    lines += _section("taken back", [_retraction_line(entry, names) for entry in trust.retractions])
    gone = [f"{entry.keyid} at {entry.at}: {entry.reason}" for entry in revocations_of(document.root)]
    return lines + _section("revoked keys", gone)


def published_document(published: Published, now: str) -> dict[str, object]:
    """Say everything in JSON members."""
    document, trust = published.document, published.trust
    return {
        "issued": format_time(trust.issued),
        "fingerprint": trust.root,
        "log": {"key": trust.log.vkey if trust.log else None, "records": len(published.log.records)},
        "roles": [
            {
                "role": role.role,
                "keyids": list(role.keyids),
                "threshold": role.threshold,
                "version": role.version,
                "expires": role.expires,
                "days": role.days,
            }
            for role in roles_of(document, now)
        ],
        "kits": [
            {"archive": archive, "kit": kit, "version": version, "min_version": least, "sha256": sha256}
            for archive, kit, version, least, sha256 in _kits(published)
        ],
        "retractions": [
            {
                "what": entry.what,
                "word": entry.word,
                "slug": entry.slug,
                "digests": list(entry.digests),
                "reason": entry.reason,
                "effective": format_time(entry.effective),
                "replaced_by": entry.replaced_by,
            }
            for entry in trust.retractions
        ],
        "ended_keys": [
            {"keyid": keyid, "at": format_time(end.at), "reason": end.reason} for keyid, end in trust.ends.items()
        ],
    }


def waiting_lines(waiting: Waiting, folder: Path) -> list[str]:
    """Say what a root would change, what it waits for, and what to do."""
    root = waiting.draft.root
    lines = [f"root {root.version} is not in force: it waits in {folder / DRAFT}", "", "it says"]
    for role, threshold, keys in _draft_roles(waiting):
        lines += [f"    {_named(role)}: {threshold} of", *(f"        {key.keyid}" for key in keys)]
    lines += [f"    revoked: {entry.keyid} at {entry.at}: {entry.reason}" for entry in revocations_of(root)]
    lines += ["", "it waits for"]
    for shortage in waiting.shortages:
        whose = "its own root keys" if shortage.version == root.version else f"the keys of root {shortage.version}"
        lines += [f"    {_count(shortage.missing, 'signature')} by {whose}, one of"]
        lines += [f"        {keyid}" for keyid in shortage.able]
    for role, keys in waiting.keys.items():
        lines += [f"    the key of {_named(role)}, with the last signature", *(f"        {key.keyid}" for key in keys)]
    return [*lines, "", f"next: dayzero keys cosign {folder} --sign NAME.key.pem"]


def waiting_document(waiting: Waiting) -> dict[str, object]:
    """Say the same in JSON members."""
    return {
        "version": waiting.draft.root.version,
        "fingerprint": waiting.draft.root.fingerprint,
        "roles": [
            {"role": role, "threshold": threshold, "keyids": [key.keyid for key in keys]}
            for role, threshold, keys in _draft_roles(waiting)
        ],
        "signatures_missing": [
            {"root": shortage.version, "missing": shortage.missing, "keyids": list(shortage.able)}
            for shortage in waiting.shortages
        ],
        "keys_missing": {role: [key.keyid for key in keys] for role, keys in waiting.keys.items()},
    }


def _draft_roles(waiting: Waiting) -> Iterator[tuple[str, int, tuple[PublicKey, ...]]]:
    for role in ("root", "targets", "timestamp"):
        said = role_of(waiting.draft.root, role)
        yield role, said.threshold, said.keys
    yield RETRACTIONS, 1, waiting.draft.retraction


def _soon(roles: Sequence[RoleSummary]) -> Iterator[str]:
    """Say which of the roles that need a person with a key at hand ends within a month."""
    for role in roles[:3]:
        if role.days <= _MONTH_DAYS:
            yield f"note: {role.role} expires in {_count(role.days, 'day')}; {_RENEW[role.role]}"


_MONTH_DAYS = 30
# What TUF calls a role, and the option that names its keys.
_HOLDERS = {"targets": "release", "snapshot": "online", "timestamp": "online", "snapshot and timestamp": "online"}
_RENEW = {
    "root": "renew it with 'dayzero keys rotate'",
    "targets": "renew it with 'dayzero keys refresh' and the release key",
    "retractions": "renew it with 'dayzero keys refresh' and the retraction key",
}


def _named(role: str) -> str:
    return f"{role} ({_HOLDERS[role]})" if role in _HOLDERS else role


def _role_line(role: RoleSummary) -> str:
    left = f"{_count(role.days, 'day')} left" if role.days >= 0 else "EXPIRED"
    return f"{_named(role.role):<18} version {role.version}, until {role.expires} ({left}), {role.threshold} of"


def _kits(published: Published) -> list[tuple[str, str, str, str, str]]:
    return [
        (entry.archive, entry.kit, entry.version, entry.minimum, entry.sha256) for entry in kits_of(published.document)
    ]


def _kit_line(_: str, kit: str, version: str, least: str, sha256: str) -> str:
    return f"{kit} {version}  sha256 {sha256}" + (f"  none older than {least}" if least else "")


def _retraction_line(entry: Retraction, names: Mapping[str, str]) -> str:
    name = f"{entry.what} {entry.slug or names.get(entry.digests[0], entry.digests[0])}"
    instead = f"; replaced by {entry.replaced_by}" if entry.replaced_by else ""
    return f"{name} {entry.word} {format_time(entry.effective)}: {entry.reason}{instead}"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}: {'none' if not lines else ''}".rstrip(), *(f"    {line}" for line in lines)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
