"""Pack: one archive, and the draft of what is stated about it."""

from dataclasses import dataclass

from dayzero.kit.assemble import assemble
from dayzero.kit.audit_result import audit_result
from dayzero.kit.draft import Draft
from dayzero.kit.model import Kit, KitContents
from dayzero.kit.provenance import DefinitionSource, provenance
from dayzero.kit.statements import kit_statement, receipt_statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is stated about a kit and is not in it.

    Attributes:
        source: Where the package definition was read.
        environment: The machine, as (name, text), for a run that no file says it of.
        audit: The report of an audit, as JSON; empty where none was made.
        min_version: Oldest version that should still be served, ``""`` where all may be.
    """

    source: DefinitionSource
    environment: tuple[tuple[str, str], ...] = ()
    audit: bytes = b""
    min_version: str = ""


@dataclass(frozen=True, slots=True)
class Packed:
    """A kit, and what will be signed about it."""

    kit: Kit
    draft: Draft


def pack(contents: KitContents, circumstances: Circumstances) -> Packed:
    """Assemble a kit and draft its statements: the kit's own, a receipt a run, the provenance, and the audit's result.

    Raises:
        EvidenceError: A claim has no raw file in the contents, or is about another recipe.
        InputError: The contents cannot be a kit, or the audit report is none of this package's build.
        IntegrityError: A raw file does not have the digest that it is kept under.
    """
    kit = assemble(contents)
    audit = circumstances.audit
    others = (
        *receipt_statements(kit, contents, circumstances.environment),
        provenance(kit, contents, circumstances.source),
        *((audit_result(kit, contents.package, audit),) if audit else ()),
    )
    return Packed(kit, Draft(kit_statement(kit, contents, min_version=circumstances.min_version), others))
