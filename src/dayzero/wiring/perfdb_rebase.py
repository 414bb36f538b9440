"""Carry rows from one build to another as far as their kernels are shown to be the same: audit both, compare, count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dayzero.audit.finding import Finding
from dayzero.audit.report import Audited
from dayzero.audit.requirements import asked_by
from dayzero.audit.rules import Subject
from dayzero.core.errors import InputError
from dayzero.core.verdict import Refuted
from dayzero.perfdb.rebase.compare import Build, compare
from dayzero.perfdb.rebase.matrix import HeldLane, Versions, held
from dayzero.perfdb.rebase.model import Holding
from dayzero.perfdb.retraction import applied
from dayzero.wiring.audit import Question, answered
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_retract import standings_in
from dayzero_verify.keys import PublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What is asked.

    Attributes:
        old: The build that was measured: ``vllm==0.24.0``, a wheel, a folder or an address.
        new: The build that rows are wanted for, likewise.
        labels: Versions under which the tree has both, where they are called otherwise; ``""`` for a build's own version.
        model: The model's ``config.json``, its folder or its name on the hub; ``""`` leaves it out.
        system: GPUs on which the builds are audited (``8xb300``), or ``""``.
        flags: Words of the engine's command line.
        tables: Tables to look at; all without one.
        offline: Whether the index must not be asked.
    """

    old: str
    new: str
    labels: tuple[str, str] = ("", "")
    model: str = ""
    system: str = ""
    flags: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedBuild:
    """A build, and what audit says of it."""

    name: str
    audit: Audited


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """What became of the rows.

    Attributes:
        import_id: The import.
        title: Its name.
        versions: The builds as the tree labels them.
        old: The build that was measured.
        new: The build that rows are wanted for.
        lanes: What the rows of each kernel say.
    """

    import_id: str
    title: str
    versions: Versions
    old: AuditedBuild
    new: AuditedBuild
    lanes: tuple[HeldLane, ...]

    @property
    def appeared(self) -> tuple[Finding, ...]:
        """Findings of audit that the new build has and the old one has not, by what they say."""
        said = {one.message for one in self.old.audit.findings}
        return tuple(one for one in self.new.audit.findings if one.message not in said)

    @property
    def refuted(self) -> bool:
        """Whether the new build cannot serve what was asked; then no row of it is worth anything."""
        return isinstance(self.new.audit.verdict, Refuted)

    def count(self, holding: Holding) -> int:
        """Count the rows of the old build in a state that nothing newer stands beside; for ``MEASURED`` those of the new build."""
        measured = holding is Holding.MEASURED
        cells = (cell for lane in self.lanes for cell in lane.cells if measured or cell.holding is holding)
        return sum(cell.new if measured else cell.open for cell in cells)


def rebase(
    path: Path,
    move: Move,
    evidence: tuple[Path | None, Sequence[PublicKey]],
    import_id: str,
    progress: Callable[[str], None],
) -> Rebased:
    """Say which rows of a build hold on another one.

    Args:
        path: The database.
        move: What is asked.
        evidence: Folder that holds evidence/ with retractions, or ``None``, and the keys that count.
        import_id: The import, by its first digits.
        progress: Told what is being done.

    Raises:
        InputError: A build, the model, the database or a table is not there.
        RemoteError: The index did not deliver a build.
        IntegrityError: A wheel holds another file than it lists, or a file of rows was changed.
    """
    database = open_database(path, import_id, () if evidence[0] else move.tables)
    standing = standings_in(database, *evidence)
    (first, one), (second, other) = (_audited(spec, move, progress) for spec in (move.old, move.new))
    if one.engine != other.engine:
        raise InputError(
            f"{one.engine} and {other.engine} are two engines", hint="Rows never move from one engine to another."
        )
    versions = Versions(engine=one.engine, old=move.labels[0] or one.version, new=move.labels[1] or other.version)
    if versions.old == versions.new:
        raise InputError("both builds are the same version", hint="Give two versions, or labels with --from-label.")
    progress("comparing kernels")
    made = database.made
    tables = tuple(family for family in made.families if not move.tables or family.table in move.tables)
    lanes = held(tables, database.rows, versions, lambda kernel: compare(kernel, one, other), applied(standing))
    return Rebased(
        import_id=made.id,
        title=f"{made.upstream} {made.version}".strip(),
        versions=versions,
        old=first,
        new=second,
        lanes=lanes,
    )


def _audited(spec: str, move: Move, progress: Callable[[str], None]) -> tuple[AuditedBuild, Build]:
    question = Question(
        target=move.model, engine=spec, system=move.system, flags=move.flags, env={}, offline=move.offline
    )
    audit, subject, _ = answered(question, progress)
    return AuditedBuild(name=str(subject.installed.engine), audit=audit), build_of(subject)


def build_of(subject: Subject) -> Build:
    """Take from what was audited what a kernel is compared by: files, and what the metadata pins."""
    installed = subject.installed
    pins = {one.name: one.exact for one in asked_by(installed.engine) if one.exact and not one.extra}
    texts = {one.name: one.files for one in installed.distributions if one.files.names()}
    return Build(engine=installed.engine.name, version=installed.engine.version, texts=texts, pins=pins)
