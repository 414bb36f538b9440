"""``dayzero perfdb rebase``: which rows of one build still hold on another, and which have to be measured again?"""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, Evidence, ImportId, Keys, trusted
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place, verdict_word
from dayzero.perfdb.rebase.matrix import HeldCell, HeldLane
from dayzero.perfdb.rebase.model import Evidence as KernelEvidence
from dayzero.perfdb.rebase.model import Holding
from dayzero.wiring.perfdb_rebase import AuditedBuild, Move, Rebased, rebase

_ORDER = (Holding.MEASURED, Holding.KERNEL_EQUAL, Holding.RECOLLECT, Holding.UNDECIDED)
_APPEARED = 5
_OUTSIDE = 12


def rebase_rows(  # noqa: PLR0913  (each is an option of its own)
    database: Path,
    *flags: Annotated[str, cyclopts.Parameter(show=False, allow_leading_hyphen=True)],
    old: Annotated[str, cyclopts.Parameter(name="--from")],
    new: Annotated[str, cyclopts.Parameter(name="--to")],
    engine: str = "",
    model: str = "",
    system: str = "",
    table: Annotated[tuple[str, ...], cyclopts.Parameter(name="--table", negative=())] = (),
    from_label: str = "",
    to_label: str = "",
    evidence: Evidence = None,
    key: Keys = (),
    import_id: ImportId = "",
    every: Annotated[bool, cyclopts.Parameter(name="--all", negative=())] = False,
    offline: Annotated[bool, cyclopts.Parameter(name="--offline", negative=())] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Say, kernel by kernel, whether rows of one build hold on another: measured, kernel-equal, must re-collect, or undecided.

    Both builds are audited, and what makes each kernel is compared: its code, what chooses it, its libraries, pins and compilers.
    A row is never carried over in silence. Exit 0: every row is measured or kernel-equal; 1: rows must be re-collected, or the new
    build is refuted; 3: the rest is undecided, or there are no rows.

    Args:
        database: The database.
        flags: The engine's own flags, for the audit, after --.
        old: The build that was measured: VERSION with --engine, NAME==VERSION, a wheel, a folder or an address.
        new: The build that rows are wanted for, likewise.
        engine: The engine, where builds are given as versions.
        model: The model's config.json, its folder or its name on the hub, for the audit.
        system: GPUs for the audit, as in 8xb300.
        table: A table to look at; all without one, can be given again.
        from_label: The old build's folder in the tree, where it is not its version.
        to_label: The new build's folder, likewise.
        evidence: Folder that holds evidence/ with retractions.
        key: Public key whose retractions count.
        import_id: Which import.
        every: Print all evidence of each kernel, and what was not followed.
        offline: Take builds from what is kept here.
        output_format: How the result is written to stdout.
    """
    move = Move(
        old=_spec(old, engine),
        new=_spec(new, engine),
        labels=(from_label, to_label),
        model=model,
        system=system,
        flags=flags,
        tables=table,
        offline=offline,
    )
    console = stderr_console()
    with console.status("") as status:
        done = rebase(database, move, (evidence, trusted(key)), import_id, status.update)
    if output_format == "json":
        print_json(_document(done))
    else:
        _print(done, every=every)
    return _code(done)


def _spec(given: str, engine: str) -> str:
    named = "==" in given or "/" in given or given.endswith((".whl", ".tar.gz")) or Path(given).exists()
    if named:
        return given
    if not engine:
        raise InputError(f"{given} names no engine", hint="Give --engine vllm, or write vllm==VERSION.")
    return f"{engine}=={given}"


def _code(done: Rebased) -> int:
    if done.refuted or done.count(Holding.RECOLLECT):
        return FINDINGS
    settled = done.count(Holding.MEASURED) + done.count(Holding.KERNEL_EQUAL)
    return UNDECIDED if done.count(Holding.UNDECIDED) or not settled else PROVEN


def _print(done: Rebased, *, every: bool) -> None:
    print(f"{done.title}, import {done.import_id}: rows of {done.old.name} on {done.new.name}")
    for word, build in (("from", done.old), ("to", done.new)):
        print(f"  {word:<5} {build.name:<18} audit: {verdict_word(build.audit.verdict)}, {build.audit.verdict.reason}")
    for finding in done.appeared[:_APPEARED]:
        print(f"        new with it: {finding.message}")
    if len(done.appeared) > _APPEARED:
        print(f"        and {len(done.appeared) - _APPEARED} more; dayzero audit lists them")
    if done.refuted:
        print("  the new build is refuted for this; rows that hold say nothing of a server that does not start")
    for lane in done.lanes:
        if lane.compared is not None:
            _print_lane(lane, every=every)
    _print_undeclared([lane for lane in done.lanes if lane.compared is None])
    told = ", ".join(f"{done.count(one)} {one}" for one in _ORDER)
    print(f"\nrows: {told}")
    if not done.lanes:
        print(f"the import has no rows of {done.versions.engine} {done.versions.old} or {done.versions.new}")


def _print_lane(lane: HeldLane, *, every: bool) -> None:
    print(f"\n{lane.table} {lane.label}: {lane.holding}")
    compared = lane.compared
    shown = () if compared is None else compared.evidence if every else compared.deciding
    for one in shown:
        print(f"  {one.aspect:<13} {one.finding}: {one.detail}")
        for place in reversed({place.artifact: place for place in reversed(one.places)}.values()):
            print(f"                {place}{f'  {place.quote}' if place.quote else ''}")
        if every and one.outside:
            more = f" and {len(one.outside) - _OUTSIDE} more" if len(one.outside) > _OUTSIDE else ""
            print(f"                not followed: {', '.join(one.outside[:_OUTSIDE])}{more}")
    _print_cells(lane.cells)


def _print_cells(cells: tuple[HeldCell, ...]) -> None:
    for cell in cells:
        print(f"  {cell.system:<20} {cell.holding:<16} {_counts(cell)}".rstrip())


def _print_undeclared(lanes: list[HeldLane]) -> None:
    if not lanes:
        return
    print(f"\nundecided, {lanes[0].reason}: {len(lanes)}")
    for lane in lanes:
        old, new = (sum(getattr(cell, side) for cell in lane.cells) for side in ("old", "new"))
        print(f"  {lane.table} {lane.label}: {old} rows of the old build, {new} of the new one")


def _counts(cell: HeldCell) -> str:
    counts = {
        "of the old build": cell.old,
        "of the new build": cell.new,
        "at shapes that only the old one has": cell.open if cell.new else 0,
        "of another build": cell.foreign,
        "retracted": cell.retracted,
        "measure something else": cell.substituted,
    }
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def _document(done: Rebased) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": "rebase",
        "import": done.import_id,
        "engine": done.versions.engine,
        "from": _build(done.old, done.versions.old),
        "to": _build(done.new, done.versions.new),
        "rows": {one.value: done.count(one) for one in _ORDER},
        "kernels": [_lane(lane) for lane in done.lanes],
    }


def _build(build: AuditedBuild, label: str) -> dict[str, object]:
    verdict = build.audit.verdict
    return {"build": build.name, "label": label, "audit": verdict_word(verdict), "reason": verdict.reason}


def _lane(lane: HeldLane) -> dict[str, object]:
    return {
        "table": lane.table,
        "kernel_label": lane.label,
        "holding": lane.holding,
        "reason": lane.reason,
        "declared_from": lane.compared.kernel.source if lane.compared else "",
        "evidence": [_evidence(one) for one in lane.compared.evidence] if lane.compared else [],
        "systems": [
            {
                "system": cell.system,
                "holding": cell.holding,
                "rows_of_old": cell.old,
                "rows_of_new": cell.new,
                "rows_open": cell.open,
                "rows_of_another_build": cell.foreign,
                "retracted": cell.retracted,
                "substituted": cell.substituted,
            }
            for cell in lane.cells
        ],
    }


def _evidence(one: KernelEvidence) -> dict[str, object]:
    return {
        "aspect": one.aspect,
        "finding": one.finding,
        "detail": one.detail,
        "followed": one.followed,
        "not_followed": list(one.outside),
        "places": [_place(place) for place in one.places],
    }


def _place(place: Place) -> dict[str, str]:
    return {"artifact": place.artifact, "file": place.file, "position": place.position, "quote": place.quote}
