"""``dayzero gate numbers``: what do published figures permit, where nothing but the figures is to be had?"""

from typing import Annotated

import cyclopts

from dayzero.cli.gate_distribution import exit_code
from dayzero.cli.output import OutputFormat, print_json
from dayzero.gates.numbers import Published, judge_numbers
from dayzero.gates.report import reasons, word

SCHEMA = "dayzero/gate-numbers/v1"

_PERCENT = 100


def numbers(  # noqa: PLR0913  (each argument is one option)
    *,
    control_top1: float | None = None,
    top1: float | None = None,
    mean_kl: Annotated[float | None, cyclopts.Parameter(name="--mean-kl")] = None,
    skipped: float = 0.0,
    places: int = 0,
    margin_flip: float = 0.5,
    output_format: OutputFormat = "text",
) -> int:
    """Judge figures that somebody published, by the control that was published with them.

    Exit 1: different. 3: unsound or undecided; figures alone never show that two servers are the same.

    Args:
        control_top1: Percentage of places where the reference named the same first token as the reference.
        top1: The same of the candidate against the reference; left out for a control alone.
        mean_kl: Mean divergence in nats.
        skipped: Percentage of places that were left out for thin support.
        places: How many places stand behind each percentage; 0 where that was not published.
        margin_flip: Percentage of changed first tokens that does not matter.
        output_format: How the result is written to stdout.
    """
    published = Published(
        control=_share(control_top1),
        agreement=_share(top1),
        mean_kl=mean_kl,
        skipped=skipped / _PERCENT,
        margin=margin_flip / _PERCENT,
        places=places,
    )
    judged = judge_numbers(published)
    said = reasons(judged.verdict)
    if output_format == "json":
        print_json({"schema": SCHEMA, "verdict": word(judged.verdict), "because": said, "notes": judged.notes})
    else:
        print(f"{word(judged.verdict)}: {'; '.join(said)}")
        for note in judged.notes:
            print(f"note: {note}")
    return exit_code(judged.verdict)


def _share(percentage: float | None) -> float | None:
    return None if percentage is None else percentage / _PERCENT
