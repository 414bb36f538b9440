"""The templates, compiled once, and the words and tones that they use."""

import shlex
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import Final, TypeVar

import jinja2

from dayzero.catalog.edition import DOES_NOT_FIT, FITS, UNKNOWN, SystemFit
from dayzero.catalog.model import Absent, FitState, Gone, Measurement, Reached, Shown
from dayzero.catalog.page_model import CauseBasis, DerivedBasis, PageState, RawBasis
from dayzero.catalog.paths import claim_document_path
from dayzero.catalog.words import fit_words, origin_words, place_words, state_words, wheel_platform
from dayzero.core.pins import InDistribution
from dayzero.core.quantities import Bytes
from dayzero.core.workload import Cell, ClosedLoop, Workload, pace_words

_Type = TypeVar("_Type")

_GIB: Final = 1024**3
_WHOLE: Final = 1000
_DAY: Final = len("2026-11-30")
_TEMPLATES: Final = (
    "base.html.j2",
    "parts.html.j2",
    "listing.html.j2",
    "facet.html.j2",
    "edition.html.j2",
    "fit.html.j2",
    "compare.html.j2",
    "claim.html.j2",
    "retractions.html.j2",
    "reading.html.j2",
    "performance.html.j2",
    "market_parts.html.j2",
    "market_market.html.j2",
    "market_offer.html.j2",
    "market_licence.html.j2",
    "market_confirm.html.j2",
    "market_order.html.j2",
    "market_account.html.j2",
    "market_sign_in.html.j2",
    "market_sign_up.html.j2",
    "market_welcome.html.j2",
    "market_password.html.j2",
    "market_token.html.j2",
)
_TONES: Final[Mapping[FitState, str]] = {
    FitState.MEASURED_FITS: "good",
    FitState.COMPUTED_FITS: "good",
    FitState.MEASURED_DOES_NOT_FIT: "warn",
    FitState.COMPUTED_DOES_NOT_FIT: "warn",
    FitState.UNKNOWN: "mute",
}
_STATE_TONES: Final[Mapping[PageState, str]] = {
    PageState.STANDING: "good",
    PageState.FLAGGED: "warn",
    PageState.SUPERSEDED: "mute",
    PageState.CORRECTED: "mute",
    PageState.WITHDRAWN: "warn",
    PageState.RETRACTED: "warn",
    PageState.UNSUPPORTED: "warn",
    PageState.UNCITABLE: "mute",
}
_SYSTEM_TONES: Final[Mapping[str, str]] = {FITS: "good", DOES_NOT_FIT: "warn", UNKNOWN: "mute"}
_SYSTEM_WORDS: Final[Mapping[str, str]] = {FITS: "Fits", DOES_NOT_FIT: "Does not fit", UNKNOWN: "Unknown"}
COMPANION: Final = "companion"
"""What is said of a deploy file that stands beside one that carries the launch."""

_PROOF_TONES: Final[Mapping[str, str]] = {"proven": "good", "refuted": "warn"}
_PROOF_WORDS: Final[Mapping[str, str]] = {
    "proven": "Parsed back equal",
    "refuted": "Not equal",
    "undecided": "Undecided",
    COMPANION: "Companion file",
}


_KINDS: Mapping[str, type] = {
    "shown": Shown,
    "gone": Gone,
    "absent": Absent,
    "reached": Reached,
    "raw_basis": RawBasis,
    "derived_basis": DerivedBasis,
    "cause_basis": CauseBasis,
    "in_distribution": InDistribution,
}


@lru_cache(maxsize=1)
def templates() -> jinja2.Environment:
    """Compile every template."""
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({name: asset(name) for name in _TEMPLATES}),
        autoescape=True,
        auto_reload=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_filters())
    environment.tests.update({name: _instance_of(kind) for name, kind in _KINDS.items()})
    return environment


def _filters() -> Mapping[str, Callable[..., object]]:
    return {
        "age": age,
        "capfirst": lambda text: text[:1].upper() + text[1:],
        "cell": lambda parameters: dict(parameters).get("cell", ""),
        "claim_document": claim_document_path,
        "closed_loop": closed_loop,
        "day": lambda instant: instant[:_DAY],
        "file_name": lambda path: path.rpartition("/")[2],
        "fit_tone": _TONES.__getitem__,
        "fit_words": fit_words,
        "gib": lambda size: f"{size.count / _GIB:g}" if isinstance(size, Bytes) else "",
        "grouped": lambda number: f"{number:,}",
        "latency": lambda value: f"{value:,.0f}" if value >= _WHOLE else f"{value:.4g}",
        "load_short": load_short,
        "lower_first": lambda text: text if text[:2].isupper() else text[:1].lower() + text[1:],
        "origin": origin_words,
        "pace": pace,
        "place": place_words,
        "platform": wheel_platform,
        "proof_tone": lambda word: _PROOF_TONES.get(word, "mute"),
        "proof_words": _PROOF_WORDS.__getitem__,
        "shell": shlex.join,
        "state_tone": _STATE_TONES.__getitem__,
        "state_words": state_words,
        "system_tone": _SYSTEM_TONES.__getitem__,
        "system_words": system_words,
    }


def asset(name: str) -> str:
    """Read a file that lies beside the templates."""
    return (resources.files("dayzero.adapters.site") / "templates" / name).read_text(encoding="utf-8")


def age(since: str, until: str) -> str:
    """Say how old something is; both are RFC 3339 instants in UTC."""
    days = (date.fromisoformat(until[:_DAY]) - date.fromisoformat(since[:_DAY])).days
    if days < 1:
        return "less than a day old"
    return "1 day old" if days == 1 else f"{days} days old"


def load_short(measurement: Measurement, workload: Workload) -> str:
    """Say the load of a number in a line; ``""`` where it belongs to no cell of the grid."""
    name = dict(measurement.ref.parameters).get("cell", "")
    cell = next((cell for cell in workload.cells if cell.name == name), None)
    if cell is None:
        return ""
    return (
        f"{cell.concurrency} in flight, {cell.input_tokens} prompt and {cell.output_tokens} output tokens, "
        f"{cell.requests} requests"
    )


def closed_loop(workload: Workload) -> bool:
    """Say whether every cell is a closed loop of single requests."""
    return all(_plain(cell) for cell in workload.cells)


def pace(cell: Cell) -> str:
    """Say when a cell's requests are sent: for a closed loop of single requests by how many are in flight."""
    return str(cell.concurrency) if _plain(cell) else pace_words(cell)


def _plain(cell: Cell) -> bool:
    return isinstance(cell.load, ClosedLoop) and cell.turns == 1


def system_words(fit: SystemFit) -> str:
    """Say whether a system holds it, and how that is known."""
    return f"{_SYSTEM_WORDS[fit.state]}, {fit.ground}" if fit.ground else _SYSTEM_WORDS[fit.state]


def _instance_of(kind: type[_Type]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)
