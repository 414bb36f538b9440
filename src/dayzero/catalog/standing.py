"""Read a package's status ladder and fit state out of the ledger, for builds that did not just run it.

Each is a claim like any other: ``<package>/status-<step>`` holds ``reached``, or says in words why not; ``<package>/fit`` holds
one of the fit states. A claim about another recipe does not count. The date of a step is the day on which its raw file was
captured. Nothing is concluded from other claims.
"""

from dayzero.catalog.model import STEPS, Fit, FitState, GateSaid, NotYet, Reached, StatusStep
from dayzero.catalog.told import About, Elsewhere, Told
from dayzero.core.package import GATES, SKIPPED, Package
from dayzero.core.pins import Proxy
from dayzero.evidence.model import Claim
from dayzero.evidence.state import Corrected, Missing, Retracted, Standing, Superseded, Unsupported, Withdrawn, Withheld

REACHED = "reached"
REACHED_WORDS = (REACHED, "proven")  # the second is an audit's answer
ELSEWHERE = "It was shown on another recipe, not on this one."

_UNPINNED = "The weights are named by a commit, and none of their files is pinned by its digest."

_LADDER_SLUG, _FIT_SLUG = "status-", "fit"


def weights_pinned(package: Package) -> bool:
    """Say whether the definition pins a file of weights by its digest, and not only the commit; a proxy has none to pin."""
    model = package.recipe.model
    return isinstance(model.origin, Proxy) or any(
        file.path.endswith(f".{model.weights_format}") for file in model.files
    )


def read_slugs(package: Package) -> tuple[str, ...]:
    """Give every slug that a card reads, the numbers' first."""
    own = (*(f"{_LADDER_SLUG}{step}" for step in STEPS), _FIT_SLUG, *(slug for slug, _ in GATES))
    return (*(package.slug(ref) for ref in package.claims), *(f"{package.name}/{slug}" for slug in own))


def read_ladder(package: Package, about: About) -> tuple[StatusStep, ...]:
    """Say of each step whether the ledger shows it of this recipe."""
    return tuple(_step(step, package, about) for step in STEPS)


def read_gates(package: Package, about: About) -> tuple[GateSaid, ...]:
    """Say of each gate what the ledger has of it: a gate that was not run on this recipe is skipped, out loud."""
    return tuple(_gate(slug, name, package, about) for slug, name in GATES)


def read_fit(package: Package, about: About) -> Fit:
    """Say what the ledger knows of the hardware floor."""
    match about.state(f"{package.name}/{_FIT_SLUG}"):
        case Elsewhere():
            return Fit(FitState.UNKNOWN, ELSEWHERE)
        case Standing(claim=Claim() as claim):
            state = next((state for state in FitState if state.value == claim.value), FitState.UNKNOWN)
            return Fit(state, claim.label if state.value == claim.value else f"The ledger says {claim.value!r}.")
        case Withdrawn(retraction=event) | Retracted(retraction=event) | Corrected(correction=event):
            return Fit(FitState.UNKNOWN, f"The statement was taken back: {event.reason}")
        case Missing() | Standing() | Superseded() | Unsupported() | Withheld():
            return Fit(FitState.UNKNOWN, "The evidence ledger does not say whether it fits.")


def _step(step: str, package: Package, about: About) -> StatusStep:
    match about.state(f"{package.name}/{_LADDER_SLUG}{step}"):
        case Elsewhere():
            return NotYet(step=step, why=ELSEWHERE)
        case Standing(claim=Claim() as claim):
            return _reached(step, package, claim, about.told)
        case Withdrawn(retraction=event) | Retracted(retraction=event) | Corrected(correction=event):
            return NotYet(step=step, why=f"Taken back: {event.reason}")
        case Missing() | Standing() | Superseded() | Unsupported() | Withheld():
            unpinned = f" {_UNPINNED}" if step == STEPS[0] and not weights_pinned(package) else ""
            return NotYet(step=step, why=f"The evidence ledger does not show it.{unpinned}")


def _reached(step: str, package: Package, claim: Claim, told: Told) -> StatusStep:
    if claim.value not in REACHED_WORDS:
        return NotYet(step=step, why=claim.value)
    if claim.raw not in told.raws:
        return NotYet(step=step, why="The raw file that shows it was never filed.")
    return Reached(step=step, date=told.raws[claim.raw].captured_at[:10], pin=str(package.recipe.engine))


def _gate(slug: str, name: str, package: Package, about: About) -> GateSaid:
    match about.state(f"{package.name}/{slug}"):
        case Elsewhere():
            return GateSaid(gate=name, word=SKIPPED, why=ELSEWHERE)
        case Standing(claim=Claim() as claim):
            return GateSaid(gate=name, word=claim.value, why=claim.label)
        case Withdrawn(retraction=event) | Retracted(retraction=event) | Corrected(correction=event):
            return GateSaid(gate=name, word=SKIPPED, why=f"Taken back: {event.reason}")
        case Missing() | Standing() | Superseded() | Unsupported() | Withheld():
            why = next((entry.why for entry in package.unmeasured if entry.topic == name), "")
            return GateSaid(gate=name, word=SKIPPED, why=why or "The evidence ledger holds no run of it.")
