"""Put together what a kit is made from, when it is built and when it is checked again; and read raw files out of one."""

from collections.abc import Mapping

from dayzero.catalog.text import card_text
from dayzero.catalog.told import Told
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger
from dayzero.kit.backing import Backing
from dayzero.kit.model import KitContents
from dayzero.wiring.catalog_source import card_of
from dayzero.wiring.deploy import Deployment
from dayzero.wiring.plugins import engine
from dayzero_verify.kit import RAW_FOLDER


def contents_of(
    package: Package, definition: str, spec: LaunchSpec, evidence: tuple[Backing, Ledger], deployed: Deployment
) -> KitContents:
    """Put together a kit's contents; everything that is not given follows from what is.

    Args:
        package: The package definition.
        definition: Its text.
        spec: The launch.
        evidence: What was taken out of the ledger, and the ledger.
        deployed: The launch as deploy files.
    """
    said, ledger = evidence
    return KitContents(
        package=package,
        definition=definition,
        launch=spec,
        deploy_files=deployed.files,
        launch_files=engine(package.recipe.engine.engine).launch_files(),
        ledger=said.ledger,
        raw_files=said.raw_files,
        card=card_text(card_of(package, Told.read(ledger), None)),
        runs=said.runs,
        taken_back=said.taken_back,
        targets=tuple(name for name, _ in deployed.carried),
        not_carried=deployed.not_carried,
        left_out=deployed.left_out,
    )


class RawInKit:
    """The raw files of a kit, in memory. Implements ``evidence.ports.RawStore``, for reading."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Take a kit's files.

        Args:
            files: Contents by path.
        """
        self._files = files

    def read(self, digest: Sha256) -> bytes:
        """Read what the kit holds under this digest.

        Raises:
            EvidenceError: It holds nothing there.
        """
        path = f"{RAW_FOLDER}{digest}"
        if path not in self._files:
            raise EvidenceError(f"the kit holds no raw file {digest}", hint="Take a kit that holds all its evidence.")
        return self._files[path]

    def put(self, content: bytes) -> Sha256:
        """Refuse: a kit is not added to.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{Sha256.of(content)} cannot be added to a kit", hint="File it in a folder of evidence.")
