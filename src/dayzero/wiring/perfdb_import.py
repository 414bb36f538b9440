"""Import a tree of performance data: keep its files, make its families, write the manifest last."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dayzero.adapters.perf_database.build_family import FamilyMaker, ImportFacts
from dayzero.adapters.perf_database.folder import PerfFolder
from dayzero.adapters.perf_database.tree import Tree, open_tree
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.perfdb.builds import Origin, labels_of
from dayzero.perfdb.model import Failure, Family, Import, OtherFile, Sidecar
from dayzero.perfdb.upstream import DATA, PARQUET, SIDECAR, read_failures, read_sidecar, table_named
from dayzero.wiring import clock

_ERRORS = "errors_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """An import, and whether it was there before."""

    made: Import
    new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The files of a tree, kept: digest by path, what stands beside the rows, and the id that follows from all of them."""

    id: str
    tables: Mapping[str, Mapping[str, str]]
    sidecars: tuple[Sidecar, ...]
    failures: tuple[Failure, ...]
    others: tuple[OtherFile, ...]


def import_tree(
    source: Path,
    database: Path,
    pin: Sha256 | None,
    tell: Callable[[str], None] = lambda _: None,
    *,
    graded: bool = False,
) -> Imported:
    """Import a wheel or a folder; what an import that was stopped had finished is not made again.

    Args:
        source: The wheel, or the folder.
        database: Where to; made when it is not there.
        pin: Digest that the wheel has to have, where it is pinned.
        tell: Is told what is done.
        graded: Whether the tree says its rows' grades itself, and is believed: it was made from a run just now.

    Raises:
        InputError: The tree cannot be used, by the rules of :func:`~dayzero.perfdb.tables.table_of`, or holds the database.
        RemoteError: The disk is full or may not be written.
    """
    folder = PerfFolder(database)
    with open_tree(source, pin, database) as tree:
        kept = _keep(tree, folder, tell)
        name, version, sha256 = tree.name, tree.version, tree.sha256
    there = next((made for made in folder.imports() if made.id == kept.id), None) if _any(database) else None
    if there is not None and folder.has_rows(there):
        return Imported(made=there, new=False)
    facts = ImportFacts(id=kept.id, sidecars={one.place: one for one in kept.sidecars}, graded=graded)
    with folder.workplace() as scratch:
        families, origins = _make(kept, FamilyMaker(folder, scratch, facts), tell)
    builds = {origin.build.id: origin.build for origin in origins}
    made = Import(
        id=kept.id,
        upstream=name,
        version=version,
        sha256=sha256,
        imported_at=clock.now() if there is None else there.imported_at,
        families=families,
        builds=tuple(builds[build] for build in sorted(builds)),
        labels=labels_of(origins, facts.sidecars),
        sidecars=kept.sidecars,
        failures=kept.failures,
        others=kept.others,
    )
    folder.keep_import(made)
    return Imported(made=made, new=there is None)


def _any(database: Path) -> bool:
    return any((database / "imports").glob("*.json"))


def _make(kept: _Kept, maker: FamilyMaker, tell: Callable[[str], None]) -> tuple[tuple[Family, ...], list[Origin]]:
    families: list[Family] = []
    origins: list[Origin] = []
    with closing(maker):
        for table, files in kept.tables.items():
            done = maker.make(table, files)
            families.append(done.family)
            origins.extend(done.origins)
            tell(f"{table}: {done.family.rows} rows from {len(files)} files")
    return tuple(families), origins


def _keep(tree: Tree, folder: PerfFolder, tell: Callable[[str], None]) -> _Kept:
    digests: dict[str, str] = {}
    tables: dict[str, dict[str, str]] = {}
    sidecars: list[Sidecar] = []
    failures: list[Failure] = []
    others: list[OtherFile] = []
    for path in tree.paths():
        content, name = tree.read(path), PurePosixPath(path).name
        digests[path] = folder.keep(content)
        if path.startswith(f"{DATA}/") and name.endswith(PARQUET):
            tables.setdefault(table_named(path), {})[path] = digests[path]
            continue
        others.append(OtherFile(path=path, sha256=digests[path]))
        if path.startswith(f"{DATA}/") and name == SIDECAR:
            sidecars.append(read_sidecar(path, content))
        elif path.startswith(f"{DATA}/") and name.startswith(_ERRORS):
            failures.extend(read_failures(path, content))
    if not tables:
        raise InputError(
            "the tree holds no Parquet file", hint="Give the wheel of aiconfigurator-core, or its folder 'systems'."
        )
    tell(f"{len(digests)} files kept")
    identity = json.dumps(sorted(digests.items())).encode()
    return _Kept(
        id=hashlib.sha256(identity).hexdigest()[:16],
        tables=dict(sorted(tables.items())),
        sidecars=tuple(sidecars),
        failures=tuple(failures),
        others=tuple(others),
    )
