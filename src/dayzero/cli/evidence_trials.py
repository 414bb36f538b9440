"""``dayzero evidence trials``: what do the trials under an explanation support?"""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import exit_code
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.evidence.design import Support, assess, distinct, in_words, level_of, varied, verdict
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Explanation, Retraction, Trial
from dayzero.evidence.repeats import NoPlan, Plan, Repeats, plan, steps
from dayzero.evidence.trials_document import answer_word, trials_document, verdict_word
from dayzero.wiring.store import open_filled


def trials(  # noqa: PLR0913  (each argument is one option)
    slug: str,
    root: Path = Path(),
    *,
    factor: str = "",
    outcome: str = "",
    repeats: Annotated[bool, cyclopts.Parameter(name="--plan", negative=())] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Say what the trials under an explanation support, and with --plan how many repeats would settle it.

    An outcome is attributed to a factor only where trials differ in that factor alone, each level was repeated, and an exact
    test is below 0.05. Exit 0: an attribution is supported; 1: none is (other things changed too, or the test does not
    reach it); 3: undecided, for want of trials.

    Args:
        slug: Handle of the explanation (PACKAGE/ID).
        root: Folder that holds evidence/.
        factor: The factor that the explanation names; without it, each one that changed, and 0.05 is shared out among them.
        outcome: The outcome that is meant, where it is not plain which ones are failures.
        repeats: Plan the repeats that would settle it.
        output_format: How the result is written to stdout.
    """
    explanation, retraction = _find(open_filled(root).ledger, slug)
    tried = explanation.trials
    _need_factor(tried, factor)
    answers = assess(tried, (factor,) if factor else (), event=outcome)
    answer = verdict(answers) if tried else Undecided("no trial stands under it")
    asked = (factor,) if factor else varied(distinct(tried))
    plans = tuple(plan(tried, name, event=outcome) for name in asked) if repeats else ()
    if output_format == "json":
        print_json(trials_document(explanation, answers, answer, plans))
        return exit_code(answer)
    print(f"{explanation.slug}: {explanation.statement}")
    if retraction is not None:
        print(f"{retraction.word} on {retraction.at}: {retraction.reason}")
    _print_trials(tried)
    _print_answers(answers)
    print(f"{verdict_word(answer)}: {answer.reason}")
    for each in plans:
        _print_plan(each)
    return exit_code(answer)


def _find(ledger: Ledger, slug: str) -> tuple[Explanation, Retraction | None]:
    """Find the last explanation with a slug, and how it was taken back, if it was."""
    found: Explanation | None = None
    retraction: Retraction | None = None
    known = set()
    for entry in ledger.entries:
        match entry.record:
            case Explanation() as record:
                known.add(record.slug)
                if record.slug == slug:
                    found, retraction = record, None
            case Retraction() as record if record.slug == slug:
                retraction = record
            case _:
                pass
    if found is not None:
        return found, retraction
    near = difflib.get_close_matches(slug, sorted(known), n=3) or sorted(known)[:3]
    hint = f"Did you mean {' or '.join(near)}?" if near else "The ledger holds no explanation yet."
    raise InputError(f"no explanation is called {slug!r}", hint=hint)


def _need_factor(tried: Sequence[Trial], factor: str) -> None:
    known = sorted({name for trial in tried for name, _ in trial.conditions})
    if factor and tried and factor not in known:
        near = difflib.get_close_matches(factor, known, n=1) or known
        raise InputError(f"no trial names a factor {factor!r}", hint=f"Name one of: {', '.join(near) or 'none'}.")


def _print_trials(tried: Sequence[Trial]) -> None:
    if not tried:
        return
    changed = varied(tried)
    same = tuple((name, level) for name, level in sorted(tried[0].conditions) if name not in changed)
    counted = {trial.name for trial in distinct(tried)}
    rows = [("trial", "outcome", *changed)]
    for trial in tried:
        mark = "" if trial.name in counted else " (counted once already)"
        rows.append((trial.name, trial.outcome + mark, *(level_of(trial, name) or "-" for name in changed)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"  changed: {', '.join(changed) or 'nothing'}; equal in all: {in_words(same) or 'nothing that was stated'}")


def _print_answers(answers: Sequence[Support]) -> None:
    if len(answers) > 1:
        for answer in answers:
            print(f"  {answer.factor}: {answer_word(answer)}: {answer.reason}")


def _print_plan(found: Plan) -> None:
    match found:
        case NoPlan():
            print(f"no plan for {found.factor}: {found.reason}")
        case Repeats():
            print(f"plan for {found.factor}:")
            for step in steps(found):
                print(f"  - {step}")
