"""Audit, fit, start and measure a package, after showing each wall that its recipe resolves."""

from dayzero.audit.model import Report as AuditReport
from dayzero.bench.model import Aborted
from dayzero.bringup.model import Laboratory, Measured, ShownWall, Stopped
from dayzero.bringup.ports import Narrator, Session, Workbench
from dayzero.bringup.record import start_record
from dayzero.core.package import Package, Wall
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict, verdict_word
from dayzero.fit.model import HostReport as FitReport
from dayzero.serve.model import Died, Healthy, Start, TimedOut
from dayzero.triage.model import CauseNotInLog, Diagnosis, NamedWall, RootFound, Started


def investigate(package: Package, bench: Workbench, narrator: Narrator) -> Laboratory:
    """Take a package from its definition to valid raw rows, or say at which step and why not.

    Every engine that was started is stopped on every way out of here.

    Args:
        package: What is brought up.
        bench: The laboratory.
        narrator: Told each step.
    """
    return _Investigation(package, bench, narrator).run()


class _Investigation:
    """One package, its workbench and its listener."""

    def __init__(self, package: Package, bench: Workbench, narrator: Narrator) -> None:
        self._package = package
        self._recipe = package.recipe
        self._bench = bench
        self._narrator = narrator

    def run(self) -> Laboratory:
        walls: list[ShownWall] = []
        for wall in self._package.walls:
            shown = self._show(wall)
            if isinstance(shown, Stopped):
                return shown
            walls.append(shown)
        narrator, recipe = self._narrator, self._recipe
        narrator.step("audit", f"{recipe.engine}, {'the re-pinned build' if walls else 'before it is started'}")
        audited = self._bench.audit(recipe, recipe.engine)
        tell_audit(audited, narrator)
        if not isinstance(audited.verdict, Proven):
            return Stopped(step="audit", verdict=audited.verdict, kept=())
        narrator.step("fit", f"{recipe.model.name} on this machine")
        fitted = self._bench.fit(recipe)
        tell_verdict(fitted.verdict, narrator)
        if not isinstance(fitted.verdict, Proven):
            return Stopped(step="fit", verdict=fitted.verdict, kept=())
        return self._serve_and_measure(tuple(walls), audited, fitted)

    def _show(self, wall: Wall) -> ShownWall | Stopped:
        narrator = self._narrator
        narrator.step("audit", f"{wall.build}, before it is started")
        audited = self._bench.audit(self._recipe, wall.build)
        tell_audit(audited, narrator)
        if not isinstance(audited.verdict, Refuted):
            reason = f"{wall.advisory}: the audit does not refute {wall.build}"
            return Stopped(step="audit", verdict=Refuted(reason), kept=())
        narrator.step("start", f"{wall.build} all the same")
        with self._bench.start(self._recipe, wall.build, f"{wall.advisory}.log") as session:
            start = session.wait(narrator.waiting)
            tell_start(start, session, narrator)
            if isinstance(start, Healthy):
                reason = f"{wall.build} was refuted by the audit, and yet it serves"
                return Stopped(step="start", verdict=Refuted(reason), kept=(session.log_path,))
            return ShownWall(wall=wall, audit=audited, start=start, log=session.log())

    def _serve_and_measure(self, walls: tuple[ShownWall, ...], audited: AuditReport, fitted: FitReport) -> Laboratory:
        narrator = self._narrator
        narrator.step("serve", str(self._recipe.engine))
        with self._bench.start(self._recipe, self._recipe.engine, "engine.log") as session:
            start = session.wait(narrator.waiting)
            tell_start(start, session, narrator)
            if not isinstance(start, Healthy):
                return Stopped(step="serve", verdict=_did_not_start(start), kept=(session.log_path,))
            narrator.step("measure", _workload_in_words(self._package))
            environment = self._bench.environment()
            run = session.measure(self._package.workload, narrator.measuring)
            log = session.log()
        if run.again:
            narrator.say("again", run.again)
        outcome, report = run.outcome, run.report
        if isinstance(outcome.ending, Aborted):
            verdict = Undecided(f"the measurement ended early: {outcome.ending.reason}")
            return Stopped(step="measure", verdict=verdict, kept=(session.rows_path, session.log_path))
        if not report.valid:
            verdict = Undecided("the measurement is not valid: " + "; ".join(report.invalid_because))
            return Stopped(step="measure", verdict=verdict, kept=(session.rows_path, session.log_path))
        return Measured(
            walls=walls,
            audit=audited,
            fit=fitted,
            start=start,
            bench=report,
            captured=(*run.captured, start_record(self._recipe, start), log, *(wall.log for wall in walls)),
            environment=environment,
        )


def _did_not_start(start: Died | TimedOut) -> Verdict:
    cause = f": {start.root.text.strip()}" if start.root else ""
    match start:
        case Died(exit_code=code):
            return Refuted(f"the engine ended with exit code {code} before it was healthy{cause}")
        case TimedOut(seconds=seconds):
            return Undecided(f"the engine was not healthy after {seconds:.0f} s{cause}")


def _workload_in_words(package: Package) -> str:
    cells = package.workload.cells
    requests = " + ".join(str(cell.requests) for cell in cells)
    tokens = sorted({(cell.input_tokens, cell.output_tokens) for cell in cells})
    shapes = ", ".join(f"{prompt} prompt and {output} output tokens" for prompt, output in tokens)
    return f"{requests} requests of {shapes}, seed {package.workload.seed}"


def tell_audit(report: AuditReport, narrator: Narrator) -> None:
    """Tell an audit's verdict, the places of what it refutes or could not decide, and the remedy."""
    tell_verdict(report.verdict, narrator)
    for check in report.checks:
        if not isinstance(check.verdict, Proven):
            for place in check.verdict.places:
                narrator.say("seen at", str(place))
    for remedy in report.remedies:
        narrator.say("remedy", f"the first build without this wall is {remedy.first_build} ({remedy.advisory})")


def tell_verdict(verdict: Verdict, narrator: Narrator) -> None:
    """Tell which of the three answers it is, and why."""
    narrator.say(verdict_word(verdict), verdict.reason)


def tell_start(start: Start, session: Session, narrator: Narrator) -> None:
    """Tell how a start ended; of one that failed, what its log names as the cause and what resolves it."""
    match start:
        case Healthy(seconds=seconds):
            narrator.say("healthy", f"after {seconds:.2f} s at {session.url}")
            return
        case Died(seconds=seconds, exit_code=code):
            narrator.say("died", f"after {seconds:.2f} s with exit code {code}")
        case TimedOut(seconds=seconds):
            narrator.say("timed out", f"not healthy after {seconds:.0f} s, the start budget; stopped")
    for label, text in diagnosed(session.diagnose(), session.log_path):
        narrator.say(label, text)


def diagnosed(diagnosis: Diagnosis, log: str) -> tuple[tuple[str, str], ...]:
    """Put a diagnosis into a line each for the root, the wall and what resolves it.

    Args:
        diagnosis: The answer to a log.
        log: What the log is called.

    Returns:
        Labels and texts.
    """
    match diagnosis:
        case RootFound(root=root, wall=NamedWall() as wall):
            standing = "" if wall.resolution.confirmed else " (unconfirmed)"
            return (
                ("root cause", f"{log}:{root.line}: {root.text}"),
                ("wall", f"{wall.wall}: {wall.title}"),
                ("resolution", f"{wall.resolution.text}{standing}"),
            )
        case RootFound(root=root):
            return (("root cause", f"{log}:{root.line}: {root.text}"), ("wall", "none that is known"))
        case CauseNotInLog(reason=reason, collect=collect):
            return (("not in log", f"{log}: {reason}"), *(("collect", what) for what in collect))
        case Started(marker=marker):
            return (("log says", f"{log}:{marker.line}: {marker.text}"),)
