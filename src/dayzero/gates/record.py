"""Write the plan, the answer and the receipt of an attempt as JSON documents. The formats: docs/reference/gates.md."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from dayzero.core.verdict import Undecided
from dayzero.gates.attempts import UNENDED
from dayzero.gates.document import document, of_plan
from dayzero.gates.model import Judged
from dayzero.gates.probe import Seen
from dayzero.gates.report import reasons, word
from dayzero.gates.setting import Setting

SCHEMA: Final = "dayzero/gate/v1"
PLAN_SCHEMA: Final = "dayzero/gate-plan/v1"
RECEIPT_SCHEMA: Final = "dayzero/gate-receipt/v1"

DEFINITIONS: Final[Mapping[str, str]] = {
    "candidate": "token id (or bytes) with its natural log-probability, at temperature 0 and top_p 1, no penalties",
    "divergence": "sum of p ln(p/q) over the candidates that both list and one bin for the rest: a lower bound, never negative; "
    "the mean of both directions, over all places",
    "excess": "mean over prompts of [A1-B1 + A2-B2]/2 minus [A1-A2 + B1-B2]/2",
    "prefill": "places of the given prompt, teacher forced, behind the context",
    "decode": "tokens written after the context, up to and including the first that differs in any capture",
    "positive": "A's prompts without the first three quarters of their context",
    "order": "each endpoint sees every prompt in a first half and in a second; which capture comes first is drawn by the seed",
}


def of_setting(setting: Setting, *, number: int, filed_as: str) -> dict[str, object]:
    """Write all that is fixed before the first capture.

    Args:
        setting: What was fixed.
        number: Of the attempt.
        filed_as: What the attempt is called in the ledger, ``""`` where it is filed in none.
    """
    return {
        "schema": PLAN_SCHEMA,
        "attempt": number,
        "filed_as": filed_as or None,
        "plan": of_plan(setting.plan),
        "layout": {**asdict(setting.layout), "dropped": setting.layout.dropped},
        "endpoints": {side: of_seen(seen) for side, seen in setting.seen.items()},
        "tokenizers": dict(setting.tokenizers),
        "requests": dict(setting.requests()),
        "notes": list(setting.notes),
        "definitions": dict(DEFINITIONS),
    }


def of_seen(seen: Seen) -> dict[str, object]:
    """Write what is known of an endpoint."""
    return {
        "url": seen.url,
        "model": seen.model,
        "engine": seen.engine,
        "build": seen.build,
        "prompts": "ids" if seen.takes_ids else "text",
        "candidates": "ids" if seen.names_ids else "bytes",
        "k": seen.k,
        "prompt_positions": seen.scoring,
        "logprobs": seen.meaning,
        "cache": "bypassed" if seen.dialect.bypasses_cache else "unknown",
    }


def of_answer(
    answer: Judged | Undecided, setting: Setting | None, *, number: int, earlier: Sequence[str], filed_as: str
) -> dict[str, object]:
    """Write what came of an attempt.

    Args:
        answer: What was judged, or why nothing could be.
        setting: What was fixed; ``None`` where it did not come to that.
        number: Of the attempt.
        earlier: Verdicts of the attempts before it; ``""`` for one that did not end.
        filed_as: What the attempt is called in the ledger, ``""`` where it is filed in none.
    """
    verdict = answer if isinstance(answer, Undecided) else answer.verdict
    return {
        "schema": SCHEMA,
        "gate": "distribution",
        "verdict": word(verdict),
        "because": list(reasons(verdict)),
        "attempt": number,
        "filed_as": filed_as or None,
        "earlier_attempts": [each or UNENDED for each in earlier],
        "endpoints": {} if setting is None else {side: of_seen(seen) for side, seen in setting.seen.items()},
        "notes": [] if setting is None else list(setting.notes),
        "found": {} if isinstance(answer, Undecided) else document(answer),
    }


def of_receipt(
    given: Mapping[str, object],
    files: Sequence[tuple[str, str]],
    attempts: Sequence[tuple[int, str, str]],
    *,
    client: str,
) -> dict[str, object]:
    """Bind an answer to every file that it rests on, and to the attempts before it.

    Args:
        given: The answer as it was written.
        files: (path relative to the receipt, SHA-256) of the plan, the answer and every raw file.
        attempts: (number, verdict, SHA-256 of its answer) of every attempt at this pair, this one included.
        client: Program and version that captured.
    """
    return {
        "schema": RECEIPT_SCHEMA,
        "gate": given["gate"],
        "verdict": given["verdict"],
        "because": given["because"],
        "attempt": given["attempt"],
        "filed_as": given["filed_as"],
        "endpoints": given["endpoints"],
        "client": client,
        "definitions": dict(DEFINITIONS),
        "attempts": [
            {"attempt": number, "verdict": verdict or UNENDED, "gate_sha256": digest}
            for number, verdict, digest in attempts
        ],
        "files": [{"path": path, "sha256": digest} for path, digest in files],
    }
