"""Rows of somebody's measurements that are taken back, and taken back no longer: what is signed, and by which key."""

import re
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.evidence.fields import need_reason, need_slug, need_stamp, need_text

CAUSES = (
    "instrument_artifact",
    "wrong_kernel",
    "wrong_label",
    "wrong_device",
    "duplicate",
    "substitution",
    "superseded",
    "upstream_withdrawn",
)
EFFECTS = ("exclude",)
_HASH, _KEY, _SIGNATURE = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{64}"), re.compile(r"[A-Za-z0-9+/]{86}==")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLine:
    """A line that shows why: of a file that is known by its digest.

    Attributes:
        file: Path of the file in the tree that was imported.
        line: Its line, from 1.
        sha256: Digest of the whole file, 64 hexadecimal digits.
    """

    file: str
    line: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """Who signed a record, and how.

    Attributes:
        key: The 32 bytes of the Ed25519 public key, as 64 hexadecimal digits.
        kind: ``demo`` for a key made on the spot, which proves integrity and not identity; else ``release``.
        signature: The signature over the record's statement, in base64.
    """

    key: str
    kind: str
    signature: str

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key) or not _SIGNATURE.fullmatch(self.signature):
            raise InputError(
                "not a key and a signature of Ed25519", hint="Let 'dayzero perfdb retract' write the record."
            )
        if self.kind not in {"demo", "release"}:
            raise InputError(f"not a kind of key: {self.kind!r}", hint="Use demo or release.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRetraction:
    """Rows that are not to be used, named by what their columns say.

    Attributes:
        slug: Handle.
        at: UTC, RFC 3339, to the second.
        cause: One of :data:`CAUSES`.
        why: The reason in words; it is published.
        effect: ``exclude``.
        upstream: What the rows came with (``aiconfigurator-core 0.12.0``).
        table: Their table.
        where: Conditions on columns, all of which hold (``kernel_label=causal_conv1d_fn_qkv3``).
        matched_rows: How many rows matched when it was written.
        matched_hash: Which ones: 32 hexadecimal digits that do not depend on their order.
        evidence: Lines that show why.
        signing: Who signed it; ``None`` while it is not.
    """

    slug: str
    at: str
    cause: str
    why: str
    effect: str
    upstream: str
    table: str
    where: tuple[str, ...]
    matched_rows: int
    matched_hash: str
    evidence: tuple[EvidenceLine, ...]
    signing: Signing | None

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_stamp(self.at)
        need_reason("retraction", self.slug, self.why)
        need_text(f"the table of {self.slug}", self.table)
        if self.cause not in CAUSES:
            raise InputError(f"not a cause: {self.cause!r}", hint=f"Use {', '.join(CAUSES)}.")
        if self.effect not in EFFECTS:
            raise InputError(f"not an effect: {self.effect!r}", hint=f"Use {', '.join(EFFECTS)}.")
        if self.matched_rows < 1 or not _HASH.fullmatch(self.matched_hash) or not self.where:
            raise InputError(f"{self.slug} matches no rows", hint="Name rows that are there.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReinstatement:
    """A retraction of rows that no longer holds; the record of it stays. Fields as of :class:`RowRetraction`."""

    slug: str
    at: str
    why: str
    signing: Signing | None

    def __post_init__(self) -> None:
        need_slug(self.slug)
        need_stamp(self.at)
        need_reason("reinstatement", self.slug, self.why)
