"""Read a package's status ladder and fit state out of the ledger, for builds that did not just run it.

Each is a claim like any other: ``<package>/status-<step>`` holds ``reached``, or says in words why not; ``<package>/fit`` holds
one of the fit states. A claim about another recipe does not count. The date of a step is the day on which its raw file was
captured. Nothing is concluded from other claims.
"""

from dayzero.catalog.model import STEPS, Fit, FitState, GateSaid, NotYet, Reached, StatusStep
from dayzero.core.package import GATES, SKIPPED, Package
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim
from dayzero.evidence.state import Missing, Retracted, Standing, Unsupported, Withdrawn, Withheld
from dayzero.evidence.subject import recipe_digest

REACHED = "reached"
ELSEWHERE = "It was shown on another recipe, not on this one."


def read_ladder(package: Package, ledger: Ledger) -> tuple[StatusStep, ...]:
    """Say of each step whether the ledger shows it."""
    return tuple(_step(step, package, ledger) for step in STEPS)


def read_gates(package: Package, ledger: Ledger) -> tuple[GateSaid, ...]:
    """Say of each gate what the ledger has of it: a gate that was not run on this recipe is skipped, out loud."""
    return tuple(_gate(slug, name, package, ledger) for slug, name in GATES)


def read_fit(package: Package, ledger: Ledger) -> Fit:
    """Say what the ledger knows of the hardware floor."""
    match ledger.standing(f"{package.name}/fit"):
        case Standing(claim=Claim() as claim) if claim.subject != recipe_digest(package.recipe):
            return Fit(FitState.UNKNOWN, ELSEWHERE)
        case Standing(claim=Claim() as claim):
            state = next((state for state in FitState if state.value == claim.value), FitState.UNKNOWN)
            return Fit(state, claim.label if state.value == claim.value else f"The ledger says {claim.value!r}.")
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return Fit(FitState.UNKNOWN, f"The statement was taken back: {retraction.reason}")
        case Missing() | Standing() | Unsupported() | Withheld():
            return Fit(FitState.UNKNOWN, "The evidence ledger does not say whether it fits.")


def _step(step: str, package: Package, ledger: Ledger) -> StatusStep:
    match ledger.standing(f"{package.name}/status-{step}"):
        case Standing(claim=Claim() as claim) if claim.subject != recipe_digest(package.recipe):
            return NotYet(step=step, why=ELSEWHERE)
        case Standing(claim=Claim() as claim) if claim.value == REACHED and claim.raw in (raws := ledger.raw_files()):
            return Reached(step=step, date=raws[claim.raw].captured_at[:10], pin=str(package.recipe.engine))
        case Standing(claim=Claim() as claim):
            return NotYet(
                step=step, why=claim.value if claim.value != REACHED else "The raw file that shows it was never filed."
            )
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return NotYet(step=step, why=f"Taken back: {retraction.reason}")
        case Missing() | Standing() | Unsupported() | Withheld():
            return NotYet(step=step, why="The evidence ledger does not show it.")


def _gate(slug: str, name: str, package: Package, ledger: Ledger) -> GateSaid:
    match ledger.standing(f"{package.name}/{slug}"):
        case Standing(claim=Claim() as claim) if claim.subject != recipe_digest(package.recipe):
            return GateSaid(gate=name, word=SKIPPED, why=ELSEWHERE)
        case Standing(claim=Claim() as claim):
            return GateSaid(gate=name, word=claim.value, why=claim.label)
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return GateSaid(gate=name, word=SKIPPED, why=f"Taken back: {retraction.reason}")
        case Missing() | Standing() | Unsupported() | Withheld():
            why = next((entry.why for entry in package.unmeasured if entry.topic == name), "")
            return GateSaid(gate=name, word=SKIPPED, why=why or "The evidence ledger holds no run of it.")
