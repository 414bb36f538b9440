"""Take out of a ledger what is said about one recipe now, run by run, with the raw files under it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.core.errors import EvidenceError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import read_raw
from dayzero.evidence.ledger import Ledger, split_torn
from dayzero.evidence.model import Claim, RawFile, Retraction
from dayzero.evidence.ports import RawStore
from dayzero.evidence.state import Retracted, Standing, Withdrawn
from dayzero.evidence.subject import recipe_digest
from dayzero.kit.model import Run
from dayzero_verify.strict_json import Json, StrictJsonError, loads

# Schemas of the files that bind a run's raw files together by their digests, and the member that lists those.
_BINDING = {
    "dayzero/bench-receipt/v1": "raw",
    "dayzero/gate-receipt/v1": "files",
    "dayzero/gate-task/v1": "raw",
    "dayzero/window-receipt/v1": "files",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """What a kit takes out of a ledger.

    Attributes:
        ledger: Its bytes, whole lines only: it is one chain, so all of it travels.
        runs: What is claimed about the recipe now, by the run that it was measured in.
        raw_files: The raw files under those claims, and what was filed in one go with them, as (digest, content).
        taken_back: Claims about the package or its recipe that were retracted or withdrawn; none of them is stated.
        elsewhere: How many other claims stand in the ledger, about something else.
    """

    ledger: bytes
    runs: tuple[Run, ...]
    raw_files: tuple[tuple[Sha256, bytes], ...]
    taken_back: tuple[Retraction, ...]
    elsewhere: int


def backing(package: Package, content: bytes, ledger: Ledger, store: RawStore) -> Backing:
    """Find what stands about a package's recipe.

    Args:
        package: The package; its recipe is what claims have to be about.
        content: The bytes of the ledger.
        ledger: The same, parsed.
        store: The raw files.

    Raises:
        EvidenceError: The raw file under a claim is gone.
        IntegrityError: A raw file was changed.
    """
    recipe, states = recipe_digest(package.recipe), ledger.standings()
    standing = [s.claim for s in states.values() if isinstance(s, Standing) and isinstance(s.claim, Claim)]
    claims = tuple(claim for claim in standing if claim.subject == recipe)
    records = ledger.raw_files()
    _need_filed(claims, records)
    bound = _bound(claims, records, store)
    return Backing(
        ledger=split_torn(content)[0],
        runs=tuple(_runs(claims, records, bound)),
        raw_files=_raw_files(claims, records, bound, store),
        taken_back=tuple(
            state.retraction
            for slug, state in states.items()
            if isinstance(state, Retracted | Withdrawn)
            and (slug.startswith(f"{package.name}/") or getattr(state.claim, "subject", None) == recipe)
        ),
        elsewhere=len(standing) - len(claims),
    )


@dataclass(frozen=True, slots=True)
class _Binding:
    """A file that names the raw files of one run, and where that run took place."""

    record: RawFile
    names: frozenset[str]
    environment: tuple[tuple[str, str], ...]


def _need_filed(claims: tuple[Claim, ...], records: Mapping[Sha256, RawFile]) -> None:
    for claim in claims:
        if claim.raw not in records:
            raise EvidenceError(
                f"the claim {claim.slug} rests on the raw file {claim.raw}, which was never filed",
                hint="File it, or take the claim back.",
            )


def _bound(claims: tuple[Claim, ...], records: Mapping[Sha256, RawFile], store: RawStore) -> tuple[_Binding, ...]:
    """Read the receipts of runs that name a raw file under these claims, or are one."""
    wanted = {claim.raw.hex for claim in claims}
    found = []
    for digest, record in records.items() if wanted else ():
        binding = _binding(record, _read_if_there(store, digest)) if record.name.endswith(".json") else None
        if binding is not None and wanted & {*binding.names, digest.hex}:
            found.append(binding)
    return tuple(found)


def _read_if_there(store: RawStore, digest: Sha256) -> bytes:
    """Read a raw file of anybody's; one that is not there can at least not bind a run."""
    try:
        return read_raw(store, digest)
    except EvidenceError:
        return b""


def _binding(record: RawFile, content: bytes) -> _Binding | None:
    try:
        document = loads(content)
    except StrictJsonError:
        return None
    if not isinstance(document, dict):
        return None
    member = _BINDING.get(str(document.get("schema")))
    listed = document.get(member) if member else None
    if not isinstance(listed, list):
        return None
    names = frozenset(str(entry.get("sha256")) for entry in listed if isinstance(entry, dict))
    return _Binding(record, names, _pairs(document.get("environment")))


def _pairs(environment: Json) -> tuple[tuple[str, str], ...]:
    members = environment if isinstance(environment, dict) else {}
    return tuple((name, str(value)) for name, value in members.items())


def _runs(claims: tuple[Claim, ...], records: Mapping[Sha256, RawFile], bound: tuple[_Binding, ...]) -> Iterator[Run]:
    """Give each claim to the run whose receipt names its raw file, else to the one run that was filed with it in one go."""
    by_run: dict[Sha256 | None, list[Claim]] = {}
    for claim in claims:
        owner = _owner(claim, records, bound)
        by_run.setdefault(owner.record.sha256 if owner else None, []).append(claim)
    for binding in bound:
        if binding.record.sha256 in by_run:
            owned = tuple(by_run[binding.record.sha256])
            yield Run(binding.record.name, binding.record.sha256, binding.environment, owned)
    if None in by_run:
        yield Run("", None, (), tuple(by_run[None]))


def _owner(claim: Claim, records: Mapping[Sha256, RawFile], bound: tuple[_Binding, ...]) -> _Binding | None:
    named = [one for one in bound if claim.raw == one.record.sha256 or claim.raw.hex in one.names]
    if named:
        return named[0]
    at = records[claim.raw].captured_at
    beside = [one for one in bound if one.record.captured_at == at]
    return beside[0] if len(beside) == 1 else None


def _raw_files(
    claims: tuple[Claim, ...], records: Mapping[Sha256, RawFile], bound: tuple[_Binding, ...], store: RawStore
) -> tuple[tuple[Sha256, bytes], ...]:
    under = {claim.raw for claim in claims} | {one.record.sha256 for one in bound}
    moments = {records[digest].captured_at for digest in under}
    chosen = [record.sha256 for record in records.values() if record.captured_at in moments]
    return tuple((digest, read_raw(store, digest)) for digest in chosen)
