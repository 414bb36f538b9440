"""Pack what a bring-up found: one kit, its two statements, signed."""

from dataclasses import dataclass

from dayzero.attestation.envelope import sign_statements
from dayzero.attestation.ports import Signer
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim, NotMeasured
from dayzero.evidence.state import Standing
from dayzero.kit.assemble import assemble
from dayzero.kit.model import Kit, KitContents
from dayzero.kit.statements import Measurement, kit_statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A kit and its attestation: signed statements, one a line, the kit's own first."""

    kit: Kit
    attestation: bytes


def pack(
    contents: KitContents, ledger: Ledger, recipe: Sha256, environment: tuple[tuple[str, str], ...], signer: Signer
) -> Packed:
    """Assemble and sign a kit.

    The receipt holds the claims that stand now and were made about this package; none that was withdrawn.

    Args:
        contents: What goes into the archive.
        ledger: The ledger whose bytes are among the contents.
        recipe: Digest of the recipe that was measured.
        environment: The machine, as ordered (name, value) pairs.
        signer: The key.

    Raises:
        EvidenceError: A claim of the package has no raw file in the contents, or is about another recipe.
    """
    package = contents.package
    kit = assemble(contents)
    measurement = Measurement(
        workload=package.workload,
        claims=standing_claims(package, ledger),
        not_measured=tuple(entry.record for entry in ledger.entries if isinstance(entry.record, NotMeasured)),
        environment=environment,
    )
    statements = kit_statements(kit, package, recipe, measurement, signer.kind)
    return Packed(kit=kit, attestation=sign_statements(statements, signer))


def standing_claims(package: Package, ledger: Ledger) -> tuple[Claim, ...]:
    """List a package's claims on raw files that stand now, in the order in which they were first made."""
    states = ledger.standings()
    return tuple(
        state.claim
        for slug, state in states.items()
        if slug.startswith(f"{package.name}/") and isinstance(state, Standing) and isinstance(state.claim, Claim)
    )
