"""Write the plan, the result and the receipt of a comparison as JSON documents. The formats: docs/reference/window.md."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dayzero.bench.receipt import of_dispatched
from dayzero.bench.windows.design import certificate, comparison, rehearsal
from dayzero.bench.windows.model import (
    Compared,
    Decided,
    Design,
    DoesNotServe,
    InstrumentBad,
    Interval,
    Label,
    PairRatio,
    Result,
    Secondary,
    Served,
)
from dayzero.bench.windows.report import notes, sentences, word

SCHEMA = "dayzero/window/v1"
PLAN_SCHEMA = "dayzero/window-plan/v1"
RECEIPT_SCHEMA = "dayzero/window-receipt/v1"

AGAIN = "a window that is not valid for faults of the client or its machine alone is taken once more; nothing else is"

_DECIMALS = 6


def of_plan(design: Design, arms: Mapping[Label, str]) -> dict[str, object]:
    """Write everything that is fixed before the first request, every window in its order included.

    Args:
        design: What was fixed.
        arms: Each arm as the user named it.
    """
    windows = (*rehearsal(design), *certificate(design), *comparison(design))
    return {
        "schema": PLAN_SCHEMA,
        "arms": dict(arms),
        **_fixed(design),
        "secondary": [str(measure) for measure in design.secondary],
        "correction": "Holm",
        "test": "t on log-ratios of pairs, the slot removed; P - 2 degrees of freedom",
        "certificate_pairs": design.certificate_pairs,
        "certificate_alpha": design.certificate_alpha,
        "taken_again": AGAIN,
        "windows": [
            {"name": one.name, "arm": one.arm, "prompt_seed": one.prompt_seed, "nonce": one.nonce} for one in windows
        ],
    }


def of_result(
    design: Design, arms: Mapping[Label, Served], result: Result, *, again: Sequence[str] = ()
) -> dict[str, object]:
    """Write what was found.

    Args:
        design: What was fixed beforehand.
        arms: What each arm was found to be.
        result: What came of it.
        again: Names of the windows that were taken a second time.
    """
    return {
        "schema": SCHEMA,
        "verdict": word(result),
        "because": list(sentences(design, result)),
        "arms": {label: _arm(arm) for label, arm in arms.items()},
        **_fixed(design),
        **_found(result),
        "taken_again": list(again),
        "notes": list(notes(design, result)),
    }


def of_receipt(
    arms: Mapping[Label, Served], result: Result, files: Sequence[tuple[str, str]], *, client: str
) -> dict[str, object]:
    """Bind a result to every file that it rests on.

    Args:
        arms: What each arm was found to be.
        result: What came of it.
        files: (path relative to the receipt, SHA-256) of the plan, the result and every raw file.
        client: Program and version that measured.
    """
    return {
        "schema": RECEIPT_SCHEMA,
        "verdict": word(result),
        "arms": {label: _arm(arm) for label, arm in arms.items()},
        "client": client,
        "files": [{"path": path, "sha256": digest} for path, digest in files],
    }


def _arm(arm: Served) -> dict[str, object]:
    return {**asdict(arm), "dispatched": [of_dispatched(entry) for entry in arm.dispatched]}


def _fixed(design: Design) -> dict[str, object]:
    cell = design.cell
    return {
        "seed": design.seed,
        "primary": str(design.primary),
        "higher_is_better": design.primary.higher_is_better,
        "margin": design.margin,
        "alpha": design.alpha,
        "pairs": design.pairs,
        "unit": "restart" if design.restarts else "window",
        "load": {
            "concurrency": cell.concurrency,
            "requests": cell.requests,
            "warmup_requests": cell.warmup_requests,
            "input_tokens": cell.input_tokens,
            "output_tokens": cell.output_tokens,
        },
    }


def _found(result: Result) -> dict[str, object]:
    match result:
        case Decided(primary=primary):
            return {
                "certificate": _compared(result.certificate),
                "minimum_effect_before": _share(result.minimum_before),
                "comparison": {**_compared(primary), "bootstrap": _optional(result.bootstrap)},
                "minimum_effect_after": _share(primary.estimate.minimum_effect),
                "secondary": [_secondary(other) for other in result.secondary],
                "left_out": {str(measure): why for measure, why in result.left_out},
            }
        case InstrumentBad(certificate=found):
            return {} if found is None else {"certificate": _compared(found)}
        case DoesNotServe(silent=silent):
            return {"does_not_serve": asdict(silent)}


def _compared(compared: Compared) -> dict[str, object]:
    found = compared.estimate
    return {
        "difference": _interval(found.effect),
        "p": _rounded(found.p),
        "p_sign_flips": _rounded(found.p_sign_flips),
        "spread_of_a_pair": _rounded(found.sd),
        "slot": _interval(found.slot),
        "pairs": [_pair(pair) for pair in compared.pairs],
    }


def _secondary(other: Secondary) -> dict[str, object]:
    found = other.compared.estimate
    return {
        "measure": str(other.compared.measure),
        "difference": _interval(found.effect),
        "bootstrap": _optional(other.bootstrap),
        "p": _rounded(found.p),
        "p_holm": _rounded(other.p_holm),
        "holds": other.holds,
    }


def _pair(pair: PairRatio) -> dict[str, object]:
    return {
        "order": "BA" if pair.b_first else "AB",
        "a": _rounded(pair.a),
        "b": _rounded(pair.b),
        "difference": _share(pair.log_ratio),
    }


def _interval(interval: Interval) -> dict[str, float]:
    return {"value": _share(interval.value), "low": _share(interval.low), "high": _share(interval.high)}


def _optional(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else _interval(interval)


def _share(log_ratio: float) -> float:
    return _rounded(math.expm1(log_ratio))


def _rounded(value: float) -> float:
    return round(value, _DECIMALS)
