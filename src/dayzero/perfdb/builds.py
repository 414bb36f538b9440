"""Say which build a row was measured on, and how much stands behind that."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dayzero.perfdb.model import Build, Grade, Label, Sidecar, TreePlace

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_OWN = re.compile(r"(wheel|record) sha256:[0-9a-f]{64}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DEVELOPMENT = re.compile(r"\.dev\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Rows of one file that report one version.

    Attributes:
        place: Folder of the file.
        table: Its table.
        row_version: What the rows report; ``None`` where they report nothing.
        build: The build they were measured on.
        grade: The best grade that they can have.
    """

    place: TreePlace
    table: str
    row_version: str | None
    build: Build
    grade: Grade


def origin_of(place: TreePlace, table: str, row_version: str | None, sidecar: Sidecar | None, import_id: str) -> Origin:
    """Decide build and grade of the rows of one file that report one version.

    A digest names the build only where the rows report the version that the digest was written down for.
    """
    agrees = row_version is not None and says_the_same(place.version, row_version)
    digest = sidecar.image_digest if sidecar is not None and _DIGEST.fullmatch(sidecar.image_digest) else ""
    told = next((t for t in sidecar.tables if t.table == table), None) if sidecar is not None else None
    if not agrees or (
        sidecar is not None and sidecar.version and not says_the_same(sidecar.version, row_version or "")
    ):
        digest = ""
    label = f"{place.engine}/{place.version}"
    own = sidecar.build if sidecar is not None and agrees and _OWN.fullmatch(sidecar.build) else ""
    identity = f"image {digest}" if digest else own
    identity = identity or f"import {import_id}, {label}, row version {row_version or 'not given'}"
    build = Build(
        id=f"b-{hashlib.sha256(identity.encode()).hexdigest()[:16]}",
        identity=identity,
        engine=place.engine,
        version=row_version or "",
        image_digest=digest,
    )
    grade: Grade = "B" if digest and told is not None and told.collector_hash else "C"
    return Origin(place=place, table=table, row_version=row_version, build=build, grade=grade if agrees else "D")


def says_the_same(short: str, full: str) -> bool:
    """Whether a version is another one as it is, or the public part of a development version."""
    public = full.split("+", 1)[0]
    return short in {full, public} and (short == full or bool(_DEVELOPMENT.search(public)))


def labels_of(origins: Iterable[Origin], sidecars: Mapping[TreePlace, Sidecar]) -> tuple[Label, ...]:
    """Collect which name stands for which build, where, and since when."""
    seen: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for origin in origins:
        key = f"{origin.place.engine}/{origin.place.version}", origin.build.id
        systems, days = seen.setdefault(key, (set(), set()))
        systems.add(origin.place.system)
        sidecar = sidecars.get(origin.place)
        for told in sidecar.tables if sidecar is not None else ():
            if told.table == origin.table and _DAY.match(told.collected_at):
                days.add(told.collected_at)
    return tuple(
        Label(label=label, build=build, systems=tuple(sorted(systems)), valid_from=min(days, default=""), valid_to="")
        for (label, build), (systems, days) in sorted(seen.items())
    )
