"""The options by which an attempt of a gate is filed as evidence about a package."""

from dataclasses import dataclass
from pathlib import Path

import cyclopts

from dayzero.core.errors import InputError
from dayzero.evidence.model import Claim
from dayzero.wiring import definitions
from dayzero.wiring.gate_filing import GateFiling


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FiledUnder:
    """Where the attempt is filed.

    Attributes:
        package: Package that B serves, by its name, folder or file; needs --root.
        root: Repository whose ledger takes every attempt as it begins and its verdict as it ends; needs --package.
    """

    package: str = ""
    root: Path | None = None

    def filing(self, gate: str, command: str) -> GateFiling | None:
        """Say where attempts of a gate are filed; ``None`` where they are not.

        Args:
            gate: The handle of the claim under the package's name.
            command: What is run; the package is added.

        Raises:
            InputError: One option was given without the other, or the package is not there.
        """
        if bool(self.package) is (self.root is None):
            raise InputError("--package and --root go together", hint="Give both to file the attempt, or neither.")
        if self.root is None:
            return None
        package = definitions.package(self.package)
        return GateFiling(
            root=self.root, package=package, gate=gate, command=f"{command} --package {package.name} --root ."
        )


def claimed(claim: Claim) -> str:
    """Say what was filed."""
    return f"claimed: {claim.slug}: {claim.value} ({claim.label})"
